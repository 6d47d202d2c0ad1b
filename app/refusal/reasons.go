package refusal

import "fmt"

// Plain is a reason without figures. It is its own code.
type Plain string

// Code is the reason itself.
func (p Plain) Code() Code { return Code(p) }

// Figures are none.
func (p Plain) Figures() Figures { return nil }

// Reasons that concern any field.
const (
	// Missing refuses an empty field of something new.
	Missing Plain = "missing"
	// NotGiven refuses an empty field with which somebody is to be recognised.
	NotGiven Plain = "not_given"
	// Unknown refuses what is none of the values there are.
	Unknown Plain = "unknown"
	// NotOfferedYet refuses a term of a sale that this release does not know how to keep. To leave it out
	// without a word would sell a lot otherwise than its seller asked for.
	NotOfferedYet Plain = "not_offered_yet"
	// Taken refuses what somebody else has already.
	Taken Plain = "taken"
	// Unreadable refuses what the house has not written.
	Unreadable Plain = "unreadable"
	// NotText refuses bytes that are no text.
	NotText Plain = "not_text"
	// LineBreaks refuses a second line where there is only one.
	LineBreaks Plain = "line_breaks"
)

// Reasons that concern a JSON value.
const (
	NotString  Plain = "not_a_string"
	NotInteger Plain = "not_an_integer"
	NotObject  Plain = "not_an_object"
	// NotMoment refuses what is no time with its offset.
	NotMoment Plain = "not_a_moment"
	// NotCurrency refuses what is no ISO 4217 code.
	NotCurrency Plain = "not_a_currency"
	// NoAmount refuses an amount of money that is not there.
	NoAmount Plain = "no_amount"
	// NotAmount refuses what is no plain decimal.
	NotAmount Plain = "not_an_amount"
)

// Reasons that concern an auction.
const (
	Negative    Plain = "negative"
	NotPositive Plain = "not_positive"
	// Past refuses an end that has come already.
	Past Plain = "past"
	// BeforeStart refuses an end that is not after the start.
	BeforeStart Plain = "before_start"
	// NotOffered refuses a lane that the house does not have.
	NotOffered Plain = "not_offered"
	// MovedLately refuses to move an auction again so soon.
	MovedLately Plain = "moved_lately"
	// NotLocalTime refuses what is no date and time of a clock.
	NotLocalTime Plain = "not_a_local_time"
)

// Reasons that concern an account.
const (
	NotEmail Plain = "not_an_email"
	// NotPlain refuses an e-mail address with letters that look like others.
	NotPlain Plain = "not_plain"
	// LikeNumber refuses a name that could be taken for a seller's number.
	LikeNumber Plain = "like_a_number"
	// MixedAlphabets refuses a word with letters of two alphabets.
	MixedAlphabets Plain = "mixed_alphabets"
	// Blank refuses a password that cannot be seen.
	Blank Plain = "blank"
	// Common refuses a password that is guessed at once.
	Common Plain = "common"
	// OwnName refuses a password that is the person's name or address.
	OwnName Plain = "own_name"
)

// Reasons for which a request cannot be read at all.
const (
	BodyBrokeOff   Plain = "body_broke_off"
	BodyNotUTF8    Plain = "body_not_utf8"
	BodyNotJSON    Plain = "body_not_json"
	BodyNotObject  Plain = "body_not_an_object"
	FormUnreadable Plain = "form_unreadable"
	FormNotUTF8    Plain = "form_not_utf8"
	BadQuery       Plain = "bad_query"
	// NoUpgrade refuses who asks a WebSocket's address for anything else.
	NoUpgrade Plain = "no_upgrade"
)

// TooLong refuses a text of more than Max characters.
type TooLong struct{ Max int }

// Code is too_long.
func (TooLong) Code() Code { return "too_long" }

// Figures are max.
func (r TooLong) Figures() Figures { return Figures{"max": Count(r.Max)} }

// TooShort refuses a text of less than Min characters.
type TooShort struct{ Min int }

// Code is too_short.
func (TooShort) Code() Code { return "too_short" }

// Figures are min.
func (r TooShort) Figures() Figures { return Figures{"min": Count(r.Min)} }

// OutOfRange refuses what is no whole number from Min to Max.
type OutOfRange struct{ Min, Max int64 }

// Code is out_of_range.
func (OutOfRange) Code() Code { return "out_of_range" }

// Figures are min and max.
func (r OutOfRange) Figures() Figures { return Figures{"min": r.Min, "max": r.Max} }

// NotList refuses what is no list of one to Max things.
type NotList struct{ Max int }

// Code is not_a_list.
func (NotList) Code() Code { return "not_a_list" }

// Figures are max.
func (r NotList) Figures() Figures { return Figures{"max": int64(r.Max)} }

// TooMany refuses one more where there are Count already.
type TooMany struct{ Count int64 }

// Code is too_many.
func (TooMany) Code() Code { return "too_many" }

// Figures are count.
func (r TooMany) Figures() Figures { return Figures{"count": r.Count} }

// OpenedLately refuses to open an auction to who has opened Count of them within a minute.
type OpenedLately struct{ Count int64 }

// Code is opened_lately.
func (OpenedLately) Code() Code { return "opened_lately" }

// Figures are count.
func (r OpenedLately) Figures() Figures { return Figures{"count": r.Count} }

// TooManyOpen refuses to open an auction to who has Count that are not over.
type TooManyOpen struct{ Count int64 }

// Code is too_many_open.
func (TooManyOpen) Code() Code { return "too_many_open" }

// Figures are count.
func (r TooManyOpen) Figures() Figures { return Figures{"count": r.Count} }

// TooFar refuses a time more than Years ahead.
type TooFar struct{ Years int }

// Code is too_far.
func (TooFar) Code() Code { return "too_far" }

// Figures are years.
func (r TooFar) Figures() Figures { return Figures{"years": int64(r.Years)} }

// Hidden refuses a character that cannot be seen. After is the end of what stands before it, "" at
// the beginning.
type Hidden struct {
	Character rune
	After     string
}

// Code is hidden, or hidden_first for a character at the beginning.
func (r Hidden) Code() Code {
	if r.After == "" {
		return "hidden_first"
	}
	return "hidden"
}

// Figures are character, as in "U+200B", and after.
func (r Hidden) Figures() Figures {
	return Figures{"character": codePoint(r.Character), "after": r.After}
}

// NamedTwice refuses a JSON object that has a name twice.
type NamedTwice struct{ Name string }

// Code is named_twice.
func (NamedTwice) Code() Code { return "named_twice" }

// Figures are name, in quotes.
func (r NamedTwice) Figures() Figures { return Figures{"name": quoted(r.Name)} }

// Skipped refuses a time that the clocks of a zone never show, since they are put forward then.
type Skipped struct{ Zone string }

// Code is skipped.
func (Skipped) Code() Code { return "skipped" }

// Figures are zone.
func (r Skipped) Figures() Figures { return Figures{"zone": r.Zone} }

// ShownTwice asks which of two moments is meant, when the clocks of a zone show the time twice.
type ShownTwice struct{ Zone string }

// Code is shown_twice.
func (ShownTwice) Code() Code { return "shown_twice" }

// Figures are zone.
func (r ShownTwice) Figures() Figures { return Figures{"zone": r.Zone} }

// WeakRedis refuses the hot lane in a house whose Redis may lose what it has answered: a setting of
// Redis has a value that lets it. The setting CONFIG means that Redis does not tell its settings.
type WeakRedis struct{ Setting, Value string }

// String is for logs.
func (r WeakRedis) String() string { return r.Setting + " is " + r.Value }

// Code ends in the setting.
func (r WeakRedis) Code() Code { return Code("weak_redis_" + r.Setting) }

// Figures are value.
func (r WeakRedis) Figures() Figures { return Figures{"value": r.Value} }

// nameShownMax is how many characters of a name are repeated.
const nameShownMax = 40

func quoted(name string) string { return fmt.Sprintf("%.*q", nameShownMax, name) }

func codePoint(r rune) string { return fmt.Sprintf("%U", r) }

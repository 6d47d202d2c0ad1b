package fragments

import (
	"unicode/utf8"

	"martelo/app/auction"
	"martelo/app/money"
	"martelo/templates/components"
	"martelo/templates/words"
)

// Bidding says what the person in front of the page may do with a lot.
type Bidding int

const (
	// BiddingSignIn is for visitors: they must sign in first.
	BiddingSignIn Bidding = iota
	// BiddingOwn is for the lot's seller, who may not bid on it.
	BiddingOwn
	// BiddingAllowed is for everybody else.
	BiddingAllowed
)

// BidFormView is one person's place at the lot: the form, or why there is none, and the answer to
// the last bid. It is personal: it is drawn in the page and as the answer to a POST, never
// streamed.
type BidFormView struct {
	Lot      LotView
	Bidding  Bidding
	ViewerID int64 // whose form it is; 0 for visitors, who have none
	// BidHere tells whether the person has bid on this lot before, the answered bid included.
	BidHere bool
	// SignInURL leads visitors to the sign-in page and back.
	SignInURL string
	// Key is a fresh UUID for the next bid. After an answer that leaves the outcome open (503, 429)
	// it must be the key that was sent, so that trying again cannot bid twice.
	Key string
	// Amount is what the field holds. "" prefills the least bid; after a refusal it is what was
	// typed.
	Amount string
	// Accepted tells that the answered bid was taken: what was typed has had its effect.
	Accepted bool
	// Wrong marks the field itself as mistaken: what was typed is not an amount, or is below the
	// least bid.
	Wrong bool
	// Message is the answer to the last bid, nil before there is one.
	Message *components.Notice
	// Choices are what the person may answer to a question in Message.
	Choices []Choice
}

// Choice is a button that sends the form with one field more.
type Choice struct{ Name, Value, Label string }

// Names of the form's fields.
const (
	FieldAmount  = "amount"
	FieldQuick   = "quick"   // an exact amount from a button; it counts instead of FieldAmount when present
	FieldConfirm = "confirm" // an exact amount that was asked about, and what was asked; it counts before both
	FieldKey     = "key"
)

// prefilled is what the field holds until somebody types in it: the least bid, and nothing for who
// leads already.
func (v BidFormView) prefilled() string {
	if v.ViewerID != nobody && v.Lot.LeaderID == v.ViewerID {
		return ""
	}
	return words.EditAmount(v.Lot.Locale, v.Lot.MinimumBid())
}

func (v BidFormView) amount() string {
	if v.Amount == "" {
		return v.prefilled()
	}
	return v.Amount
}

// amountUsualMax is how many characters of an amount fit the form's field on a phone at full size,
// in a wide typeface. A longer one is set smaller.
const amountUsualMax = 11

func (v BidFormView) long() bool { return utf8.RuneCountInString(v.amount()) > amountUsualMax }

func (v BidFormView) notation() money.Notation { return words.NotationOf(v.Lot.Locale) }

// open tells whether the form is to be seen now. While a lot waits for its opening the form is in
// the page but hidden, and the page's script shows it when the lot opens.
func (v BidFormView) open() bool { return v.Lot.Status == auction.Open }

// inputMode asks a phone for its keys: digits, with the decimal sign of the language where the
// currency has decimals.
func (v BidFormView) inputMode() string {
	if v.Lot.Currency.Digits() == 0 {
		return "numeric"
	}
	return "decimal"
}

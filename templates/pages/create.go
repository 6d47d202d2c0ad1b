package pages

import (
	_ "embed"
	"strings"
	"time"

	"martelo/app/auction"
	"martelo/app/money"
	"martelo/templates/components"
	"martelo/templates/layouts"
	"martelo/templates/words"
)

// CreateForm is what a seller typed, kept as typed so that a failed POST loses nothing. The names
// of the form's fields are those of the contract, with more for what JSON says otherwise: zone and
// offsets, windowMinutes, extendMinutes.
type CreateForm struct {
	Key           string // a UUID that makes sending the form twice open one auction
	Title         string
	Description   string
	Currency      string // ISO 4217
	StartPrice    string
	MinIncrement  string
	StartTime     string // local to Zone, "2026-11-30T20:15" or with seconds; "" is now
	StartOffset   string // "+02:00", which of two is meant when clocks show StartTime twice; "" otherwise
	EndTime       string // local to Zone
	EndOffset     string // as StartOffset
	Zone          string // IANA name
	SoftClose     bool
	WindowMinutes string
	ExtendMinutes string
	Lane          string // "" is the standard lane
}

// Names of the form's fields. The button that was pressed comes as FieldStep: StepReview (also when
// it is absent) shows the review, StepEdit the form again, StepPublish opens the auction.
const (
	FieldKey           = "key"
	FieldTitle         = "title"
	FieldDescription   = "description"
	FieldCurrency      = "currency"
	FieldStartPrice    = "startPrice"
	FieldMinIncrement  = "minIncrement"
	FieldStartTime     = "startTime"
	FieldStartOffset   = "startOffset"
	FieldEndTime       = "endTime"
	FieldEndOffset     = "endOffset"
	FieldZone          = "zone"
	FieldSoftClose     = "softClose" // a checkbox: "on" or absent
	FieldWindowMinutes = "windowMinutes"
	FieldExtendMinutes = "extendMinutes"
	FieldLane          = "lane"
	FieldStep          = "step"

	StepReview  = "review"
	StepEdit    = "edit"
	StepPublish = "publish"
)

// CarriedPrefix begins the names of these fields where they pass through a form of another purpose.
const CarriedPrefix = "lot-"

// createLabels are what the form calls its fields.
var createLabels = map[string]string{
	FieldTitle: "Title", FieldDescription: "Description", FieldCurrency: "Currency", FieldStartPrice: "Start price",
	FieldMinIncrement: "Step", FieldStartTime: "Bidding opens", FieldEndTime: "Bidding ends",
	FieldZone:      "Your time zone",
	FieldSoftClose: "Soft close", FieldWindowMinutes: "Minutes before the end in which a bid extends the auction",
	FieldExtendMinutes: "Minutes left after such a bid", FieldLane: "Lane",
}

// CreateLabel is what the form calls a field, "" for a name that is none of its fields.
func CreateLabel(field string) string { return createLabels[field] }

// CreateFields are the fields in the order of the form.
var CreateFields = []string{
	FieldTitle, FieldDescription, FieldCurrency, FieldStartPrice, FieldMinIncrement, FieldZone, FieldEndTime,
	FieldStartTime, FieldSoftClose, FieldWindowMinutes, FieldExtendMinutes, FieldLane,
}

// NewCreateForm is the empty form with the house's defaults. zone is "" when the seller's zone is
// not known; the page's script then chooses the browser's.
func NewCreateForm(key, currency, zone string) CreateForm {
	return CreateForm{
		Key: key, Currency: currency, Zone: zone, SoftClose: true,
		WindowMinutes: wholeMinutes(auction.DefaultSoftClose.Window),
		ExtendMinutes: wholeMinutes(auction.DefaultSoftClose.Extend),
	}
}

func wholeMinutes(d time.Duration) string { return components.Number(int64(d / time.Minute)) }

// CreateView is the form that puts a lot up for sale.
type CreateView struct {
	layouts.PageView
	Form     CreateForm
	Problems components.Problems
	// OffersHot shows the way into the hot lane, which not every house offers.
	OffersHot bool
	// OtherCurrencies are the codes offered after the usual ones; nil leaves them out.
	OtherCurrencies []string
}

// ReviewView is the second step: everything echoed in words before it is published. Form travels
// along in hidden fields, so that the review can be published also when it is no longer kept; the
// rest is what the house understood.
type ReviewView struct {
	layouts.PageView
	Form CreateForm
	// State is the auction as it would open.
	State auction.State
	// StartsNow tells that the auction opens when it is published: no start was asked for, or one
	// that has passed.
	StartsNow bool
	// Start is the start that was asked for, zero without one.
	Start time.Time
	// Zone is the seller's zone, in which times are echoed besides UTC.
	Zone *time.Location
}

// choosesLane tells whether the form asks for the lane: also where the hot one is not offered, if
// it was chosen, so that it can be taken back.
func (v CreateView) choosesLane() bool { return v.OffersHot || v.hot() }

func (v CreateView) hot() bool { return v.Form.Lane != "" && v.Form.Lane != string(auction.Standard) }

// hotWords is the hot lane in a seller's words.
const hotWords = "Hot: for a lot that thousands bid on at once"

// firstBid is the least amount of the first bid.
func (v ReviewView) firstBid() money.Amount { return v.State.MinimumBid() }

// inWords writes a moment in the seller's zone with the zone's name, abbreviation and offset on
// that day, so that a change of clocks between now and then is seen.
func (v ReviewView) inWords(t time.Time) string {
	local := t.In(v.Zone)
	return local.Format(
		"Monday, 2 January 2006, 15:04:05",
	) + " in " + zoneLabel(v.Zone.String()) + " (UTC" + strings.Replace(
		local.Format("-07:00"), "-", "−", 1,
	) + ")"
}

func (v ReviewView) inUTC(t time.Time) string {
	return t.UTC().Format("Monday, 2 January 2006, 15:04:05") + " UTC"
}

// lasts says how long bidding is open.
func (v ReviewView) lasts() string { return words.Left(v.State.EndAt.Sub(v.State.StartAt)) }

// HiddenField is one field that a form carries along unseen.
type HiddenField struct{ Name, Value string }

// Fields are the form's fields for carrying it through another page.
func (f CreateForm) Fields() []HiddenField {
	fields := []HiddenField{
		{FieldKey, f.Key}, {FieldTitle, f.Title}, {FieldDescription, f.Description}, {FieldCurrency, f.Currency},
		{FieldStartPrice, f.StartPrice}, {FieldMinIncrement, f.MinIncrement}, {FieldStartTime, f.StartTime},
		{FieldStartOffset, f.StartOffset}, {FieldEndTime, f.EndTime}, {FieldEndOffset, f.EndOffset},
		{FieldZone, f.Zone},
		{FieldWindowMinutes, f.WindowMinutes}, {FieldExtendMinutes, f.ExtendMinutes}, {FieldLane, f.Lane},
	}
	if f.SoftClose {
		fields = append(fields, HiddenField{FieldSoftClose, "on"})
	}
	return fields
}

// input is a field of the form as it is drawn, with what is wrong with it.
func (v CreateView) input(name, kind, value, hint string) components.Field {
	return components.Field{
		Name: name, Label: CreateLabel(name), Kind: kind, Value: value, Hint: hint, Problem: v.Problems.For(name),
		Choices: v.Problems.ChoicesFor(name),
	}
}

func (v CreateView) titleInput() components.Field {
	f := v.input(FieldTitle, "text", v.Form.Title, "One line, as a catalogue would print it.")
	f.MaxLength = auction.TitleLengthMax
	return f
}

func (v CreateView) descriptionInput() components.Field {
	hint := "Plain text. Leave a line empty to begin a new paragraph."
	f := v.input(FieldDescription, "textarea", v.Form.Description, hint)
	f.MaxLength, f.Optional = auction.DescriptionLengthMax, true
	return f
}

// amountLengthMax leaves room for the largest amount with its groups, decimals and currency.
const amountLengthMax = 40

func (v CreateView) amountInput(name, value, hint string) components.Field {
	f := v.input(name, "text", value, hint)
	f.InputMode, f.MaxLength = "decimal", amountLengthMax
	return f
}

func (v CreateView) stepInput() components.Field {
	hint := "How much more each bid must offer. The first bid is at least start price + step."
	return v.amountInput(FieldMinIncrement, v.Form.MinIncrement, hint)
}

func (v CreateView) startPriceHint() string {
	return "For example " + words.ExampleAmount(v.Locale, v.currency()) + ". May be 0."
}

// currency is the chosen one, or the house's while there is none.
func (v CreateView) currency() money.Currency {
	c, err := money.ParseCurrency(v.Form.Currency)
	if err != nil {
		return money.MustCurrency("USD")
	}
	return c
}

// Hints of the choices.
const (
	zoneHint = "Times below are local times in this zone; daylight saving is taken into account."
	laneHint = "Leave this on Standard unless the house has told you otherwise."
)

func (v CreateView) endTimeInput() components.Field {
	hint := "Date and time in the zone above, within the next five years."
	return v.input(FieldEndTime, "datetime-local", v.Form.EndTime, hint)
}

func (v CreateView) startTimeInput() components.Field {
	f := v.input(FieldStartTime, "datetime-local", v.Form.StartTime, "Leave empty to open at once.")
	f.Optional = true
	return f
}

func (v CreateView) minutesInput(name, value string) components.Field {
	most := components.Number(int64(auction.SoftCloseMax / time.Minute))
	f := v.input(name, "text", value, "Whole minutes from 0 to "+most+".")
	f.InputMode, f.MaxLength, f.Optional, f.Plain = "numeric", int64(len(most)), true, true
	return f
}

// asks tells whether the form has buttons that answer a question.
func (v CreateView) asks() bool {
	for _, problem := range v.Problems {
		if len(problem.Choices) > 0 {
			return true
		}
	}
	return false
}

// usualCurrencies are offered first, with their names.
var usualCurrencies = []choice{
	{"USD", "US dollar"}, {"EUR", "Euro"}, {"GBP", "Pound sterling"}, {"JPY", "Japanese yen"}, {"CHF", "Swiss franc"},
	{"BRL", "Brazilian real"}, {"CAD", "Canadian dollar"}, {"AUD", "Australian dollar"}, {"INR", "Indian rupee"},
	{"VND", "Vietnamese đồng"}, {"KWD", "Kuwaiti dinar"},
}

// otherCurrencies are the offered codes without the usual ones, and with the chosen one in any
// case.
func (v CreateView) otherCurrencies() []string {
	usual := map[string]bool{}
	for _, currency := range usualCurrencies {
		usual[currency.value] = true
	}
	var others []string
	chosen := usual[v.Form.Currency] || v.Form.Currency == ""
	for _, code := range v.OtherCurrencies {
		if !usual[code] {
			others = append(others, code)
			chosen = chosen || code == v.Form.Currency
		}
	}
	if !chosen {
		others = append(others, v.Form.Currency)
	}
	return others
}

//go:embed zones.txt
var zoneList string

// zoneRegion is one part of the world and its zones.
type zoneRegion struct {
	name  string
	zones []string
}

// zoneRegions are the IANA zones that people live in, by part of the world, in alphabetical order.
var zoneRegions = readZones(zoneList)

func readZones(list string) []zoneRegion {
	var regions []zoneRegion
	for zone := range strings.FieldsSeq(list) {
		name, _, _ := strings.Cut(zone, "/")
		if len(regions) == 0 || regions[len(regions)-1].name != name {
			regions = append(regions, zoneRegion{name: name})
		}
		last := &regions[len(regions)-1]
		last.zones = append(last.zones, zone)
	}
	return regions
}

// listed tells whether a zone is among those offered, so that one that is not can be added.
func listed(zone string) bool {
	for _, region := range zoneRegions {
		for _, offered := range region.zones {
			if offered == zone {
				return true
			}
		}
	}
	return zone == "UTC"
}

// zoneLabel writes a zone's name for people: "America/Sao_Paulo" is "America/Sao Paulo".
func zoneLabel(zone string) string { return strings.ReplaceAll(zone, "_", " ") }

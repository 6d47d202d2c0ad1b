package pages

import (
	_ "embed"
	"strings"
	"time"

	"martelo/app/auction"
	"martelo/app/money"
	"martelo/templates/components"
	"martelo/templates/layouts"
)

// CreateForm is what a seller typed, kept as typed so that a failed POST loses nothing. The names of the form's fields
// are those of the contract, with three more for what JSON says otherwise: zone, windowMinutes, extendMinutes.
type CreateForm struct {
	Key           string // a UUID that makes sending the form twice open one auction
	Title         string
	Description   string
	Currency      string // ISO 4217
	StartPrice    string
	MinIncrement  string
	StartTime     string // local to Zone, "2026-11-30T20:15" or with seconds; "" is now
	EndTime       string // local to Zone
	Zone          string // IANA name
	SoftClose     bool
	WindowMinutes string
	ExtendMinutes string
	Lane          string // "" is the standard lane
}

// Names of the form's fields. The button that was pressed comes as FieldStep: StepReview (also when it is absent) shows
// the review, StepEdit the form again, StepPublish opens the auction.
const (
	FieldKey           = "key"
	FieldTitle         = "title"
	FieldDescription   = "description"
	FieldCurrency      = "currency"
	FieldStartPrice    = "startPrice"
	FieldMinIncrement  = "minIncrement"
	FieldStartTime     = "startTime"
	FieldEndTime       = "endTime"
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

// NewCreateForm is the empty form with the house's defaults. zone is "" when the seller's zone is not known; the page's
// script then chooses the browser's.
func NewCreateForm(key, zone string) CreateForm {
	return CreateForm{
		Key: key, Currency: "USD", Zone: zone, SoftClose: true,
		WindowMinutes: wholeMinutes(auction.DefaultSoftClose.Window), ExtendMinutes: wholeMinutes(auction.DefaultSoftClose.Extend),
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

// ReviewView is the second step: everything echoed in words before it is published. Form travels along in hidden
// fields; the rest is what the house understood. PageView.Path is the form's, since the review has no address.
type ReviewView struct {
	layouts.PageView
	Form CreateForm
	// State is the auction as it would open.
	State auction.State
	// StartsNow tells that no start was asked for.
	StartsNow bool
	// Zone is the seller's zone, in which times are echoed besides UTC.
	Zone *time.Location
}

// choosesLane tells whether the form asks for the lane: also where the hot one is not offered, if it was chosen, so that it can be taken back.
func (v CreateView) choosesLane() bool { return v.OffersHot || v.hot() }

func (v CreateView) hot() bool { return v.Form.Lane != "" && v.Form.Lane != string(auction.Standard) }

// firstBid is the least amount of the first bid.
func (v ReviewView) firstBid() money.Amount { return v.State.MinimumBid() }

// inWords writes a moment in the seller's zone with the zone's name, abbreviation and offset on that day, so that a
// change of clocks between now and then is seen.
func (v ReviewView) inWords(t time.Time) string {
	local := t.In(v.Zone)
	return local.Format("Monday, 2 January 2006, 15:04:05") + " in " + zoneLabel(v.Zone.String()) + " (UTC" + strings.Replace(local.Format("-07:00"), "-", "−", 1) + ")"
}

func (v ReviewView) inUTC(t time.Time) string {
	return t.UTC().Format("Monday, 2 January 2006, 15:04:05") + " UTC"
}

// lasts says how long bidding is open.
func (v ReviewView) lasts() string { return components.Left(v.State.EndAt.Sub(v.State.StartAt)) }

type hiddenField struct{ name, value string }

// hidden carries the form through the review.
func (f CreateForm) hidden() []hiddenField {
	fields := []hiddenField{
		{FieldKey, f.Key}, {FieldTitle, f.Title}, {FieldDescription, f.Description}, {FieldCurrency, f.Currency},
		{FieldStartPrice, f.StartPrice}, {FieldMinIncrement, f.MinIncrement}, {FieldStartTime, f.StartTime},
		{FieldEndTime, f.EndTime}, {FieldZone, f.Zone}, {FieldWindowMinutes, f.WindowMinutes}, {FieldExtendMinutes, f.ExtendMinutes},
		{FieldLane, f.Lane},
	}
	if f.SoftClose {
		fields = append(fields, hiddenField{FieldSoftClose, "on"})
	}
	return fields
}

// usualCurrencies are offered first, with their names.
var usualCurrencies = []choice{
	{"USD", "US dollar"}, {"EUR", "Euro"}, {"GBP", "Pound sterling"}, {"JPY", "Japanese yen"}, {"CHF", "Swiss franc"},
	{"BRL", "Brazilian real"}, {"CAD", "Canadian dollar"}, {"AUD", "Australian dollar"}, {"INR", "Indian rupee"},
	{"VND", "Vietnamese đồng"}, {"KWD", "Kuwaiti dinar"},
}

// otherCurrencies are the offered codes without the usual ones, and with the chosen one in any case.
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

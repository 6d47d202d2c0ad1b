// Package fragments holds the parts of pages that change while somebody looks: the live ones, which
// are rendered once and streamed to every viewer alike, and the personal ones, which are the answer
// to one person's own request.
//
// The live ones (LivePanel, LiveCard) take views that cannot say who is looking, so nothing
// personal can slip into a shared frame; "you" is worked out in the page, from the leader's id.
package fragments

import (
	"maps"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/a-h/templ"

	"martelo/app/auction"
	"martelo/app/money"
	"martelo/templates/components"
	"martelo/templates/words"
)

// LotView is the public state of one auction together with what it takes to write it down.
type LotView struct {
	auction.State
	// Locale (BCP 47) is how amounts of money are written.
	Locale string
	// Now is the database's time at which State was right. It feeds the time left as it is first
	// shown; the page's script then counts by the clock events of the stream.
	Now time.Time
	// Since and Confirmed are those of a auction.Update. By them a page takes back a state that
	// PostgreSQL does not have.
	Since, Confirmed time.Time
}

// BidHistoryView is the latest bids of one auction, newest first.
type BidHistoryView struct {
	Lot  LotView
	Bids []auction.Bid
}

// LivePanelView is all that the stream of an auction's own page draws.
type LivePanelView struct {
	Lot     LotView
	History BidHistoryView
}

// nobody is the viewer of a shared frame: no user has this id, so nothing in it says "you".
const nobody = 0

func (v LotView) format(a money.Amount) string { return a.Format(v.Locale) }

// attributes are what the page's script reads from every element that shows a lot's state. Minimum
// and price are exact decimal strings, to be copied and compared but never computed with.
func (v LotView) attributes() templ.Attributes {
	attributes := templ.Attributes{
		"data-lot":          components.Number(v.ID),
		"data-version":      components.Number(v.Version),
		"data-status":       string(v.Status),
		"data-leader":       components.Number(v.LeaderID),
		"data-starts":       milliseconds(v.StartAt),
		"data-ends":         milliseconds(v.EndAt),
		"data-price":        v.CurrentPrice.String(),
		"data-minimum":      v.MinimumBid().String(),
		"data-minimum-text": v.format(v.MinimumBid()),
		"data-minimum-edit": words.EditAmount(v.Locale, v.MinimumBid()),
	}
	maps.Copy(attributes, v.confirmation())
	return attributes
}

// confirmation stands beside each version, in microseconds: two states can come in within a
// millisecond.
func (v LotView) confirmation() templ.Attributes {
	attributes := templ.Attributes{}
	for name, t := range map[string]time.Time{"data-since": v.Since, "data-confirmed": v.Confirmed} {
		if !t.IsZero() {
			attributes[name] = strconv.FormatInt(t.UnixMicro(), 10)
		}
	}
	return attributes
}

func milliseconds(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

func (v LotView) sold() bool { return v.Result().WinnerID != nobody }

// priceLabel names the figure that is shown large.
func (v LotView) priceLabel() string {
	switch {
	case v.sold():
		return "Sold for"
	case v.Status == auction.Cancelled && v.BidCount > 0:
		return "Last bid"
	case v.Status == auction.Closed:
		return "Not sold · start price"
	case v.BidCount > 0:
		return "Current bid · " + words.Count(v.BidCount, "bid", "bids")
	default:
		return "Start price"
	}
}

// The most characters that an amount of usual length has, and a long one. The style sheets size a
// figure by its class so that it fits one line of its place in any typeface: the longest, with
// fifteen digits, has 26 characters.
const (
	priceUsualMax = 10
	priceLongMax  = 16
)

func (v LotView) priceLength(a money.Amount) string { return PriceLength(v.format(a)) }

// PriceLength is the class of an amount by how long it is as it is shown, "" for usual ones.
func PriceLength(shown string) string {
	switch length := utf8.RuneCountInString(shown); {
	case length <= priceUsualMax:
		return ""
	case length <= priceLongMax:
		return "price--long"
	}
	return "price--longest"
}

// outcome is the sentence under the price where nobody leads; "" where somebody does.
func (v LotView) outcome() string {
	switch {
	case v.Status == auction.Cancelled:
		return "Withdrawn from sale"
	case v.Status == auction.Closed && !v.sold():
		return "Nobody bid on it"
	case v.Status == auction.Scheduled:
		return "Bidding has not opened yet"
	case v.BidCount == 0:
		return "No bids yet"
	}
	return ""
}

// cardLabel is what stands over the price in a list, where there is no room for a sentence.
func (v LotView) cardLabel() string {
	bids := words.Count(v.BidCount, "bid", "bids")
	switch {
	case v.Status == auction.Cancelled && v.BidCount > 0:
		return "Withdrawn · stood at"
	case v.Status == auction.Cancelled:
		return "Withdrawn · start price"
	case v.sold():
		return "Sold · " + bids
	case v.Status == auction.Closed:
		return "Not sold · start price"
	case v.Status == auction.Scheduled:
		return "Start price"
	case v.BidCount == 0:
		return "Start price · no bids yet"
	}
	return "Current bid · " + bids
}

// countdown is the moment that the time left runs to: the end, or the opening of a lot that waits
// for it.
func (v LotView) countdown() time.Time {
	if v.Status == auction.Scheduled {
		return v.StartAt
	}
	return v.EndAt
}

func (v LotView) timeLeft() string {
	left := v.countdown().Sub(v.Now)
	if left > 0 {
		return words.Left(left)
	}
	if v.Status == auction.Scheduled {
		return "opening …"
	}
	return "closing …"
}

func (v LotView) countdownLabel() string {
	if v.Status == auction.Scheduled {
		return "Opens in"
	}
	return "Time left"
}

// overAt is when a lot that is over ended.
func (v LotView) overAt() time.Time {
	if v.ClosedAt.IsZero() {
		return v.EndAt
	}
	return v.ClosedAt
}

// quickSteps are how many increments above the least bid the quick buttons offer. The least bid
// itself is in the form.
var quickSteps = []int64{1, 5}

type quickStep struct {
	id, label string
	amount    money.Amount
}

func (v LotView) quickSteps() []quickStep {
	if v.Status != auction.Open {
		return nil
	}
	steps := make([]quickStep, 0, len(quickSteps))
	for _, n := range quickSteps {
		more := v.MinIncrement.Times(n)
		steps = append(steps, quickStep{
			id:    components.ID("quick", v.ID) + "-" + strconv.FormatInt(n, 10),
			label: "Minimum + " + v.format(more), amount: v.MinimumBid().Add(more),
		})
	}
	return steps
}

// stepLongMin is from how many characters on an amount is written smaller on a quick step, so that
// it stays in one line.
const stepLongMin = 13

func (v LotView) long(a money.Amount) bool { return utf8.RuneCountInString(v.format(a)) >= stepLongMin }

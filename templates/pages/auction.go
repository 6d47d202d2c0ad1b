package pages

import (
	"strings"

	"martelo/app/auction"
	"martelo/templates/components"
	"martelo/templates/fragments"
	"martelo/templates/layouts"
	"martelo/templates/words"
)

// AuctionView is the page of one auction.
type AuctionView struct {
	layouts.PageView
	Lot         fragments.LotView
	LotTitle    string
	Description string // plain text; blank lines separate paragraphs
	Seller      SellerView
	// History is the latest bids; its Lot is filled in from Lot when left empty.
	History fragments.BidHistoryView
	// BidForm is the viewer's place at the lot; its Lot is filled in from Lot when left empty.
	BidForm fragments.BidFormView
	// MayCancel shows the way to cancel: to an admin until the end, to the seller before the first
	// bid.
	MayCancel bool
	// CancelProblem says why an attempt to cancel was refused.
	CancelProblem string
}

// LotHeading is the title of an auction's page: the Title of its PageView.
func LotHeading(id int64, title string) string { return title + " · Lot " + components.Number(id) }

// summaryMax is how many characters of a lot's description a preview of its page has: what the
// readers of them show.
const summaryMax = 200

// LotSummary is what a preview of an auction's page says: the beginning of its description, or that
// it is one. It names no price, because previews are kept.
func LotSummary(id int64, description string) string {
	words := strings.Join(strings.Fields(description), " ")
	if words == "" {
		return "Lot " + components.Number(id) + " at Martelo, the open auction house."
	}
	shown := []rune(words)
	if len(shown) <= summaryMax {
		return words
	}
	return strings.TrimSpace(string(shown[:summaryMax-1])) + "…"
}

func (v AuctionView) history() fragments.BidHistoryView {
	h := v.History
	if h.Lot.ID == 0 {
		h.Lot = v.Lot
	}
	return h
}

func (v AuctionView) bidForm() fragments.BidFormView {
	d := v.BidForm
	if d.Lot.ID == 0 {
		d.Lot = v.Lot
	}
	d.ViewerID = v.bidder()
	return d
}

// bidder is the viewer if the viewer may bid on the lot, 0 for anybody else.
func (v AuctionView) bidder() int64 {
	if v.BidForm.Bidding != fragments.BiddingAllowed {
		return 0
	}
	return v.ViewerID()
}

// paragraphs splits the description at blank lines.
func (v AuctionView) paragraphs() []string {
	var paragraphs []string
	text := strings.ReplaceAll(v.Description, "\r\n", "\n")
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if trimmed := strings.TrimSpace(paragraph); trimmed != "" {
			paragraphs = append(paragraphs, trimmed)
		}
	}
	return paragraphs
}

// softCloseSentence explains what a late bid does, from the auction's own numbers.
func softCloseSentence(soft auction.SoftClose) string {
	if soft.Window <= 0 {
		return "The end is fixed: a late bid does not move it."
	}
	return "A bid in the last " + words.Span(soft.Window) + " moves the end to " + words.Span(soft.Extend) +
		" after that bid, so that others can answer."
}

func (v AuctionView) isSeller() bool {
	return v.ViewerID() != 0 && v.ViewerID() == v.Lot.SellerID
}

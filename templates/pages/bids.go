package pages

import (
	"strconv"

	"martelo/app/auction"
	"martelo/templates/components"
	"martelo/templates/fragments"
	"martelo/templates/layouts"
)

// BidsView is the log of an auction's bids, page by page. It does not move by itself.
type BidsView struct {
	layouts.PageView
	Lot      fragments.LotView
	LotTitle string
	// Bids are a stretch of the log in the order they were accepted.
	Bids []auction.Bid
	// NextURL leads to the later bids, "" at the end of the log; FirstURL to its beginning, ""
	// there.
	NextURL, FirstURL string
}

// caption says which bids of how many the table shows.
func (v BidsView) caption() string {
	if len(v.Bids) == 0 {
		return ""
	}
	first, last := v.Bids[0].Seq, v.Bids[len(v.Bids)-1].Seq
	return "Bids " + strconv.FormatInt(first, 10) + " to " + strconv.FormatInt(last, 10) + " of " +
		components.Number(v.Lot.BidCount)
}

package pages

import (
	"martelo/app/money"
	"martelo/templates/layouts"
)

// MyBid is a lot the viewer has bid on, with the viewer's highest bid there.
type MyBid struct {
	LotCard
	Highest money.Amount
}

// MyBidsView is the list of lots the viewer has bid on: those that are open first, soonest end
// first.
type MyBidsView struct {
	layouts.PageView
	Lots              []MyBid
	NextURL, FirstURL string
	PageSize          int
}

// MyAuctionsView is the list of a seller's own lots.
type MyAuctionsView struct {
	layouts.PageView
	Lots              []LotCard
	NextURL, FirstURL string
	PageSize          int
}

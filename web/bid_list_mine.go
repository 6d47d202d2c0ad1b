package web

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"martelo/app/auction"
	"martelo/app/catalog"
	"martelo/templates/components"
	"martelo/templates/pages"
	"martelo/templates/words"
	"martelo/web/read"
)

// bidListMine is GET /me/bids.
func (s *Server) bidListMine(c echo.Context) error {
	who, err := s.caller(c)
	if err != nil {
		return err
	}
	values, err := read.Query(c.Request())
	if err != nil {
		return err
	}
	bids, next, err := s.Catalog.MyBids(c.Request().Context(), who.ID, values.Get("cursor"), catalog.PageMax)
	if err != nil {
		return err
	}
	view := pages.MyBidsView{PageSize: catalog.PageMax}
	if view.PageView, err = s.pageView(c, say(c, words.TitleMyBids, nil), c.Request().URL.RequestURI()); err != nil {
		return err
	}
	slices.SortStableFunc(bids, openFirst)
	auctions := make([]catalog.Auction, len(bids))
	for i, bid := range bids {
		auctions[i] = bid.Auction
		view.Lots = append(view.Lots, pages.MyBid{LotCard: card(bid.Auction, view.Locale), Highest: bid.Highest})
	}
	view.LiveURL = liveCards(auctions, view.Locale)
	view.NextURL, view.FirstURL = around(components.PathMyBids, values, next)
	return s.page(c, http.StatusOK, pages.MyBids(view))
}

// openFirst puts open lots before all others, soonest end first.
func openFirst(a, b catalog.MyBid) int {
	aOpen, bOpen := a.Status == auction.Open, b.Status == auction.Open
	switch {
	case aOpen && bOpen:
		return cmp.Or(a.EndAt.Compare(b.EndAt), cmp.Compare(a.ID, b.ID))
	case aOpen:
		return -1
	case bOpen:
		return 1
	}
	return 0
}

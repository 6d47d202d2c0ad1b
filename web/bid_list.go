package web

import (
	"math"
	"net/http"

	"github.com/labstack/echo/v4"

	"martelo/app/catalog"
	"martelo/templates/fragments"
	"martelo/templates/pages"
)

// bidsDefault is how many bids a list has unless asked otherwise.
const bidsDefault = 100

type bidListJSON struct {
	Bids []bidJSON `json:"bids"`
}

// bidList is GET /auctions/{id}/bids.
func (s *Server) bidList(c echo.Context) error {
	id, err := auctionID(c)
	if err != nil {
		return err
	}
	if asksPage(c.Request()) {
		return s.bidListPage(c, id)
	}
	values, err := query(c.Request())
	if err != nil {
		return err
	}
	after, err := queryInteger(values, "after", 0, math.MaxInt64, 0)
	if err != nil {
		return err
	}
	limit, err := queryInteger(values, "limit", 1, catalog.BidsMax, bidsDefault)
	if err != nil {
		return err
	}
	bids, err := s.Catalog.Bids(c.Request().Context(), id, after, int(limit))
	if err != nil {
		return err
	}
	list := bidListJSON{Bids: make([]bidJSON, len(bids))}
	for i, bid := range bids {
		list.Bids[i] = toBidJSON(bid)
	}
	return writeJSON(c, http.StatusOK, mediaJSON, list)
}

// bidListPage is the auction's page with its bids, as many as are shown at all. It does not move: the stream carries only the newest.
func (s *Server) bidListPage(c echo.Context, id int64) error {
	found, err := s.Catalog.One(c.Request().Context(), id)
	if err != nil {
		return err
	}
	view, err := s.auctionView(c, found, catalog.BidsMax)
	if err != nil {
		return err
	}
	view.LiveURL, view.History.AllURL = "", ""
	if asksFragment(c.Request()) {
		return s.page(c, http.StatusOK, fragments.BidHistory(view.History, view.ViewerID(), false))
	}
	return s.page(c, http.StatusOK, pages.Auction(view))
}

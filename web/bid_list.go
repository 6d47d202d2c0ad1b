package web

import (
	"math"
	"net/http"

	"github.com/labstack/echo/v4"

	"martelo/app/catalog"
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

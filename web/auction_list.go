package web

import (
	"math"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"martelo/app/auction"
	"martelo/app/catalog"
)

type auctionListJSON struct {
	Auctions   []auctionJSON `json:"auctions"`
	NextCursor *string       `json:"nextCursor"`
}

// auctionList is GET /auctions.
func (s *Server) auctionList(c echo.Context) error {
	values, err := query(c.Request())
	if err != nil {
		return err
	}
	filter, err := readFilter(values)
	if err != nil {
		return err
	}
	page, err := s.Catalog.List(c.Request().Context(), filter)
	if err != nil {
		return err
	}
	list := auctionListJSON{Auctions: make([]auctionJSON, len(page.Auctions))}
	for i, a := range page.Auctions {
		list.Auctions[i] = toAuctionJSON(a)
	}
	if page.Next != "" {
		list.NextCursor = &page.Next
	}
	return writeJSON(c, http.StatusOK, mediaJSON, list)
}

// readFilter reads what a list was asked for. An empty parameter is as good as none.
func readFilter(values url.Values) (catalog.Filter, error) {
	limit, err := queryInteger(values, "limit", 1, catalog.PageMax, catalog.PageDefault)
	if err != nil {
		return catalog.Filter{}, err
	}
	seller, err := queryInteger(values, "seller", 1, math.MaxInt64, 0)
	if err != nil {
		return catalog.Filter{}, err
	}
	return catalog.Filter{
		Query: values.Get("q"), Status: auction.Status(values.Get("status")), SellerID: seller, Sort: catalog.Sort(values.Get("sort")),
		Limit: int(limit), Cursor: values.Get("cursor"),
	}, nil
}

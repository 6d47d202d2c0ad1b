package web

import (
	"math"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"martelo/app/auction"
	"martelo/app/catalog"
	"martelo/app/refusal"
	"martelo/templates/components"
	"martelo/templates/fragments"
	"martelo/templates/pages"
	"martelo/templates/words"
	"martelo/web/read"
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
	values, err := read.Query(c.Request())
	if err != nil {
		return err
	}
	after, err := read.QueryInteger(values, "after", 0, math.MaxInt64, 0)
	if err != nil {
		return err
	}
	limit, err := read.QueryInteger(values, "limit", 1, catalog.BidsMax, bidsDefault)
	if err != nil {
		return err
	}
	bids, err := s.Catalog.Bids(c.Request().Context(), id, after, int(limit))
	if err != nil {
		return err
	}
	return answer(c,
		func() error { return bidListAsJSON(c, bids) },
		func() error {
			view, err := s.bidsView(c, id, bids)
			if err != nil {
				return err
			}
			return s.page(c, http.StatusOK, pages.Bids(view))
		},
		func() error {
			view, err := s.bidsView(c, id, bids)
			if err != nil {
				return err
			}
			table := fragments.BidTable(view.Lot, bids, view.ViewerID(), say(c, words.CaptionBids, nil))
			return s.page(c, http.StatusOK, table)
		},
	)
}

func bidListAsJSON(c echo.Context, bids []auction.Bid) error {
	list := bidListJSON{Bids: make([]bidJSON, len(bids))}
	for i, bid := range bids {
		list.Bids[i] = toBidJSON(bid)
	}
	return writeJSON(c, http.StatusOK, read.MediaJSON, list)
}

// bidsView is a stretch of the log. It does not move: the auction's own page does.
func (s *Server) bidsView(c echo.Context, id int64, bids []auction.Bid) (view pages.BidsView, err error) {
	found, err := s.Catalog.One(c.Request().Context(), id)
	if err != nil {
		return view, err
	}
	view = pages.BidsView{LotTitle: found.Title, Bids: bids}
	if view.PageView, err = s.pageView(
		c, say(c, words.TitleBids, refusal.Figures{"lot": id}), c.Request().URL.RequestURI(),
	); err != nil {
		return view, err
	}
	view.Lot = fragments.LotView{State: found.State, Locale: view.Locale, Now: found.Now}
	values := c.Request().URL.Query()
	if after := values.Get("after"); after != "" && after != "0" {
		values.Del("after")
		view.FirstURL = components.BidsPath(id) + queryText(values)
	}
	if n := len(bids); n > 0 && bids[n-1].Seq < found.BidCount {
		values.Set("after", components.Number(bids[n-1].Seq))
		view.NextURL = components.BidsPath(id) + queryText(values)
	}
	return view, nil
}

func queryText(values url.Values) string {
	if len(values) == 0 {
		return ""
	}
	return "?" + values.Encode()
}

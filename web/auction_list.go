package web

import (
	"math"
	"net/http"
	"net/url"
	"strconv"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"martelo/app/auction"
	"martelo/app/catalog"
	"martelo/templates/fragments"
	"martelo/templates/pages"
	"martelo/web/read"
)

type auctionListJSON struct {
	Auctions   []auctionJSON `json:"auctions"`
	NextCursor *string       `json:"nextCursor"`
}

// auctionList is GET /auctions, and GET / for people.
func (s *Server) auctionList(c echo.Context) error {
	values, err := read.Query(c.Request())
	if err != nil {
		return err
	}
	filter, wrong := readFilter(values)
	return answer(c,
		func() error {
			if wrong != nil {
				return wrong
			}
			return s.auctionListAsJSON(c, filter)
		},
		func() error {
			return s.sharedPage(c, func() (int, templ.Component, error) {
				view, status, err := s.listView(c, values, filter, wrong)
				return status, pages.List(view), err
			})
		},
		func() error {
			return s.sharedFragment(c, func() (int, templ.Component, error) {
				view, status, err := s.listView(c, values, filter, wrong)
				return status, liveFragment(view.Lots), err
			})
		},
	)
}

func (s *Server) auctionListAsJSON(c echo.Context, filter catalog.Filter) error {
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
	return writeJSON(c, http.StatusOK, read.MediaJSON, list)
}

// readFilter reads what a list was asked for. An empty parameter is as good as none.
func readFilter(values url.Values) (catalog.Filter, error) {
	limit, err := read.QueryInteger(values, "limit", 1, catalog.PageMax, catalog.PageDefault)
	if err != nil {
		return catalog.Filter{}, err
	}
	seller, err := read.QueryInteger(values, "seller", 1, math.MaxInt64, 0)
	if err != nil {
		return catalog.Filter{}, err
	}
	return catalog.Filter{
		Query: values.Get("q"), Status: auction.Status(values.Get("status")), SellerID: seller,
		Sort:  catalog.Sort(values.Get("sort")),
		Limit: int(limit), Cursor: values.Get("cursor"),
	}, nil
}

// listView is a list for people. A question that could not be read is answered with the list of
// what is open, and with what was wrong.
func (s *Server) listView(
	c echo.Context, values url.Values, filter catalog.Filter, err error,
) (view pages.ListView, status int, _ error) {
	ctx, status := c.Request().Context(), http.StatusOK
	var page catalog.Page
	if err == nil {
		page, err = s.Catalog.List(ctx, filter)
	}
	view = pages.ListView{PageSize: filter.Limit}
	if wrong, ok := problems(c, err); ok {
		p := s.logProblem(c, err)
		status, view.Problem = p.status, wrong[0].Text
		values, filter = url.Values{}, catalog.Filter{Limit: catalog.PageDefault}
		page, err = s.Catalog.List(ctx, filter)
	}
	if err != nil {
		return view, 0, err
	}
	if view.PageView, err = s.pageView(c, "", c.Request().URL.RequestURI()); err != nil {
		return view, 0, err
	}
	view.Query = pages.ListQuery{Q: filter.Query, Status: filter.Status, Sort: string(filter.Sort)}
	if filter.SellerID != 0 {
		seller, err := s.Catalog.Seller(ctx, filter.SellerID)
		if err != nil {
			return view, 0, err
		}
		view.Query.Seller, view.Seller = strconv.FormatInt(filter.SellerID, 10), sellerView(filter.SellerID, seller)
	}
	view.Lots = cards(page.Auctions, view.Locale)
	view.LiveURL = liveCards(page.Auctions, view.Locale)
	view.NextURL, view.FirstURL = around(c.Request().URL.Path, values, page.Next)
	view.NewsURL = listNewsURL(values, filter)
	return view, status, nil
}

// around are the addresses of the next page of a list and of its first, "" where there is none.
func around(path string, values url.Values, next string) (nextURL, firstURL string) {
	at := func(cursor string) string {
		moved := url.Values{}
		for name, value := range values {
			moved[name] = value
		}
		moved.Del("cursor")
		if cursor != "" {
			moved.Set("cursor", cursor)
		}
		if len(moved) == 0 {
			return path
		}
		return path + "?" + moved.Encode()
	}
	if next != "" {
		nextURL = at(next)
	}
	if values.Get("cursor") != "" {
		firstURL = at("")
	}
	return nextURL, firstURL
}

func cards(auctions []catalog.Auction, locale string) []pages.LotCard {
	list := make([]pages.LotCard, len(auctions))
	for i, a := range auctions {
		list[i] = card(a, locale)
	}
	return list
}

func card(a catalog.Auction, locale string) pages.LotCard {
	return pages.LotCard{
		Lot: fragments.LotView{State: a.State, Locale: locale, Now: a.Now}, Title: a.Title,
		Seller: sellerView(a.SellerID, a.Seller),
	}
}

func sellerView(id int64, s catalog.Seller) pages.SellerView {
	return pages.SellerView{ID: id, Name: s.Name, Since: s.Since}
}

// liveCards is the stream of those lots of a list that may still move.
func liveCards(auctions []catalog.Auction, locale string) string {
	var moving []int64
	for _, a := range auctions {
		if !a.Status.Over() {
			moving = append(moving, a.ID)
		}
	}
	return liveURL(viewCard, locale, moving...)
}

// liveFragment is what changes of a list.
func liveFragment(lots []pages.LotCard) templ.Component {
	drawings := make([]templ.Component, len(lots))
	for i, lot := range lots {
		drawings[i] = fragments.LiveCard(lot.Lot)
	}
	return templ.Join(drawings...)
}

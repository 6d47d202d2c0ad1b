package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"martelo/app/catalog"
	"martelo/templates/components"
	"martelo/templates/pages"
	"martelo/templates/words"
	"martelo/web/read"
)

// auctionListMine is GET /me/auctions.
func (s *Server) auctionListMine(c echo.Context) error {
	who, err := s.caller(c)
	if err != nil {
		return err
	}
	values, err := read.Query(c.Request())
	if err != nil {
		return err
	}
	page, err := s.Catalog.MyAuctions(c.Request().Context(), who.ID, values.Get("cursor"), catalog.PageDefault)
	if err != nil {
		return err
	}
	view := pages.MyAuctionsView{PageSize: catalog.PageDefault}
	if view.PageView, err = s.pageView(
		c, say(c, words.TitleMyAuctions, nil), c.Request().URL.RequestURI(),
	); err != nil {
		return err
	}
	view.Lots = cards(page.Auctions, view.Locale)
	view.LiveURL = liveCards(page.Auctions, view.Locale)
	view.NextURL, view.FirstURL = around(components.PathMyAuctions, values, page.Next)
	return s.page(c, http.StatusOK, pages.MyAuctions(view))
}

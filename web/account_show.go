package web

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"martelo/templates/components"
	"martelo/templates/pages"
	"martelo/templates/words"
	"martelo/web/read"
)

// accountShow is GET /me.
func (s *Server) accountShow(c echo.Context) error {
	return s.accountPage(c, http.StatusOK, pages.AccountView{})
}

// accountPage draws the viewer's own page, with what a form on it has led to.
func (s *Server) accountPage(c echo.Context, status int, view pages.AccountView) error {
	who, err := s.caller(c)
	if err != nil {
		return err
	}
	tokens, err := s.People.Tokens(c.Request().Context(), who.ID)
	if err != nil {
		return err
	}
	if view.PageView, err = s.pageView(c, say(c, words.TitleAccount, nil), components.PathAccount); err != nil {
		return err
	}
	view.Email, view.OpenSelling = who.Email, s.OpenSelling
	if view.SellerProblems == nil {
		view.SellerName = who.SellerName
	}
	for _, token := range tokens {
		view.Tokens = append(view.Tokens, pages.TokenRow{ID: token.ID, Name: token.Name, CreatedAt: token.CreatedAt})
	}
	return s.page(c, status, pages.Account(view))
}

// accountSell is POST /me/selling: a user becomes a seller, where the house is open to that, and a
// seller gets another name.
func (s *Server) accountSell(c echo.Context) error {
	who, err := s.signedIn(c)
	if err != nil {
		return err
	}
	form := url.Values{}
	if read.Media(c.Request()) != "" { // a program may send nothing at all
		if form, err = s.formOf(c); err != nil {
			return err
		}
	}
	if !s.OpenSelling && !who.MaySell() {
		return errForbidden
	}
	name := form.Get(pages.FieldSellerName)
	if who.MaySell() && !form.Has(pages.FieldSellerName) {
		name = who.SellerName // nothing was asked for
	}
	err = s.People.StartSelling(c.Request().Context(), who.ID, name)
	if list, ok := problems(c, err); ok {
		view := pages.AccountView{SellerName: name, SellerProblems: list}
		return s.refused(c, err, func(status int) error { return s.accountPage(c, status, view) })
	}
	if err != nil {
		return err
	}
	path, done := components.PathNewAuction, words.DoneMaySell
	if who.MaySell() {
		path, done = components.PathAccount, words.DoneSellerName
	}
	if err := s.flash(c, components.NoticeGood, say(c, done, nil)); err != nil {
		return err
	}
	return s.seeOther(c, path)
}

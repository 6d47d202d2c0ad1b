package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"martelo/templates/components"
	"martelo/templates/pages"
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
	if view.PageView, err = s.frame(c, "Your account", components.PathAccount); err != nil {
		return err
	}
	view.Email = who.Email
	for _, token := range tokens {
		view.Tokens = append(view.Tokens, pages.TokenRow{ID: token.ID, Name: token.Name, CreatedAt: token.CreatedAt})
	}
	return s.page(c, status, pages.Account(view))
}

// accountSell is POST /me/selling: a user becomes a seller, where the house is open to that.
func (s *Server) accountSell(c echo.Context) error {
	who, err := s.caller(c)
	if err != nil {
		return err
	}
	if err := s.emptyForm(c); err != nil {
		return err
	}
	if !s.OpenSelling && !who.MaySell() {
		return errForbidden
	}
	if err := s.People.StartSelling(c.Request().Context(), who.ID); err != nil {
		return err
	}
	if err := s.flash(c, components.NoticeGood, "You may sell now."); err != nil {
		return err
	}
	return s.seeOther(c, components.PathNewAuction)
}

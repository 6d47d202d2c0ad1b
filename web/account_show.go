package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"martelo/templates/components"
	"martelo/templates/pages"
	"martelo/templates/words"
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

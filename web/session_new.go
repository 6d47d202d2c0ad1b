package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"martelo/templates/pages"
	"martelo/web/read"
)

// sessionNew is GET /signin. Who is signed in already is led on.
func (s *Server) sessionNew(c echo.Context) error {
	next := read.PathAfter(c.QueryParam(pages.FieldNext))
	viewer, err := s.viewer(c)
	if err != nil {
		return err
	}
	if viewer != nil {
		return s.seeOther(c, next)
	}
	return s.signInPage(c, http.StatusOK, pages.SignInView{Next: next})
}

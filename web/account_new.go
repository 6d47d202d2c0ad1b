package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"martelo/templates/pages"
	"martelo/web/read"
)

// accountNew is GET /signup.
func (s *Server) accountNew(c echo.Context) error {
	return s.signUpPage(c, http.StatusOK, pages.SignUpView{Next: read.PathAfter(c.QueryParam(pages.FieldNext))})
}

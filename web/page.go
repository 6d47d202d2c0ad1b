package web

import "github.com/labstack/echo/v4"

func (s *Server) errorPage(c echo.Context, p problem) error {
	return writeJSON(c, p.Status, "application/problem+json", p)
}

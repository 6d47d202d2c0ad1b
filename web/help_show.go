package web

import (
	"net/http"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"martelo/templates/components"
	"martelo/templates/pages"
	"martelo/templates/words"
)

// helpShow is GET /help: how bidding works.
func (s *Server) helpShow(c echo.Context) error {
	return s.sharedPage(c, func() (int, templ.Component, error) {
		view, err := s.pageView(c, say(c, words.TitleHelp, nil), components.PathHelp)
		return http.StatusOK, pages.Help(view), err
	})
}

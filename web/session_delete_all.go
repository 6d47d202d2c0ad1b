package web

import (
	"github.com/labstack/echo/v4"

	"martelo/templates/words"
)

// sessionDeleteAll is POST /me/sessions/end: the person is signed out in every browser, this one
// included.
func (s *Server) sessionDeleteAll(c echo.Context) error {
	who, err := s.signedIn(c)
	if err != nil {
		return err
	}
	if err := s.emptyForm(c); err != nil {
		return err
	}
	if _, err := s.People.EndSessions(c.Request().Context(), who.ID); err != nil {
		return err
	}
	return s.leaveSession(c, words.DoneSignedOutOfAll)
}

package web

import (
	"github.com/labstack/echo/v4"

	"martelo/templates/components"
	"martelo/templates/words"
)

// sessionDelete is POST /signout. Who is signed out already is led to the same place.
func (s *Server) sessionDelete(c echo.Context) error { return s.leaveSession(c, words.DoneSignedOut) }

// leaveSession ends the browser's session and says so on the house's front page.
func (s *Server) leaveSession(c echo.Context, done words.Key) error {
	ctx, err := s.session(c)
	if err != nil {
		return err
	}
	signedIn := s.sessions.GetInt64(ctx, sessionUser) != 0
	if err := s.sessions.Destroy(ctx); err != nil {
		return err
	}
	if n := logOf(c); signedIn {
		n.identity = nil
		if err := s.flash(c, components.NoticeInfo, say(c, done, nil)); err != nil {
			return err
		}
	}
	return s.seeOther(c, components.PathHome)
}

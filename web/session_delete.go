package web

import (
	"github.com/labstack/echo/v4"

	"martelo/templates/words"
)

// signOut is POST /signout. Who is signed out already is led to the same place.
func (s *Server) signOut(c echo.Context) error { return s.leaveSession(c, words.DoneSignedOut) }

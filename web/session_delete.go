package web

import (
	"github.com/labstack/echo/v4"

	"martelo/templates/components"
)

// signOut is POST /signout. Who is signed out already is led to the same place.
func (s *Server) signOut(c echo.Context) error {
	ctx, err := s.session(c)
	if err != nil {
		return err
	}
	if err := s.sessions.Destroy(ctx); err != nil {
		return err
	}
	return s.seeOther(c, components.PathHome)
}

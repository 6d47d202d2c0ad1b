package web

import (
	"errors"

	"github.com/labstack/echo/v4"

	"martelo/app/account"
	"martelo/app/auction"
	"martelo/templates/components"
	"martelo/templates/words"
	"martelo/web/read"
)

// tokenRevoke is POST /me/tokens/{id}/revoke.
func (s *Server) tokenRevoke(c echo.Context) error {
	who, err := s.signedIn(c)
	if err != nil {
		return err
	}
	id, ok := read.ID(c.Param("id"))
	if !ok {
		return auction.ErrNotFound
	}
	if err := s.emptyForm(c); err != nil {
		return err
	}
	err = s.People.RevokeToken(c.Request().Context(), who.ID, id)
	if errors.Is(err, account.ErrUnknownToken) {
		return auction.ErrNotFound
	}
	if err != nil {
		return err
	}
	if err := s.flash(c, components.NoticeInfo, say(c, words.DoneTokenRevoked, nil)); err != nil {
		return err
	}
	return s.seeOther(c, components.PathAccount)
}

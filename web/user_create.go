package web

import (
	"net/http"

	"martelo/web/read"

	"github.com/labstack/echo/v4"
)

type userJSON struct {
	ID int64 `json:"id"`
}

// userCreate is POST /users: a marketplace adds a bidder it keeps itself.
func (s *Server) userCreate(c echo.Context) error {
	who, err := s.caller(c)
	if err != nil {
		return err
	}
	if !who.Service {
		return errForbidden
	}
	body, err := read.ObjectOf(c.Request())
	if err != nil {
		return err
	}
	name, wrong := body.Text("name")
	if wrong != nil {
		return wrong
	}
	id, err := s.People.AddBidder(c.Request().Context(), name)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusCreated, read.MediaJSON, userJSON{ID: id})
}

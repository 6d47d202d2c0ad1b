package web

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// auctionCancel is POST /auctions/{id}/cancel.
func (s *Server) auctionCancel(c echo.Context) error {
	who, err := s.caller(c)
	if err != nil {
		return err
	}
	id, err := auctionID(c)
	if err != nil {
		return err
	}
	if err := s.Cancel(c.Request().Context(), id, who.Actor()); err != nil {
		return err
	}
	cancelled, err := s.Catalog.One(c.Request().Context(), id)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, mediaJSON, toAuctionJSON(cancelled))
}

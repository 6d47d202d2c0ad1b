package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"martelo/app/auction"
	"martelo/web/read"
)

// auctionMove is POST /auctions/{id}/lane with {"lane": "standard" or "hot"}: for programs of the
// seller or an admin.
func (s *Server) auctionMove(c echo.Context) error {
	who, err := s.caller(c)
	if err != nil {
		return err
	}
	id, err := auctionID(c)
	if err != nil {
		return err
	}
	body, err := read.ObjectOf(c.Request())
	if err != nil {
		return err
	}
	lane, wrong := body.Text("lane")
	if wrong != nil {
		return wrong
	}
	if err := s.Auctioneer.Move(c.Request().Context(), id, who.Actor(), auction.Lane(lane)); err != nil {
		return err
	}
	return s.auctionAsJSON(c, http.StatusOK, id)
}

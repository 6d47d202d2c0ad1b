package web

import "github.com/labstack/echo/v4"

// auctionEvents is GET /auctions/{id}/events.
func (s *Server) auctionEvents(c echo.Context) error {
	id, err := auctionID(c)
	if err != nil {
		return err
	}
	if err := s.known(c, []int64{id}); err != nil {
		return err
	}
	return s.streams.AuctionEvents(c.Response(), c.Request(), id)
}

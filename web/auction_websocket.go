package web

import "github.com/labstack/echo/v4"

// auctionWebSocket is GET /ws/auctions/{id}.
func (s *Server) auctionWebSocket(c echo.Context) error {
	id, err := auctionID(c)
	if err != nil {
		return err
	}
	if err := s.known(c, []int64{id}); err != nil {
		return err
	}
	return s.streams.WebSocket(c.Response(), c.Request(), id)
}

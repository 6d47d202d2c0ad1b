package web

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// auctionShow is GET /auctions/{id}.
func (s *Server) auctionShow(c echo.Context) error {
	id, err := auctionID(c)
	if err != nil {
		return err
	}
	found, err := s.Catalog.One(c.Request().Context(), id)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, mediaJSON, toAuctionJSON(found))
}

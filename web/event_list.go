package web

import (
	"github.com/labstack/echo/v4"

	"martelo/web/read"
)

// eventList is GET /events.
func (s *Server) eventList(c echo.Context) error {
	values, err := read.Query(c.Request())
	if err != nil {
		return err
	}
	ids, err := s.watched(c, values)
	if err != nil {
		return err
	}
	return s.streams.ManyEvents(c.Response(), c.Request(), ids)
}

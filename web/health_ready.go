package web

import (
	"net/http"
	"sync"

	"github.com/labstack/echo/v4"

	"martelo/web/read"
)

// healthReady is GET /readyz: whether bids can be taken. Without Redis they can.
func (s *Server) healthReady(c echo.Context) error {
	health, status := healthJSON{Status: "ready", Away: []string{}}, http.StatusOK
	if s.leaving.Load() {
		health.Status = "leaving"
		return writeJSON(c, http.StatusServiceUnavailable, read.MediaJSON, health)
	}
	ctx := c.Request().Context()
	var database, redis error
	var asked sync.WaitGroup
	asked.Go(func() { database = s.database.answer(ctx) })
	asked.Go(func() { redis = s.redis.answer(ctx) })
	asked.Wait()
	if database != nil {
		health.Status, status = "unavailable", http.StatusServiceUnavailable
		health.Away = append(health.Away, "postgresql")
		c.Response().Header().Set("Retry-After", wholeSeconds(retryUnavailable))
	}
	if redis != nil {
		health.Away = append(health.Away, "redis")
	}
	return writeJSON(c, status, read.MediaJSON, health)
}

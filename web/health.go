package web

import (
	"context"
	"crypto/subtle"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// pingWithin bounds the question whether a store is there, so that readiness is known within a second.
const pingWithin = 700 * time.Millisecond

type healthJSON struct {
	Status string   `json:"status"`
	Away   []string `json:"away"` // the stores that do not answer
}

// healthLive is GET /healthz: the process answers.
func (s *Server) healthLive(c echo.Context) error {
	return writeJSON(c, http.StatusOK, mediaJSON, healthJSON{Status: "alive", Away: []string{}})
}

// healthReady is GET /readyz: whether bids can be taken. Without Redis they can.
func (s *Server) healthReady(c echo.Context) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), pingWithin)
	defer cancel()
	var database, redis error
	var asked sync.WaitGroup
	asked.Go(func() { database = s.PingDatabase(ctx) })
	asked.Go(func() { redis = s.PingRedis(ctx) })
	asked.Wait()
	health, status := healthJSON{Status: "ready", Away: []string{}}, http.StatusOK
	if database != nil {
		health.Status, status = "unavailable", http.StatusServiceUnavailable
		health.Away = append(health.Away, "postgresql")
		c.Response().Header().Set("Retry-After", wholeSeconds(retryUnavailable))
	}
	if s.leaving.Load() {
		health.Status, status = "leaving", http.StatusServiceUnavailable
	}
	if redis != nil {
		health.Away = append(health.Away, "redis")
	}
	return writeJSON(c, status, mediaJSON, health)
}

// healthMetrics is GET /metrics.
func (s *Server) healthMetrics() echo.HandlerFunc {
	return echo.WrapHandler(promhttp.HandlerFor(s.Metrics, promhttp.HandlerOpts{}))
}

// ownMachines lets through machines of the house's own: those of this machine and its private network that came without a proxy, as a
// scraper does and a visitor does not, and whoever has the token.
func (s *Server) ownMachines(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if s.MetricsToken != "" && subtle.ConstantTimeCompare([]byte(token), []byte(s.MetricsToken)) == 1 {
			return next(c)
		}
		for _, sign := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "Via"} {
			if r.Header.Get(sign) != "" {
				return errForbidden
			}
		}
		peer, err := netip.ParseAddrPort(r.RemoteAddr)
		if address := peer.Addr().Unmap(); err != nil || !address.IsLoopback() && !address.IsPrivate() && !address.IsLinkLocalUnicast() {
			return errForbidden
		}
		return next(c)
	}
}

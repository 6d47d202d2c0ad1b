package web

import (
	"crypto/subtle"
	"net/netip"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// healthMetrics is GET /metrics.
func (s *Server) healthMetrics() echo.HandlerFunc {
	return echo.WrapHandler(promhttp.HandlerFor(s.Metrics, promhttp.HandlerOpts{}))
}

// ownMachines lets through machines of the house's own: those of this machine and its private
// network that came without a proxy, as a scraper does and a visitor does not, and whoever has the
// token.
func (s *Server) ownMachines(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if s.MetricsToken != "" && subtle.ConstantTimeCompare([]byte(token), []byte(s.MetricsToken)) == 1 {
			return next(c)
		}
		for _, sign := range []string{
			"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "Via",
		} {
			if r.Header.Get(sign) != "" {
				return errForbidden
			}
		}
		peer, err := netip.ParseAddrPort(r.RemoteAddr)
		if address := peer.Addr().Unmap(); err != nil || !address.IsLoopback() && !address.IsPrivate() &&
			!address.IsLinkLocalUnicast() {
			return errForbidden
		}
		return next(c)
	}
}

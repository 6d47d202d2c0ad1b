package web

import (
	"net/netip"
	"sync"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Networks that begin with fewer bits than these hold a large part of the world: whoever trusts one
// believes what visitors say of themselves. Those of the private networks, 10.0.0.0/8 and fc00::/7,
// have as many.
const (
	trustBitsMin4 = 8
	trustBitsMin6 = 7
)

// watchProxies notices a proxy that is not trusted. Behind one all visitors share one address, and
// its limits, and nothing else would say so.
func (s *Server) watchProxies() echo.MiddlewareFunc {
	for _, prefix := range s.TrustedProxies {
		if prefix.Bits() < trustBitsMin6 || prefix.Addr().Is4() && prefix.Bits() < trustBitsMin4 {
			s.Log.Warn("TRUSTED_PROXIES trusts almost everybody: any visitor can claim any address, "+
				"and no limit for an address holds", "network", prefix.String())
		}
	}
	ignored := promauto.With(s.Metrics).NewCounter(prometheus.CounterOpts{
		Name: "martelo_forwarded_ignored_total",
		Help: "Requests with an X-Forwarded-For from an address that TRUSTED_PROXIES does not name. " +
			"Behind a proxy, all visitors count as one then.",
	})
	var told sync.Once
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			r := c.Request()
			if len(r.Header.Values(echo.HeaderXForwardedFor)) > 0 && !s.trusts(r.RemoteAddr) {
				ignored.Inc()
				told.Do(func() {
					s.Log.Warn("a request came through a proxy that is not trusted: name its network in "+
						"TRUSTED_PROXIES, "+
						"or all its visitors count as one address", "proxy", r.RemoteAddr)
				})
			}
			return next(c)
		}
	}
}

// trusts tells whether a connection comes from a proxy that is believed.
func (s *Server) trusts(remote string) bool {
	from, err := netip.ParseAddrPort(remote)
	if err != nil {
		return false
	}
	address := from.Addr().Unmap().WithZone("")
	for _, prefix := range s.TrustedProxies {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}

// onThisMachine tells whether a request comes from this machine itself, by no proxy that says so.
func onThisMachine(c echo.Context) bool {
	r := c.Request()
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	forwarded := len(r.Header.Values(echo.HeaderXForwardedFor)) + len(r.Header.Values("Forwarded"))
	return err == nil && from.Addr().Unmap().IsLoopback() && forwarded == 0
}

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

	"martelo/app/loop"
	"martelo/web/read"
)

const (
	// probeWithin bounds the question whether a store takes writes, and answerFor is for how long
	// its answer counts: together they make readiness known within about a second.
	probeWithin = 600 * time.Millisecond
	answerFor   = 500 * time.Millisecond
)

// probe asks whether a store takes writes, one question at a time and no oftener than every
// answerFor, however many want to know.
type probe struct {
	ask func(context.Context) error

	mu    sync.Mutex
	done  chan struct{} // closed when the present question is answered; nil: none has been asked
	until time.Time     // when the answer is too old, on the monotonic clock; zero while there is none
	err   error
}

// answer returns the answer at hand, or waits for that to the present question.
func (p *probe) answer(ctx context.Context) error {
	p.mu.Lock()
	asking := p.done != nil && p.until.IsZero()
	if !asking && time.Now().After(p.until) {
		p.done, p.until = make(chan struct{}), time.Time{}
		go p.put(p.done)
	}
	done := p.done
	p.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
		return ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// put asks the question. It does not end with whoever asked first.
func (p *probe) put(done chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), probeWithin)
	defer cancel()
	err := loop.Safely(func() error { return p.ask(ctx) })
	p.mu.Lock()
	p.err, p.until = err, time.Now().Add(answerFor)
	p.mu.Unlock()
	close(done)
}

type healthJSON struct {
	Status string   `json:"status"`
	Away   []string `json:"away"` // the stores that take no writes
}

// healthLive is GET /healthz: the process answers.
func (s *Server) healthLive(c echo.Context) error {
	return writeJSON(c, http.StatusOK, read.MediaJSON, healthJSON{Status: "alive", Away: []string{}})
}

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

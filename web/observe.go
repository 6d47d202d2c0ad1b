package web

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"martelo/app/account"
)

const (
	headerRequestID = "X-Request-Id"
	// requestIDLengthMax bounds an id that comes with the request; others are replaced.
	requestIDLengthMax = 64
)

// requestLog is what is learned about a request on the way, for its line in the log and its
// figures.
type requestLog struct {
	requestID string
	auctionID int64
	userID    int64
	code      string // the problem it was answered with
	fault     error  // what went wrong on our side
	stack     []byte

	identity *account.Identity
	session  bool // whether the session was loaded
}

const logKey = "log"

func logOf(c echo.Context) *requestLog {
	if n, ok := c.Get(logKey).(*requestLog); ok {
		return n
	}
	n := &requestLog{}
	c.Set(logKey, n)
	return n
}

func (s *Server) count() {
	with := promauto.With(s.Metrics)
	s.bids = with.NewCounterVec(prometheus.CounterOpts{
		Name: "martelo_bids_total",
		Help: "Answers to bids, by outcome: accepted, replayed, or the code of the refusal.",
	}, []string{"outcome"})
	s.requests = with.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "martelo_http_request_seconds",
		Help:    "Time to answer a request; live streams last for as long as somebody watches.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}, []string{"method", "route", "status"})
}

// observe stands around everything else: it names the request, catches panics, has errors answered,
// and writes one line.
func (s *Server) observe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		begin := time.Now()
		n := logOf(c)
		n.requestID = requestID(c.Request())
		c.Response().Header().Set(headerRequestID, n.requestID)
		// Not every writer has deadlines; a test's recorder never waits.
		_ = http.NewResponseController(c.Response()).SetWriteDeadline(begin.Add(writeWithin))
		s.boundBody(c)
		if err := s.caught(next, c); err != nil {
			c.Error(err)
		}
		s.logRequest(c, n, time.Since(begin))
		return nil
	}
}

// caught turns a panic into an error. http.ErrAbortHandler is the handler's own way to break a
// connection off and passes.
func (s *Server) caught(next echo.HandlerFunc, c echo.Context) (err error) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			panic(p)
		default:
			logOf(c).stack = debug.Stack()
			err = fmt.Errorf("web: panic: %v", p)
		}
	}()
	return next(c)
}

func (s *Server) logRequest(c echo.Context, n *requestLog, took time.Duration) {
	status, route, method := c.Response().Status, c.Path(), knownMethod(c.Request().Method)
	if route == "" {
		route = "none"
	}
	s.requests.WithLabelValues(method, route, strconv.Itoa(status)).Observe(took.Seconds())
	level := slog.LevelInfo
	switch {
	case status == http.StatusInternalServerError:
		level = slog.LevelError
	case n.fault != nil:
		level = slog.LevelWarn
	case route == "/healthz" || route == "/readyz" || route == "/metrics":
		level = slog.LevelDebug
	}
	if !s.Log.Enabled(context.Background(), level) {
		return
	}
	skipped, write := int64(0), true
	if level == slog.LevelInfo && !s.Log.Enabled(context.Background(), slog.LevelDebug) {
		skipped, write = s.lines.next(time.Now())
	}
	if !write {
		return
	}
	attrs := []slog.Attr{
		slog.String("request", n.requestID), slog.String("method", method), slog.String("route", route),
		slog.Int("status", status), slog.Duration("took", took), slog.Int64("bytes", c.Response().Size),
		slog.String("address", c.RealIP()),
	}
	if n.userID != 0 {
		attrs = append(attrs, slog.Int64("user", n.userID))
	}
	if n.auctionID != 0 {
		attrs = append(attrs, slog.Int64("auction", n.auctionID))
	}
	if n.code != "" {
		attrs = append(attrs, slog.String("code", n.code))
	}
	if skipped > 0 {
		attrs = append(attrs, slog.Int64("skipped", skipped))
	}
	if n.fault != nil {
		attrs = append(attrs, slog.String("error", n.fault.Error()))
	}
	if n.stack != nil {
		attrs = append(attrs, slog.String("stack", string(n.stack)))
	}
	s.Log.LogAttrs(context.Background(), level, "request", attrs...)
}

// requestID takes an id that came with the request, from a proxy or a client that keeps its own
// log, if it is a plain word.
func requestID(r *http.Request) string {
	id := r.Header.Get(headerRequestID)
	if id == "" || len(id) > requestIDLengthMax {
		return rand.Text()
	}
	for i := range len(id) {
		switch b := id[i]; {
		case b >= '0' && b <= '9', b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b == '-', b == '_', b == '.':
		default:
			return rand.Text()
		}
	}
	return id
}

// knownMethod keeps made-up methods out of the figures' labels.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions:
		return method
	}
	return "OTHER"
}

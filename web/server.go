// Package web has the handlers: each reads a request, asks the rooms that know, and answers in
// JSON, with a page or with a fragment of one. One URL has them all; what a client accepts decides.
package web

import (
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"martelo/app/account"
	"martelo/app/auctioneer"
	"martelo/app/catalog"
	"martelo/app/draft"
	"martelo/app/limits"
	"martelo/app/live"
	"martelo/static"
	"martelo/templates/components"
	"martelo/templates/gallery"
	"martelo/templates/layouts"
	"martelo/web/stream"
)

const (
	// readHeaderWithin bounds a client that opens a connection and dawdles.
	readHeaderWithin = 5 * time.Second
	// writeWithin bounds a client that does not read its answer. Live streams have deadlines of
	// their own for each write.
	writeWithin = 30 * time.Second
	// idleFor is how long a connection without a request is kept.
	idleFor = 2 * time.Minute
	// headerBytesMax bounds a request's header.
	headerBytesMax = 32 << 10
)

// Deps is what the room stands on. All fields are needed unless they say otherwise.
type Deps struct {
	Log     *slog.Logger
	Metrics *prometheus.Registry
	People  *account.People
	Drafts  *draft.Drafts
	Catalog *catalog.Catalog
	Limits  *limits.Limits

	// Auctioneer takes bids, and opens, cancels and moves auctions.
	Auctioneer *auctioneer.Auctioneer

	// Hub is the live side of the node.
	Hub *live.Hub

	// PublicURL is where browsers find the house; nil while that is whatever host they ask for,
	// without TLS.
	PublicURL *url.URL
	// TrustedProxies are the networks whose X-Forwarded-For is believed; none: the connection's own
	// address counts.
	TrustedProxies []netip.Prefix
	// House is where the operator's own pages are: terms, privacy, imprint.
	House layouts.HouseLinks
	// HSTSSubdomains has browsers stay with https below the house's own host as well.
	HSTSSubdomains bool
	// MetricsToken lets whoever sends it read the figures from anywhere; "": nobody.
	MetricsToken string
	// Gallery opens the gallery of all components and pages, for developers.
	Gallery bool
	// OpenSelling lets every user become a seller.
	OpenSelling bool
	// Contact is who helps with a forgotten password, "" for nobody in particular.
	Contact string
}

// Server answers requests.
type Server struct {
	Deps
	echo     *echo.Echo
	sessions *scs.SessionManager
	streams  *stream.Streams
	bids     *prometheus.CounterVec
	requests *prometheus.HistogramVec
	leaving  atomic.Bool
	database probe
	redis    probe
	shared   sharedPages
	kept     keptLists
	lines    lines

	readBodyWithin time.Duration // what tests shorten
}

// New makes a server.
func New(deps Deps) *Server {
	s := &Server{
		Deps: deps, echo: echo.New(), readBodyWithin: readBodyWithin,
		database: probe{ask: deps.Auctioneer.Ready}, redis: probe{ask: deps.Limits.Ping},
	}
	s.sessions = s.newSessions()
	s.count()
	e := s.echo
	e.HideBanner, e.HidePort = true, true
	e.HTTPErrorHandler = s.answerError
	e.IPExtractor = addressOf(deps.TrustedProxies)
	s.streams = stream.New(deps.Hub, s.drawLive, e.IPExtractor)
	e.Use(s.observe, s.watchProxies(), s.headers, s.sameOrigin())
	s.routes()
	return s
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.echo.ServeHTTP(w, r) }

// HTTP is the listener's half: a server without a limit on the time of an answer, since live
// streams go on for as long as somebody watches.
func (s *Server) HTTP() *http.Server {
	return &http.Server{
		Handler: s, ReadHeaderTimeout: readHeaderWithin, IdleTimeout: idleFor, MaxHeaderBytes: headerBytesMax,
		ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn),
	}
}

// Leave makes the node unready, so that whoever sends it visitors sends them elsewhere. It goes on
// answering.
func (s *Server) Leave() { s.leaving.Store(true) }

func (s *Server) routes() {
	get := func(path string, h echo.HandlerFunc) {
		s.echo.Match([]string{http.MethodGet, http.MethodHead}, path, h)
	}
	post := func(path string, h echo.HandlerFunc) { s.echo.POST(path, h) }

	get("/healthz", s.healthLive)
	get("/readyz", s.healthReady)
	get("/metrics", s.ownMachines(s.healthMetrics()))
	get(static.Prefix+"*", echo.WrapHandler(static.Handler()))

	get("/auctions", s.auctionList)
	post("/auctions", s.auctionCreate)
	get("/auctions/:id", s.auctionShow)
	get("/auctions/:id/bids", s.bidList)
	post("/auctions/:id/bids", s.bidPlace)
	post("/auctions/:id/cancel", s.auctionCancel)
	post("/auctions/:id/lane", s.auctionMove)
	post("/users", s.userCreate)
	get("/auctions/:id/events", s.auctionEvents)
	get("/events", s.eventList)
	get("/ws/auctions/:id", s.auctionWebSocket)
	get(pathLive, s.pageLive)
	get(pathListNews, s.listNews)

	if s.Gallery {
		get(gallery.Path, onlyPage(s.galleryShow))
		get(gallery.Path+"/:name", onlyPage(s.galleryPageShow))
	}
	get(components.PathHome, onlyPage(s.auctionList))
	get(components.PathHelp, onlyPage(s.helpShow))
	get(components.PathReview, onlyPage(s.personal(s.auctionReview)))
	get(components.PathNewAuction, onlyPage(s.personal(s.auctionNew)))
	get(components.PathMyBids, onlyPage(s.personal(s.bidListMine)))
	get(components.PathMyAuctions, onlyPage(s.personal(s.auctionListMine)))
	get(components.PathAccount, onlyPage(s.personal(s.accountShow)))
	post(components.PathSelling, s.accountSell)
	post(components.PathPassword, s.passwordChange)
	post(components.PathSessions, s.sessionDeleteAll)
	post(components.PathTokens, s.tokenCreate)
	post(components.PathTokens+"/:id/revoke", s.tokenRevoke)
	get(components.PathSignIn, onlyPage(s.sessionNew))
	post(components.PathSignIn, s.sessionCreate)
	get(components.PathSignUp, onlyPage(s.accountNew))
	post(components.PathSignUp, s.accountCreate)
	post(components.PathSignOut, s.sessionDelete)
}

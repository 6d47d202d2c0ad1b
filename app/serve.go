package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/redis/go-redis/v9"

	"martelo/app/account"
	"martelo/app/auctioneer"
	"martelo/app/catalog"
	"martelo/app/draft"
	"martelo/app/hot"
	"martelo/app/identity"
	"martelo/app/limits"
	"martelo/app/listing"
	"martelo/app/live"
	"martelo/app/loop"
	"martelo/app/outbox"
	"martelo/db"
	"martelo/templates/layouts"
	"martelo/web"
)

const (
	// leaveWithin is for how long a node that is told to stop answers those who are there.
	// Connections that are left then are cut. With what follows it stays below the ten seconds of
	// the contract.
	leaveWithin = 8 * time.Second
	// decideWithin is how much longer bids that were taken may take to be decided.
	decideWithin = time.Second
	// closeWithin is how long a node that leaves waits for its endless work to end, and again for
	// its connections to close. A store that hangs would keep it for fifteen seconds.
	closeWithin = 400 * time.Millisecond
	// drainDelayMax leaves enough of leaveWithin to send the viewers away.
	drainDelayMax = 5 * time.Second
	// drainFor spreads the viewers who are sent elsewhere, so that they do not arrive there all at
	// once.
	drainFor = 3 * time.Second
	// collectAt is how much a node's memory may grow, in a hundred of what is in use, before
	// garbage is looked for, and collectFrom where it is looked for more often instead. A node uses
	// some ten megabytes and makes many times that a second under load, so at Go's own hundred it
	// would look all the time. GOGC and GOMEMLIMIT in the environment go before both.
	collectAt, collectFrom = 400, 1 << 30
)

// house is one node with everything in it, built once and in order of what stands on what.
type house struct {
	settings settings
	log      *slog.Logger
	metrics  *prometheus.Registry
	bidders  *pgxpool.Pool // for bids, opening, closing and telling
	readers  *pgxpool.Pool // for what people read, so that a crowd of readers takes no connection from a bid
	// For who somebody is, which every bid asks first: neither readers nor strangers' cookies stand
	// before it.
	persons    *pgxpool.Pool
	redis      *redis.Client
	identity   *identity.House
	limits     *limits.Limits
	people     *account.People
	drafts     *draft.Drafts
	listings   *listing.Follower
	hub        *live.Hub
	hot        *hot.Lane
	auctioneer *auctioneer.Auctioneer
	relay      *outbox.Relay
	kafka      *outbox.KafkaSink
	server     *web.Server
}

func tuneCollector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(collectFrom)
	}
}

// serve runs a node until ctx ends.
func serve(ctx context.Context) error {
	s, err := readSettings("DATABASE_URL", "REDIS_URL")
	if err != nil {
		return err
	}
	h, err := build(s)
	if err != nil {
		return err
	}
	defer h.close()
	tuneCollector()
	// A store that is away now is waited for later; a copy of another house is to be told so before
	// it serves.
	if err := h.identity.Find(ctx); errors.Is(err, identity.ErrCopy) {
		return err
	}
	if err := h.offerProfiles(ctx); err != nil {
		return err
	}
	listener, err := live.Listen(ctx, s.ListenAddr)
	if err != nil {
		return fmt.Errorf("LISTEN_ADDR: %w", err)
	}
	return h.run(ctx, listener)
}

// build makes a node. It connects to nothing: a node may start while its stores are away.
func build(s settings) (h *house, err error) {
	h = &house{settings: s, log: s.logger(), metrics: prometheus.NewRegistry()}
	slog.SetDefault(h.log)
	h.metrics.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	defer func() {
		if err != nil {
			h.close()
		}
	}()
	bidders, persons, readers := s.connections()
	if h.bidders, err = db.Open(s.DatabaseURL, bidders); err != nil {
		return h, err
	}
	if h.persons, err = db.OpenReader(s.DatabaseURL, persons); err != nil {
		return h, err
	}
	if h.readers, err = db.OpenReader(s.DatabaseURL, readers); err != nil {
		return h, err
	}
	redis.SetLogger(redisLog{h.log})
	options, err := redis.ParseURL(s.RedisURL)
	if err != nil {
		return h, fmt.Errorf("REDIS_URL: %w", err)
	}
	h.redis = redis.NewClient(options)
	h.identity = identity.New(h.readers, h.redis, h.log)
	h.limits = limits.Open(
		h.redis, h.identity, h.log,
	).WithAttemptsPerAddress(s.AttemptsPerAddressMax).WithMetrics(h.metrics)
	h.people = account.New(h.persons)
	h.drafts = draft.New(h.readers)
	h.listings = listing.New(h.readers, h.log, h.metrics)
	h.hot = hot.New(hot.Options{
		Database: h.bidders, Redis: h.redis, House: h.identity, Listings: h.listings, Log: h.log, Metrics: h.metrics,
		AllowWeaker: s.HotLaneAllowEverysec,
	})
	h.hub = live.New(live.Options{
		Database: h.readers, Redis: h.redis, House: h.identity, Hot: h.hot, Metrics: h.metrics, Log: h.log,
		Limits: live.Limits{Viewers: s.ViewersMax, ViewersPerAddress: s.ViewersPerAddressMax},
	})
	h.auctioneer = auctioneer.New(auctioneer.Options{
		Database: h.bidders, Hot: h.hot, HotAbove: s.HotLaneAbove, Limits: h.limits,
		Sellers: auctioneer.SellerLimits{
			OpensPerMinute: s.OpensPerMinuteMax, Lasting: s.OpenAuctionsMax, Hot: s.HotAuctionsMax,
		},
		Listings: h.listings, Announce: h.hub.Announce, Log: h.log, Metrics: h.metrics,
	})
	// Without brokers the log is where events are kept, so they are written whatever its level
	// leaves out.
	var sink outbox.Sink = outbox.LogSink{Handler: s.logHandler(min(s.LogLevel, slog.LevelInfo))}
	if len(s.KafkaBrokers) > 0 {
		if h.kafka, err = outbox.NewKafkaSink(s.KafkaBrokers); err != nil {
			return h, err
		}
		sink = h.kafka
	}
	h.relay = outbox.NewRelay(h.bidders, sink, h.log, h.metrics)
	h.server, err = h.door()
	return h, err
}

// redisLog takes what the Redis library has to say into the log. It repeats itself while Redis is
// away, which the rooms that ask Redis report once each.
type redisLog struct{ log *slog.Logger }

func (l redisLog) Printf(ctx context.Context, format string, arg ...any) {
	l.log.DebugContext(ctx, "redis", "detail", fmt.Sprintf(format, arg...))
}

func (h *house) door() (*web.Server, error) {
	var public *url.URL
	if h.settings.PublicURL != "" {
		var err error
		if public, err = url.Parse(h.settings.PublicURL); err != nil {
			return nil, fmt.Errorf("PUBLIC_URL: %w", err)
		}
	}
	var proxies []netip.Prefix
	for _, text := range h.settings.TrustedProxies {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("TRUSTED_PROXIES: %w", err)
		}
		proxies = append(proxies, prefix)
	}
	return web.New(web.Deps{
		Log: h.log, Metrics: h.metrics, People: h.people, Drafts: h.drafts, Limits: h.limits,
		Catalog: catalog.New(h.readers).WithHot(h.hot), Auctioneer: h.auctioneer, Hub: h.hub,
		PublicURL: public,
		House: layouts.HouseLinks{
			Terms: h.settings.TermsURL, Privacy: h.settings.PrivacyURL, Imprint: h.settings.ImprintURL,
		},
		TrustedProxies: proxies, OpenSelling: h.settings.OpenSelling, Gallery: h.settings.Gallery,
		Contact:        h.settings.Contact,
		HSTSSubdomains: h.settings.HSTSSubdomains, MetricsToken: h.settings.MetricsToken,
	}), nil
}

// run serves on the listener until ctx ends, then leaves in order: no new visitors, answers and
// live streams come to their end, bids that were taken are decided, and only then what they stand
// on goes.
func (h *house) run(ctx context.Context, listener net.Listener) error {
	roles, stopRoles := context.WithCancel(context.WithoutCancel(ctx))
	defer stopRoles()
	var running sync.WaitGroup
	sweeper, drafts := loop.New("sweeper", h.log, h.metrics), loop.New("drafts", h.log, h.metrics)
	for name, role := range map[string]func(context.Context){
		"identity": h.identity.Run, "hub": h.hub.Run, "auctioneer": h.auctioneer.Run, "listings": h.listings.Run,
		"hot lane": h.hot.Run,
		"outbox":   h.relay.Run,
		"sweeper":  func(ctx context.Context) { h.people.Sessions().Sweep(ctx, sweeper) },
		"drafts":   func(ctx context.Context) { h.drafts.Sweep(ctx, drafts) },
	} {
		running.Go(func() { loop.New(name, h.log, h.metrics).Keep(roles, role) })
	}
	server := h.server.HTTP()
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	h.log.Info("serving", "address", listener.Addr().String())

	var failure error
	select {
	case failure = <-served:
	case <-ctx.Done():
	}
	h.log.Info("leaving")
	failure = errors.Join(failure, h.leave(context.WithoutCancel(ctx), server))
	stopRoles()
	if !within(closeWithin, running.Wait) {
		h.log.Warn("what does not end is left behind")
	}
	h.log.Info("left")
	return failure
}

// leave lets a balancer see that the node goes, then takes no new connections and lets those who
// are there finish. Who has not finished in time is cut, which is no failure; a bid that was taken
// and is not decided is one.
func (h *house) leave(ctx context.Context, server *http.Server) error {
	h.server.Leave()
	leaving, cancel := context.WithTimeout(ctx, leaveWithin)
	defer cancel()
	delay := time.NewTimer(h.settings.DrainDelay)
	defer delay.Stop()
	<-delay.C
	var drained sync.WaitGroup
	drained.Go(func() {
		loop.Guard(h.log, "live: drain", func() { h.hub.Drain(leaving, drainFor) })
	})
	if err := server.Shutdown(leaving); err != nil {
		h.log.Warn("connections that did not come to their end are cut", "error", err)
		_ = server.Close() // the listener is closed already
	}
	drained.Wait()
	deciding, cancel := context.WithTimeout(ctx, decideWithin)
	defer cancel()
	return h.auctioneer.Stop(deciding)
}

// within does something that may hang, and tells whether it was done in time.
func within(limit time.Duration, do func()) bool {
	done := make(chan struct{})
	go func() { do(); close(done) }()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// close gives back what build has opened, in reverse. It does not wait for a store that hangs.
func (h *house) close() { within(closeWithin, h.giveBack) }

func (h *house) giveBack() {
	if h.kafka != nil {
		h.kafka.Close()
	}
	if h.hot != nil {
		_ = h.hot.Close()
	}
	if h.limits != nil {
		_ = h.limits.Close()
	}
	if h.identity != nil {
		_ = h.identity.Close()
	}
	if h.redis != nil {
		_ = h.redis.Close()
	}
	for _, pool := range []*pgxpool.Pool{h.readers, h.persons, h.bidders} {
		if pool != nil {
			pool.Close()
		}
	}
}

// Package hot is the lane for auctions whose bids Redis decides: one script call for all the bids
// that wait, which also appends what it accepts to the auction's stream. A settler replays the
// stream through the rulebook into PostgreSQL, which stays the authority on where an auction is
// decided: its row names the lane, and the epoch under which a decision in Redis counts.
//
// docs/decisions/hot-lane.md says what a 201 means here and when the lane is worth it.
package hot

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"martelo/app/auction"
	"martelo/app/identity"
	"martelo/app/listing"
	"martelo/app/loop"
	"martelo/app/refusal"
)

const (
	// redisWithin bounds one word with Redis, the fsync before its answer included. What takes
	// longer is answered as unavailable.
	redisWithin = time.Second
	// connectionsMax is enough for one batch in flight for each of many hot auctions.
	connectionsMax = 32
	// checkEvery is how often Redis is asked for its settings, which may change while it runs and
	// when it starts anew.
	checkEvery = 5 * time.Second
)

// ErrStandard says that the auction is not decided in Redis, or not yet, or no more: the standard
// lane has the answer.
var ErrStandard = errors.New("hot: the auction is not in the hot lane")

// Options are what a lane is made of. All but Listings and the switch are needed.
type Options struct {
	Database *pgxpool.Pool
	Redis    *redis.Client // only its options are used: the lane has connections of its own
	House    *identity.House
	Listings *listing.Follower // told of every auction that was settled; nil: nobody is
	Log      *slog.Logger
	Metrics  prometheus.Registerer
	// AllowWeaker offers the lane also on a Redis that may lose what it has acknowledged.
	AllowWeaker bool
}

// Lane decides bids in Redis. Any number of lanes, on any nodes, may share the stores.
type Lane struct {
	pool        *pgxpool.Pool
	client      *redis.Client
	house       *identity.House
	listings    *listing.Follower
	log         *slog.Logger
	metrics     laneMetrics
	settler     *loop.Loop
	watcher     *loop.Loop
	allowWeaker bool
	ids         *ids

	checked atomic.Pointer[verdict] // nil until Redis was asked for its settings
	quiet   atomic.Int64            // until when Redis is not asked for what is only shown, in Unix nanoseconds

	mu    sync.Mutex
	terms map[int64]*terms // of the auctions decided here lately
	dirty map[int64]int64  // auctions with something to settle, and their epochs
	work  chan struct{}    // holds one: something is dirty
	noted map[int64]int64  // auctions whose stop this node has reported, and their epochs
}

type laneMetrics struct {
	lag     prometheus.Gauge
	settled prometheus.Counter
	loads   prometheus.Counter
	stops   prometheus.Counter
	garbled prometheus.Counter
}

// New makes a lane. It connects to nothing yet.
func New(o Options) *Lane {
	with := promauto.With(o.Metrics)
	client := ownClient(o.Redis)
	client.AddHook(o.House)
	return &Lane{
		pool: o.Database, client: client, house: o.House, listings: o.Listings, log: o.Log, allowWeaker: o.AllowWeaker,
		ids: newIDs(o.Database), terms: map[int64]*terms{}, dirty: map[int64]int64{}, work: make(chan struct{}, 1),
		noted:   map[int64]int64{},
		settler: loop.New("settler", o.Log, o.Metrics),
		watcher: loop.New("hot watcher", o.Log, o.Metrics),
		metrics: laneMetrics{
			lag: with.NewGauge(
				prometheus.GaugeOpts{
					Name: "martelo_hot_settle_lag_seconds",
					Help: "Age of the oldest bid that Redis has accepted and PostgreSQL did not have when this " +
						"node last looked.",
				},
			),
			settled: with.NewCounter(
				prometheus.CounterOpts{
					Name: "martelo_hot_settled_bids_total",
					Help: "Bids this node has written from Redis to PostgreSQL.",
				},
			),
			loads: with.NewCounter(
				prometheus.CounterOpts{
					Name: "martelo_hot_loads_total", Help: "Auctions this node has loaded into Redis.",
				},
			),
			stops: with.NewCounter(
				prometheus.CounterOpts{
					Name: "martelo_hot_stops_total",
					Help: "Auctions that were stopped because Redis and the rulebook differed.",
				},
			),
			garbled: with.NewCounter(
				prometheus.CounterOpts{
					Name: "martelo_hot_nonsense_total",
					Help: "Answers from Redis about hot auctions that make no sense, and were not believed.",
				},
			),
		},
	}
}

// ownClient makes a client like the given one that gives up soon and repeats nothing: a repeated
// script would answer a fresh bid as a twin.
func ownClient(client *redis.Client) *redis.Client {
	options := *client.Options()
	options.Dialer = nil // it holds on to the old options' time-outs
	options.DialTimeout, options.PoolTimeout = redisWithin, redisWithin
	options.ReadTimeout, options.WriteTimeout = redisWithin, redisWithin
	options.ContextTimeoutEnabled = true
	options.MaxRetries, options.DialerRetries = -1, 1
	options.PushNotificationProcessor = nil // it belongs to the given client
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	options.PoolSize, options.MinIdleConns, options.MaxActiveConns = connectionsMax, 0, 0
	return redis.NewClient(&options)
}

// Close gives the lane's connections back, after Run has ended and the last bid is decided.
func (l *Lane) Close() error { return l.client.Close() }

// verdict is what Redis's settings mean for a bid that was answered 201. The zero weakness is none.
type verdict struct{ weakness refusal.WeakRedis }

// Offered returns nil if auctions may be put into the hot lane, otherwise a
// *refusal.FieldError, or an error that wraps auction.ErrUnavailable while Redis cannot be asked.
func (l *Lane) Offered(ctx context.Context) error {
	v := l.checked.Load()
	if v == nil {
		var err error
		if v, err = l.check(ctx); err != nil {
			return err
		}
	}
	if v.weakness != (refusal.WeakRedis{}) && !l.allowWeaker {
		return refusal.Of("lane", v.weakness)
	}
	return nil
}

// Reach asks Redis whether it answers; the error wraps auction.ErrUnavailable.
func (l *Lane) Reach(ctx context.Context) error {
	_, err := l.check(ctx)
	return err
}

// check asks Redis for its settings and says clearly, once, when they are weaker than what a 201
// promises.
func (l *Lane) check(ctx context.Context) (*verdict, error) {
	weakness, err := l.weakness(ctx)
	if err != nil {
		return nil, away(err)
	}
	v := &verdict{weakness: weakness}
	before := l.checked.Swap(v)
	if weakness == (refusal.WeakRedis{}) || before != nil && before.weakness == weakness {
		return v, nil
	}
	if l.allowWeaker {
		l.log.Warn(
			"hot: a bid answered 201 may be lost when Redis crashes, and the hot lane is offered all the same "+
				"(HOT_LANE_ALLOW_EVERYSEC)",
			"why", weakness.String(),
		)
	} else {
		l.log.Warn(
			"hot: the hot lane is refused, since a bid answered 201 might be lost when Redis crashes; the standard "+
				"lane is not affected",
			"why", weakness.String(),
		)
	}
	return v, nil
}

func (l *Lane) weakness(ctx context.Context) (weak refusal.WeakRedis, err error) {
	log, err := l.client.ConfigGet(ctx, "append*").Result()
	if err == nil {
		var memory map[string]string
		memory, err = l.client.ConfigGet(ctx, "maxmemory*").Result()
		switch policy := memory["maxmemory-policy"]; {
		case err != nil:
		case log["appendonly"] != "yes":
			return refusal.WeakRedis{Setting: "appendonly", Value: log["appendonly"]}, nil
		case log["appendfsync"] != "always":
			return refusal.WeakRedis{Setting: "appendfsync", Value: log["appendfsync"]}, nil
		case memory["maxmemory"] != "0" && len(policy) > 7 && policy[:7] == "allkeys":
			return refusal.WeakRedis{Setting: "maxmemory-policy", Value: policy}, nil
		default:
			return weak, nil
		}
	}
	var refused redis.Error
	if errors.As(err, &refused) && !redis.IsLoadingError(err) {
		return refusal.WeakRedis{Setting: "CONFIG", Value: refused.Error()}, nil
	}
	return weak, err
}

// away wraps what kept Redis from answering.
func away(err error) error {
	if err == nil || errors.Is(err, auction.ErrUnavailable) {
		return err
	}
	return fmt.Errorf("hot: %w: %w", auction.ErrUnavailable, err)
}

// Run settles hot auctions until ctx ends. PostgreSQL and Redis may be away at any time.
func (l *Lane) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { l.settler.Keep(ctx, l.settleAll) })
	running.Go(func() { l.watcher.Keep(ctx, l.watch) })
	running.Wait()
}

// watch looks at Redis's settings from time to time.
func (l *Lane) watch(ctx context.Context) {
	for {
		_, _ = l.check(ctx) // who needs an answer asks again
		if !sleep(ctx, checkEvery) {
			return
		}
	}
}

// sleep waits, and returns false when ctx has ended.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

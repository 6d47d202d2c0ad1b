// Package limits holds people back who ask too often: bids by one bidder, and tries to sign in.
// What was asked lately is kept in Redis, so that all nodes count together.
//
// The limits protect the house and decide nothing about an auction. When Redis is away, slow or
// takes no writes, each node counts by itself, and after a few failures Redis is left alone for a
// second, so that a bid never waits for it.
package limits

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"martelo/app/batch"
	"martelo/app/identity"
)

const (
	// askWithin is how long a limit may take to answer: some hundred times what it usually takes,
	// and still not felt.
	askWithin = 80 * time.Millisecond
	// pingWithin is how long Redis may take to show that it takes writes.
	pingWithin = 500 * time.Millisecond
	// connectionsIdle are kept open, so that the first bids after a pause do not wait for new ones.
	connectionsIdle = 4
	// connectionsMax bounds the questions that are under way at once on a node; the script takes
	// some 50 µs.
	connectionsMax = 32
)

// readyKind names the key that is written to see whether Redis takes writes. It means nothing, and
// goes by itself after readyKeyFor.
const (
	readyKind   = "ready"
	readyKeyFor = time.Minute
)

// Limits asks Redis. It may be shared by any number of goroutines.
type Limits struct {
	client   *redis.Client
	house    *identity.House
	within   time.Duration // askWithin, but in tests
	breaker  breaker
	attempts *redis_rate.Limiter
	log      *slog.Logger
	local    local

	attemptsPerAddress int
	// questions are the bids that wait to hear whether they are too many, in the order they came.
	questions *batch.Queue[struct{}, *question]
}

// Open makes limits that are counted in the Redis a client is for. It has connections of its own,
// with deadlines of its own; it does not connect yet. What is counted for one house does not count
// for another that shares its Redis.
func Open(of *redis.Client, house *identity.House, log *slog.Logger) *Limits {
	return open(of, house, log, askWithin)
}

// open is Open with another patience.
func open(of *redis.Client, house *identity.House, log *slog.Logger, within time.Duration) *Limits {
	options := *of.Options()
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout, options.PoolTimeout = within, within, within, within
	options.ContextTimeoutEnabled = true
	options.MaxRetries, options.DialerRetries = -1, 1
	options.PoolSize, options.MinIdleConns, options.MaxActiveConns = connectionsMax, connectionsIdle, connectionsMax
	options.DisableIdentity = true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	client := redis.NewClient(&options)
	client.AddHook(house)
	return &Limits{
		client: client, house: house, within: within, attempts: redis_rate.NewLimiter(client), log: log,
		attemptsPerAddress: AttemptsPerAddressDefault,
		questions:          batch.New[struct{}, *question](questionsMax, waitingMax),
	}
}

// WithAttemptsPerAddress sets how many tries to sign in or up a minute one address has, before the
// first use.
func (l *Limits) WithAttemptsPerAddress(most int) *Limits {
	l.attemptsPerAddress = most
	return l
}

// WithMetrics tells whether the limits are counted on this node alone.
func (l *Limits) WithMetrics(metrics prometheus.Registerer) *Limits {
	promauto.With(metrics).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "martelo_limits_local",
		Help: "1 while this node counts limits by itself because Redis does not answer or takes no writes, else 0.",
	}, func() float64 {
		if l.breaker.open() {
			return 1
		}
		return 0
	})
	return l
}

// Close gives the connections back.
func (l *Limits) Close() error { return l.client.Close() }

// Ping tells whether Redis takes writes: one that is out of memory, follows another or wants a
// password answers and counts nothing.
//
// It waits longer than a limit may take: a disk that is slow for a moment makes no Redis that is
// away.
func (l *Limits) Ping(ctx context.Context) error {
	if err := l.house.Ready(); err != nil {
		return err
	}
	return l.client.WithTimeout(pingWithin).Set(ctx, l.key(readyKind, ""), "", readyKeyFor).Err()
}

// ask asks a question within askWithin, unless Redis has just failed. It tells whether there is an
// answer.
func (l *Limits) ask(ctx context.Context, question func(context.Context) error) bool {
	if !l.breaker.allows() {
		return false
	}
	within, cancel := context.WithTimeout(ctx, l.within)
	defer cancel()
	err := question(within)
	switch {
	case err == nil:
		if l.breaker.succeeded() {
			l.log.Info("limits are counted in Redis again")
		}
	case ctx.Err() != nil:
		l.breaker.release() // whoever asked has gone, which says nothing about Redis
	case l.breaker.failed():
		why := "Redis does not answer"
		if refusal := redis.Error(nil); errors.As(err, &refusal) {
			why = "Redis refuses to count"
		}
		l.log.Warn("limits are counted on this node alone: "+why, "error", err.Error())
	}
	return err == nil
}

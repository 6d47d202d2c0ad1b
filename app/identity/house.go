// Package identity knows which house this is: the id that a migration made and PostgreSQL keeps.
// Whatever nodes say and keep in Redis carries it, so that several houses beside one Redis are told
// apart.
//
// A copy of a house has the same id. So each database leaves its mark under the id in Redis, and a
// house that finds the mark of another database there does not use that Redis until an operator has
// said which of the two it is. docs/decisions/house-identity.md says why.
package identity

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"martelo/app/auction"
	"martelo/db"
)

const (
	// findAgain is the pause between tries to learn the identity at the start, while a store is
	// away.
	findAgain = 250 * time.Millisecond
	// lookEvery is how often the mark is looked at afterwards: a Redis that came back empty has
	// none, and another house may have come.
	lookEvery = 5 * time.Second
	// lookWithin bounds one look: two questions that a healthy store answers in a millisecond.
	lookWithin = 2 * time.Second
)

// Errors of a house that may not use the Redis it was given.
var (
	ErrCopy = errors.New("identity: another database has used this Redis under this house's id, so one of the two " +
		"is a " +
		"copy: give the copy an id of its own with \"martelo house renew\", or, if this is the house itself in a new " +
		"place, say so with \"martelo house claim\"")
	ErrRenewed = errors.New("identity: the house was given a new id while this node ran: start the node again")
)

// errUnknown says that PostgreSQL and Redis have not both been asked yet.
var errUnknown = errors.New("identity: the house is not known yet")

//go:embed mark.lua
var markText string

var markScript = redis.NewScript(markText)

// House is what a node knows about its identity. It is a hook of Redis clients: through a client
// that has it no command leaves the node before the identity is known, nor after the Redis has
// proved to be another's.
type House struct {
	pool   *pgxpool.Pool
	client *redis.Client
	log    *slog.Logger
	known  atomic.Pointer[found]
}

// found is the outcome of the last look that came to an end.
type found struct {
	id            string
	unnamedEpochs int64
	err           error // ErrCopy or ErrRenewed
}

// New makes a house that knows nothing yet. It connects to nothing; only the client's options are
// used.
func New(pool *pgxpool.Pool, client *redis.Client, log *slog.Logger) *House {
	options := *client.Options()
	options.Dialer = nil // it holds on to the old options' time-outs
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout = lookWithin, lookWithin, lookWithin
	options.ContextTimeoutEnabled = true
	options.MaxRetries, options.DialerRetries = -1, 1
	options.PushNotificationProcessor = nil // it belongs to the given client
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	options.PoolSize, options.MinIdleConns, options.MaxActiveConns = 1, 0, 0
	return &House{pool: pool, client: redis.NewClient(&options), log: log}
}

// Close gives the house's connection to Redis back.
func (h *House) Close() error { return h.client.Close() }

// ID is the house's id, and "" before it is known.
func (h *House) ID() string {
	if f := h.known.Load(); f != nil {
		return f.id
	}
	return ""
}

// UnnamedEpochs is the last epoch of the hot lane from before the house had an id.
func (h *House) UnnamedEpochs() int64 {
	if f := h.known.Load(); f != nil {
		return f.unnamedEpochs
	}
	return 0
}

// Ready returns nil once the house may use its Redis. The error wraps auction.ErrUnavailable, and
// ErrCopy or ErrRenewed where it takes an operator.
func (h *House) Ready() error {
	switch f := h.known.Load(); {
	case f == nil:
		return fmt.Errorf("%w: %w", auction.ErrUnavailable, errUnknown)
	case f.err != nil:
		return fmt.Errorf("%w: %w", auction.ErrUnavailable, f.err)
	}
	return nil
}

// Run learns the identity as soon as both stores answer, and looks at the mark from then on, until
// ctx ends.
func (h *House) Run(ctx context.Context) {
	for ctx.Err() == nil {
		_ = h.Find(ctx) // a store that is away is reported by the rooms that need it
		pause := lookEvery
		if h.known.Load() == nil {
			pause = findAgain
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// Find looks once. It returns nil if the house may use its Redis, ErrCopy or ErrRenewed if it may
// not, and another error if a store did not answer, which changes nothing about what is known.
func (h *House) Find(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	next, mark, err := read(ctx, h.pool)
	if err != nil {
		return err
	}
	before := h.known.Load()
	if before != nil && before.id != next.id {
		next.id, next.unnamedEpochs, next.err = before.id, before.unnamedEpochs, ErrRenewed
	} else {
		there, err := h.mark(ctx, next.id, mark)
		if err != nil {
			return err
		}
		if there != mark {
			next.err = ErrCopy
		}
	}
	h.known.Store(&next)
	switch was := before != nil && before.err != nil; {
	case next.err != nil && !was:
		h.log.Error("identity: Redis is not used", "house", next.id, "error", next.err.Error())
	case next.err == nil && was:
		h.log.Info("identity: Redis is used again", "house", next.id)
	}
	return next.err
}

// read asks PostgreSQL for the identity, and for what tells this database from a copy of it.
func read(ctx context.Context, pool *pgxpool.Pool) (f found, mark string, err error) {
	q := db.New(pool)
	row, err := q.HouseIdentity(ctx)
	if err != nil {
		return f, "", db.Unavailable(err)
	}
	system, err := q.HouseSystem(ctx)
	if db.IsForbidden(err) {
		system, err = "unknown", nil // some providers do not tell; the database's name remains
	}
	if err != nil {
		return f, "", db.Unavailable(err)
	}
	return found{id: row.ID.String(), unnamedEpochs: row.UnnamedEpochs}, system + "/" + row.DatabaseName, nil
}

// markKey is where in Redis the database of a house leaves its mark.
func markKey(id string) string { return "house:{" + id + "}" }

// mark returns whose mark Redis has for the house: ours from now on if there was none.
func (h *House) mark(ctx context.Context, id, ours string) (string, error) {
	// The usual case writes nothing, so that it is known also on a Redis that takes no writes.
	there, err := h.client.Get(ctx, markKey(id)).Result()
	if errors.Is(err, redis.Nil) {
		there, err = markScript.Run(ctx, h.client, []string{markKey(id)}, ours).Text()
	}
	return there, err
}

// Claim says that this database is the house itself, whatever mark Redis has: it was moved, by a
// dump or an upgrade. It returns the id.
func (h *House) Claim(ctx context.Context) (string, error) {
	f, mark, err := read(ctx, h.pool)
	if err != nil {
		return "", err
	}
	return f.id, h.client.Set(ctx, markKey(f.id), mark, 0).Err()
}

// Renew makes a house of its own of a copy, and returns its id. Nodes that run would go on under
// the old one, so there must be none.
func Renew(ctx context.Context, pool *pgxpool.Pool) (id string, err error) {
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		nodes, err := q.HouseNodes(ctx)
		if err != nil {
			return err
		}
		if nodes > 0 {
			return errors.New(
				"house renew: stop the nodes first; this database has " + strconv.FormatInt(nodes, 10) +
					" connections of theirs",
			)
		}
		renewed, err := q.HouseRenew(ctx)
		id = renewed.String()
		return err
	})
	return id, err
}

// DialHook is that of a hook of Redis clients; connecting is always allowed.
func (h *House) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		return next(ctx, network, address)
	}
}

// ProcessHook refuses commands while the house may not use its Redis.
func (h *House) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		if err := h.Ready(); err != nil {
			command.SetErr(err)
			return err
		}
		return next(ctx, command)
	}
}

// ProcessPipelineHook refuses pipelines while the house may not use its Redis.
func (h *House) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		if err := h.Ready(); err != nil {
			for _, command := range commands {
				command.SetErr(err)
			}
			return err
		}
		return next(ctx, commands)
	}
}

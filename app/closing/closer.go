// Package closing opens auctions whose start has come and closes those whose end has come, each once, on any number of nodes.
//
// The closing is bookkeeping: from its end on an auction takes no bid, whether it has been closed yet or not.
package closing

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"martelo/app/auction"
	"martelo/app/live"
	"martelo/db"
)

const (
	// setMax is how many auctions one statement closes or opens: large enough that 100,000 take seconds, small enough that a bid
	// never waits long for a row the closer holds.
	setMax = 500
	// wakeEvery is the longest sleep: an auction created meanwhile, or one that another node had locked, waits no longer.
	wakeEvery = time.Second
	// wakeSoonest is the shortest sleep, so that rows locked by others are not asked for in a spin.
	wakeSoonest = 20 * time.Millisecond
	// turnWithin bounds one statement.
	turnWithin = 8 * time.Second
	// passOverFor is how long an auction that cannot close is left alone before it is tried again.
	passOverFor = time.Minute
)

// Closer opens and closes what is due.
type Closer struct {
	queries    *db.Queries
	announce   func(live.Update)
	log        *slog.Logger
	closed     prometheus.Counter
	failed     prometheus.Counter
	passedOver map[int64]time.Time // auctions that could not close, with when to try them again
}

// New makes a closer. Announce is called after each commit and must not block.
func New(pool *pgxpool.Pool, announce func(live.Update), log *slog.Logger, metrics prometheus.Registerer) *Closer {
	with := promauto.With(metrics)
	return &Closer{
		queries: db.New(pool), announce: announce, log: log, passedOver: map[int64]time.Time{},
		closed: with.NewCounter(prometheus.CounterOpts{Name: "martelo_auctions_closed_total", Help: "Auctions this node closed."}),
		failed: with.NewCounter(prometheus.CounterOpts{Name: "martelo_auctions_close_failures_total", Help: "Auctions this node could not close."}),
	}
}

// Run closes and opens what is due at once, and again whenever the next auction is due, until ctx ends. PostgreSQL may come and go.
func (c *Closer) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if err := c.Turn(ctx); err != nil && ctx.Err() == nil {
			c.log.Warn("closing: turn failed", "error", err)
		}
		timer.Reset(c.untilNext(ctx))
	}
}

// Turn opens and closes everything that is due now.
func (c *Closer) Turn(ctx context.Context) error {
	if err := c.openDue(ctx); err != nil {
		return err
	}
	return c.closeDue(ctx)
}

func (c *Closer) openDue(ctx context.Context) error {
	for {
		turn, cancel := context.WithTimeout(ctx, turnWithin)
		rows, err := c.queries.AuctionOpenDue(turn, setMax)
		cancel()
		if err != nil {
			return err
		}
		for _, row := range rows {
			c.announce(live.Update{State: row.Auction.State()})
		}
		if len(rows) < setMax {
			return nil
		}
	}
}

func (c *Closer) closeDue(ctx context.Context) error {
	for {
		turn, cancel := context.WithTimeout(ctx, turnWithin)
		rows, err := c.queries.AuctionCloseDue(turn, db.AuctionCloseDueParams{PassedOver: c.passOver(), RowLimit: setMax})
		cancel()
		if err != nil && ctx.Err() == nil && !unavailable(err) {
			if err := c.closeOneByOne(ctx, err); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		states := make([]auction.State, len(rows))
		for i, row := range rows {
			states[i] = row.Auction.State()
		}
		c.tell(states)
		if len(rows) < setMax {
			return nil
		}
	}
}

// closeOneByOne closes what is due in single steps after a set would not close, and passes over those that refuse.
func (c *Closer) closeOneByOne(ctx context.Context, cause error) error {
	ctx, cancel := context.WithTimeout(ctx, turnWithin)
	defer cancel()
	c.log.Error("closing: a set would not close, trying one by one", "error", cause)
	ids, err := c.queries.AuctionDueIDs(ctx, db.AuctionDueIDsParams{PassedOver: c.passOver(), RowLimit: setMax})
	if err != nil {
		return err
	}
	for _, id := range ids {
		rows, err := c.queries.AuctionCloseOne(ctx, id)
		if err != nil && (ctx.Err() != nil || unavailable(err)) {
			return err
		}
		if err != nil {
			c.failed.Inc()
			c.passedOver[id] = time.Now().Add(passOverFor)
			c.log.Error("closing: an auction cannot close", "auctionId", id, "error", err)
			continue
		}
		for _, row := range rows {
			c.tell([]auction.State{row.Auction.State()})
		}
	}
	return nil
}

// passOver lists the auctions that refused to close lately. How long they are left alone is this process's own affair.
func (c *Closer) passOver() []int64 {
	ids := make([]int64, 0, len(c.passedOver))
	for id, until := range c.passedOver {
		if time.Now().After(until) {
			delete(c.passedOver, id)
			continue
		}
		ids = append(ids, id)
	}
	return ids
}

func (c *Closer) tell(closed []auction.State) {
	c.closed.Add(float64(len(closed)))
	for _, s := range closed {
		c.announce(live.Update{State: s})
	}
}

// untilNext is how long to sleep: until the next auction is due by the database's clock, within bounds.
func (c *Closer) untilNext(ctx context.Context) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, turnWithin)
	defer cancel()
	wait, err := c.queries.AuctionNextDue(ctx, wakeEvery.Milliseconds())
	if err != nil {
		return wakeEvery
	}
	return min(wakeEvery, max(wakeSoonest, time.Duration(wait)*time.Millisecond))
}

func unavailable(err error) bool { return errors.Is(db.Unavailable(err), auction.ErrUnavailable) }

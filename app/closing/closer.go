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
	"martelo/app/loop"
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
	announce   func(auction.Update)
	log        *slog.Logger
	opener     *loop.Loop
	closer     *loop.Loop
	closed     prometheus.Counter
	failed     prometheus.Counter
	unopened   prometheus.Counter
	passedOver map[int64]time.Time // auctions that could not open or close, with when to try them again
}

// New makes a closer. Announce is called after each commit and must not block.
func New(pool *pgxpool.Pool, announce func(auction.Update), log *slog.Logger, metrics prometheus.Registerer) *Closer {
	with := promauto.With(metrics)
	return &Closer{
		queries: db.New(pool), announce: announce, log: log, passedOver: map[int64]time.Time{},
		opener: loop.New("opener", log, metrics), closer: loop.New("closer", log, metrics),
		closed: with.NewCounter(prometheus.CounterOpts{
			Name: "martelo_auctions_closed_total",
			Help: "Auctions this node closed.",
		}),
		failed: with.NewCounter(prometheus.CounterOpts{
			Name: "martelo_auctions_close_failures_total",
			Help: "Times this node could not close an auction whose end had come.",
		}),
		unopened: with.NewCounter(prometheus.CounterOpts{
			Name: "martelo_auctions_open_failures_total",
			Help: "Times this node could not open an auction whose start had come.",
		}),
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
		_ = c.Turn(ctx) // it has been told, and the next turn is soon
		timer.Reset(c.untilNext(ctx))
	}
}

// Turn opens and closes everything that is due now. Neither waits for the other's success.
func (c *Closer) Turn(ctx context.Context) error {
	return errors.Join(c.opener.Turn(ctx, c.openDue), c.closer.Turn(ctx, c.closeDue))
}

func (c *Closer) openDue(ctx context.Context) error {
	return c.inSets(ctx, work{
		doing: "open", failed: c.unopened,
		set: func(ctx context.Context) ([]db.Auction, error) {
			rows, err := c.queries.AuctionOpenDue(ctx, db.AuctionOpenDueParams{PassedOver: c.passOver(), RowLimit: setMax})
			return auctions(rows, func(row db.AuctionOpenDueRow) db.Auction { return row.Auction }), err
		},
		ids: func(ctx context.Context) ([]int64, error) {
			return c.queries.AuctionOpenDueIDs(ctx, db.AuctionOpenDueIDsParams{PassedOver: c.passOver(), RowLimit: setMax})
		},
		one: func(ctx context.Context, id int64) ([]db.Auction, error) {
			rows, err := c.queries.AuctionOpenOne(ctx, id)
			return auctions(rows, func(row db.AuctionOpenOneRow) db.Auction { return row.Auction }), err
		},
		done: func(int) {},
	})
}

func (c *Closer) closeDue(ctx context.Context) error {
	return c.inSets(ctx, work{
		doing: "close", failed: c.failed,
		set: func(ctx context.Context) ([]db.Auction, error) {
			rows, err := c.queries.AuctionCloseDue(ctx, db.AuctionCloseDueParams{PassedOver: c.passOver(), RowLimit: setMax})
			return auctions(rows, func(row db.AuctionCloseDueRow) db.Auction { return row.Auction }), err
		},
		ids: func(ctx context.Context) ([]int64, error) {
			return c.queries.AuctionDueIDs(ctx, db.AuctionDueIDsParams{PassedOver: c.passOver(), RowLimit: setMax})
		},
		one: func(ctx context.Context, id int64) ([]db.Auction, error) {
			rows, err := c.queries.AuctionCloseOne(ctx, id)
			return auctions(rows, func(row db.AuctionCloseOneRow) db.Auction { return row.Auction }), err
		},
		done: func(n int) { c.closed.Add(float64(n)) },
	})
}

// work is what opening and closing do differently: what is due is done in sets, or named and done
// one by one.
type work struct {
	doing  string
	failed prometheus.Counter
	set    func(context.Context) ([]db.Auction, error)
	ids    func(context.Context) ([]int64, error)
	one    func(context.Context, int64) ([]db.Auction, error)
	done   func(n int)
}

func auctions[Row any](rows []Row, of func(Row) db.Auction) []db.Auction {
	found := make([]db.Auction, len(rows))
	for i, row := range rows {
		found[i] = of(row)
	}
	return found
}

func (c *Closer) inSets(ctx context.Context, w work) error {
	for {
		turn, cancel := context.WithTimeout(ctx, turnWithin)
		rows, err := w.set(turn)
		cancel()
		if err != nil && ctx.Err() == nil && db.IsBadRow(err) {
			return c.oneByOne(ctx, w)
		}
		if err != nil {
			return err
		}
		if err := c.tell(w, rows); err != nil {
			return err
		}
		if len(rows) < setMax {
			return nil
		}
	}
}

// oneByOne does what is due in single steps after a set was refused, and passes over those that
// refuse. Each step has a time limit of its own: what was done stays done, and the next turn goes
// on.
func (c *Closer) oneByOne(ctx context.Context, w work) error {
	within, cancel := context.WithTimeout(ctx, turnWithin)
	ids, err := w.ids(within)
	cancel()
	if err != nil {
		return err
	}
	var failed error
	for _, id := range ids {
		within, cancel := context.WithTimeout(ctx, turnWithin)
		rows, err := w.one(within, id)
		cancel()
		if err != nil && !db.IsBadRow(err) {
			return err
		}
		if err != nil {
			w.failed.Inc()
			if _, known := c.passedOver[id]; !known {
				c.log.Error("closing: an auction cannot "+w.doing, "auctionId", id, "error", err)
			}
			c.passedOver[id] = time.Now().Add(passOverFor)
			continue
		}
		failed = errors.Join(failed, c.tell(w, rows))
	}
	return failed
}

// tell announces what is done. Nothing about one auction keeps the others from being announced.
func (c *Closer) tell(w work, rows []db.Auction) error {
	w.done(len(rows))
	var failed error
	for _, row := range rows {
		delete(c.passedOver, row.ID)
		failed = errors.Join(failed, loop.Safely(func() error {
			c.announce(auction.Update{State: row.State()})
			return nil
		}))
	}
	return failed
}

// passOver lists the auctions that refused lately. How long they are left alone is this process's
// own affair.
func (c *Closer) passOver() []int64 {
	ids := make([]int64, 0, len(c.passedOver))
	for id, until := range c.passedOver {
		if time.Now().Before(until) {
			ids = append(ids, id)
		}
	}
	return ids
}

// untilNext is how long to sleep: until the next auction is due by the database's clock, within bounds.
func (c *Closer) untilNext(ctx context.Context) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, turnWithin)
	defer cancel()
	wait, err := c.queries.AuctionNextDue(ctx, db.AuctionNextDueParams{
		OtherwiseMilliseconds: wakeEvery.Milliseconds(), PassedOver: c.passOver(),
	})
	if err != nil {
		return wakeEvery
	}
	return min(wakeEvery, max(wakeSoonest, time.Duration(wait)*time.Millisecond))
}

package auctioneer

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"martelo/app/auction"
	"martelo/app/loop"
	"martelo/db"
)

// Closing is bookkeeping: from its end on an auction takes no bid, whether it has been closed or
// not.

const (
	// setMax is how many auctions one statement closes or opens: large enough that 100,000 take
	// seconds, small enough that a bid never waits long for a row the closer holds.
	setMax = 500
	// wakeEvery is the longest sleep: an auction created meanwhile, or one that another node had
	// locked, waits no longer.
	wakeEvery = time.Second
	// wakeSoonest is the shortest sleep, so that rows locked by others are not asked for in a spin.
	wakeSoonest = 20 * time.Millisecond
	// turnWithin bounds one statement.
	turnWithin = 8 * time.Second
	// passOverFor is how long an auction that cannot close is left alone before it is tried again.
	passOverFor = time.Minute
)

// closer is what opening and closing remember from turn to turn.
type closer struct {
	closing, closingHot *loop.Loop // what runs the turns
	openTurns           *loop.Loop
	closeTurns          *loop.Loop
	hotTurns            *loop.Loop
	closed              prometheus.Counter
	failed              prometheus.Counter
	unopened            prometheus.Counter
	passedOver          map[int64]time.Time // auctions that could not open or close, with when to try them again
}

func newCloser(o Options) closer {
	with := promauto.With(o.Metrics)
	return closer{
		passedOver: map[int64]time.Time{},
		closing:    loop.New("closing", o.Log, o.Metrics),
		closingHot: loop.New("closing hot", o.Log, o.Metrics),
		openTurns:  loop.New("opener", o.Log, o.Metrics),
		closeTurns: loop.New("closer", o.Log, o.Metrics),
		hotTurns:   loop.New("hot closer", o.Log, o.Metrics),
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

// closeStandard closes and opens what is due at once, and again whenever the next auction is due,
// until ctx ends.
func (a *Auctioneer) closeStandard(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		_ = a.Due(ctx) // it has been told, and the next turn is soon
		timer.Reset(a.untilNext(ctx))
	}
}

// Due opens and closes every auction of the standard lane that is due now. Neither waits for the
// other's success.
func (a *Auctioneer) Due(ctx context.Context) error {
	return errors.Join(a.closer.openTurns.Turn(ctx, a.openDue), a.closer.closeTurns.Turn(ctx, a.closeDue))
}

func (a *Auctioneer) openDue(ctx context.Context) error {
	return a.inSets(ctx, work{
		doing: "open", failed: a.closer.unopened,
		set: func(ctx context.Context) ([]db.Auction, error) {
			rows, err := db.New(a.pool).AuctionOpenDue(
				ctx, db.AuctionOpenDueParams{PassedOver: a.closer.passOver(), RowLimit: setMax},
			)
			return auctions(rows, func(row db.AuctionOpenDueRow) db.Auction { return row.Auction }), err
		},
		ids: func(ctx context.Context) ([]int64, error) {
			return db.New(a.pool).AuctionOpenDueIDs(
				ctx, db.AuctionOpenDueIDsParams{PassedOver: a.closer.passOver(), RowLimit: setMax},
			)
		},
		one: func(ctx context.Context, id int64) ([]db.Auction, error) {
			rows, err := db.New(a.pool).AuctionOpenOne(ctx, id)
			return auctions(rows, func(row db.AuctionOpenOneRow) db.Auction { return row.Auction }), err
		},
		done: func(int) {},
	})
}

func (a *Auctioneer) closeDue(ctx context.Context) error {
	return a.inSets(ctx, work{
		doing: "close", failed: a.closer.failed,
		set: func(ctx context.Context) ([]db.Auction, error) {
			rows, err := db.New(a.pool).AuctionCloseDue(
				ctx, db.AuctionCloseDueParams{PassedOver: a.closer.passOver(), RowLimit: setMax},
			)
			return auctions(rows, func(row db.AuctionCloseDueRow) db.Auction { return row.Auction }), err
		},
		ids: func(ctx context.Context) ([]int64, error) {
			return db.New(a.pool).AuctionDueIDs(
				ctx, db.AuctionDueIDsParams{PassedOver: a.closer.passOver(), RowLimit: setMax},
			)
		},
		one: func(ctx context.Context, id int64) ([]db.Auction, error) {
			rows, err := db.New(a.pool).AuctionCloseOne(ctx, id)
			return auctions(rows, func(row db.AuctionCloseOneRow) db.Auction { return row.Auction }), err
		},
		done: func(n int) { a.closer.closed.Add(float64(n)) },
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

func (a *Auctioneer) inSets(ctx context.Context, w work) error {
	for {
		turn, cancel := context.WithTimeout(ctx, turnWithin)
		rows, err := w.set(turn)
		cancel()
		if err != nil && ctx.Err() == nil && db.IsBadRow(err) {
			return a.oneByOne(ctx, w)
		}
		if err != nil {
			return err
		}
		if err := a.tellAll(w, rows); err != nil {
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
func (a *Auctioneer) oneByOne(ctx context.Context, w work) error {
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
			if _, known := a.closer.passedOver[id]; !known {
				a.log.Error("auctioneer: an auction cannot "+w.doing, "auctionId", id, "error", err)
			}
			a.closer.passedOver[id] = time.Now().Add(passOverFor)
			continue
		}
		failed = errors.Join(failed, a.tellAll(w, rows))
	}
	return failed
}

// tellAll announces what is done. Nothing about one auction keeps the others from being announced.
func (a *Auctioneer) tellAll(w work, rows []db.Auction) error {
	w.done(len(rows))
	var failed error
	for _, row := range rows {
		delete(a.closer.passedOver, row.ID)
		failed = errors.Join(failed, loop.Safely(func() error {
			a.tell(auction.Update{State: row.State()})
			return nil
		}))
	}
	return failed
}

// passOver lists the auctions that refused lately. How long they are left alone is this process's
// own affair.
func (c *closer) passOver() []int64 {
	ids := make([]int64, 0, len(c.passedOver))
	for id, until := range c.passedOver {
		if time.Now().Before(until) {
			ids = append(ids, id)
		}
	}
	return ids
}

// untilNext is how long to sleep: until the next auction is due by the database's clock, within
// bounds.
func (a *Auctioneer) untilNext(ctx context.Context) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, turnWithin)
	defer cancel()
	wait, err := db.New(a.pool).AuctionNextDue(ctx, db.AuctionNextDueParams{
		OtherwiseMilliseconds: wakeEvery.Milliseconds(), PassedOver: a.closer.passOver(),
	})
	if err != nil {
		return wakeEvery
	}
	return min(wakeEvery, max(wakeSoonest, time.Duration(wait)*time.Millisecond))
}

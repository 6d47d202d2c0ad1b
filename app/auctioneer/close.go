package auctioneer

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"martelo/app/auction"
	"martelo/app/loop"
	"martelo/db"
)

// Closing is bookkeeping: from its end on an auction takes no bid, whether it has been closed or
// not.

const (
	// setMax is how many auctions one transaction closes or opens: large enough that 100,000 take
	// seconds, small enough that a bid never waits long for a row the closer holds.
	setMax = 500
	// wakeEvery is the longest sleep: an auction created meanwhile, or one that another node had
	// locked, waits no longer.
	wakeEvery = time.Second
	// restTimes is how many times as long as the look for the next auction the closer rests after
	// it. The look reads all that are being extended. A house with very many of them closes a
	// moment later, and the look takes no more than a sixth of the time.
	restTimes = 5
	// wakeSoonest is the shortest sleep, so that rows locked by others are not asked for in a spin.
	wakeSoonest = 20 * time.Millisecond
	// turnWithin bounds one transaction.
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
		doing: "open", decide: auction.State.OpenAt, failed: a.closer.unopened, done: func(int) {},
		due: func(ctx context.Context, q *db.Queries) ([]db.Auction, error) {
			return q.AuctionsToOpen(ctx, db.AuctionsToOpenParams{PassedOver: a.closer.passOver(), RowLimit: setMax})
		},
		ids: func(ctx context.Context, q *db.Queries) ([]int64, error) {
			return q.AuctionsToOpenIDs(
				ctx, db.AuctionsToOpenIDsParams{PassedOver: a.closer.passOver(), RowLimit: setMax},
			)
		},
		write: func(ctx context.Context, q *db.Queries, ids, versions []int64, _ time.Time) ([]int64, error) {
			return q.AuctionsOpen(ctx, db.AuctionsOpenParams{Ids: ids, Versions: versions})
		},
	})
}

func (a *Auctioneer) closeDue(ctx context.Context) error {
	return a.inSets(ctx, work{
		doing: "close", decide: closeStandardAt, failed: a.closer.failed,
		done: func(n int) { a.closer.closed.Add(float64(n)) },
		due: func(ctx context.Context, q *db.Queries) ([]db.Auction, error) {
			return q.AuctionsDue(ctx, db.AuctionsDueParams{PassedOver: a.closer.passOver(), RowLimit: setMax})
		},
		ids: func(ctx context.Context, q *db.Queries) ([]int64, error) {
			return q.AuctionsDueIDs(ctx, db.AuctionsDueIDsParams{PassedOver: a.closer.passOver(), RowLimit: setMax})
		},
		write: func(ctx context.Context, q *db.Queries, ids, versions []int64, now time.Time) ([]int64, error) {
			return q.AuctionsClose(ctx, db.AuctionsCloseParams{Ids: ids, Versions: versions, ClosedAt: &now})
		},
	})
}

// closeStandardAt closes what PostgreSQL decides alone. An auction that was moved to the hot lane
// since it was named must be ended in Redis first.
func closeStandardAt(s auction.State, now time.Time) (auction.State, bool) {
	if s.Lane != auction.Standard {
		return s, false
	}
	return s.Close(now)
}

// work is what opening and closing do differently.
type work struct {
	doing  string
	due    func(context.Context, *db.Queries) ([]db.Auction, error) // locks a set of what is due
	ids    func(context.Context, *db.Queries) ([]int64, error)      // names it
	decide func(auction.State, time.Time) (auction.State, bool)
	write  func(ctx context.Context, q *db.Queries, ids, versions []int64, now time.Time) (written []int64, err error)
	failed prometheus.Counter
	done   func(n int)
}

// inSets does what is due, set by set, until nothing is left.
func (a *Auctioneer) inSets(ctx context.Context, w work) error {
	for {
		s, err := a.turn(ctx, w, w.due)
		if err != nil && ctx.Err() == nil && db.IsBadRow(err) {
			return a.oneByOne(ctx, w)
		}
		if err != nil {
			return err
		}
		if err := a.tellAll(w, s.written); err != nil {
			return err
		}
		if s.locked < setMax || len(s.written) == 0 {
			return nil
		}
	}
}

// set is what a turn has locked and what became of it.
type set struct {
	locked  int
	written []auction.State
}

// turn locks auctions, reads the clock after that, asks the rulebook about each of them, and writes
// what it says, in one transaction. What cannot be decided is passed over and keeps no other
// waiting.
func (a *Auctioneer) turn(
	ctx context.Context, w work, lock func(context.Context, *db.Queries) ([]db.Auction, error),
) (s set, err error) {
	ctx, cancel := context.WithTimeout(ctx, turnWithin)
	defer cancel()
	var undecided map[int64]error
	err = db.InTx(ctx, a.pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		rows, err := lock(ctx, q)
		if s.locked = len(rows); err != nil || len(rows) == 0 {
			return err
		}
		now, err := q.Clock(ctx)
		if err != nil {
			return err
		}
		var decided map[int64]auction.State
		if decided, undecided = decideEach(rows, w, now); len(decided) == 0 {
			return nil
		}
		ids := slices.Sorted(maps.Keys(decided))
		versions := make([]int64, len(ids))
		for i, id := range ids {
			versions[i] = decided[id].Version
		}
		written, err := w.write(ctx, q, ids, versions, now)
		for _, id := range written {
			s.written = append(s.written, decided[id])
		}
		return err
	})
	if err != nil {
		return set{}, err
	}
	for id, fault := range undecided {
		a.passOver(w, id, fault)
	}
	return s, nil
}

// decideEach returns what rows are to become, and of those about which there is no saying, why.
func decideEach(rows []db.Auction, w work, now time.Time) (map[int64]auction.State, map[int64]error) {
	decided, undecided := make(map[int64]auction.State, len(rows)), map[int64]error{}
	for _, row := range rows {
		if err := loop.Safely(func() error {
			if next, due := w.decide(row.State(), now); due {
				decided[row.ID] = next
			}
			return nil
		}); err != nil {
			undecided[row.ID] = err
		}
	}
	return decided, undecided
}

// oneByOne does what is due in single steps after a set was refused, and passes over those that
// refuse. Each step has a time limit of its own: what was done stays done, and the next turn goes
// on.
func (a *Auctioneer) oneByOne(ctx context.Context, w work) error {
	within, cancel := context.WithTimeout(ctx, turnWithin)
	ids, err := w.ids(within, db.New(a.pool))
	cancel()
	if err != nil {
		return err
	}
	var failed error
	for _, id := range ids {
		s, err := a.turn(ctx, w, func(ctx context.Context, q *db.Queries) ([]db.Auction, error) {
			row, err := q.AuctionLockIfFree(ctx, id)
			if db.IsNoRows(err) {
				return nil, nil // somebody else holds it
			}
			return []db.Auction{row}, err
		})
		if err != nil && !db.IsBadRow(err) {
			return err
		}
		if err != nil {
			a.passOver(w, id, err)
			continue
		}
		failed = errors.Join(failed, a.tellAll(w, s.written))
	}
	return failed
}

// passOver leaves an auction that cannot be opened or closed alone for a while.
func (a *Auctioneer) passOver(w work, id int64, err error) {
	w.failed.Inc()
	if _, known := a.closer.passedOver[id]; !known {
		a.log.Error("auctioneer: an auction cannot "+w.doing, "auctionId", id, "error", err)
	}
	a.closer.passedOver[id] = time.Now().Add(passOverFor)
}

// tellAll announces what is done. Nothing about one auction keeps the others from being announced.
func (a *Auctioneer) tellAll(w work, states []auction.State) error {
	w.done(len(states))
	var failed error
	for _, s := range states {
		delete(a.closer.passedOver, s.ID)
		failed = errors.Join(failed, loop.Safely(func() error {
			a.tell(auction.Update{State: s})
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
	began := time.Now()
	wait, err := db.New(a.pool).AuctionNextDue(ctx, db.AuctionNextDueParams{
		OtherwiseMilliseconds: wakeEvery.Milliseconds(), PassedOver: a.closer.passOver(),
	})
	if err != nil {
		return wakeEvery
	}
	return min(wakeEvery, max(wakeSoonest, restTimes*time.Since(began), time.Duration(wait)*time.Millisecond))
}

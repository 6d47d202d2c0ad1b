// Package listing keeps what lists are ordered by up to date. Each auction has a row of its own for
// that, so that a bid touches no index which a list wants.
//
// A status is in that row in the transaction that changes it: the statements that open and close
// many auctions write it, and a trigger does for all others. An end and a price that bids have
// moved follow here, within [Within], in batches. The order of a list may be that old; what a list
// shows is read from the auctions.
package listing

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"martelo/app/loop"
	"martelo/db"
)

const (
	// Within is how old the order of a list may be.
	Within = time.Second
	// followEvery is how often what bids have moved is written. It is far more often than the
	// promise asks for. Written in few large pieces, the listings of a busy house held a processor
	// for so long that bids noticed: their p99 was twice as high.
	followEvery = 50 * time.Millisecond
	// followMax is how many listings one statement writes: about a millisecond's work.
	followMax = 100
	// touchedMax bounds the auctions that wait to be written, to some 10 MB. What is beyond it is
	// found by the look at everything.
	touchedMax = 200_000
	// lookEvery and lookMax are how often, and at how many open auctions, it is looked for listings
	// that are behind: those that a node had still to write when it died. 100,000 are seen in under
	// a minute.
	lookEvery = 500 * time.Millisecond
	lookMax   = 1000
	// turnWithin bounds one statement.
	turnWithin = 3 * time.Second
	// leaveWithin bounds what a node that is told to stop still writes. It is short, because the
	// node must be gone in time.
	leaveWithin = 500 * time.Millisecond
)

// Follower brings listings up to date. Each node has one.
type Follower struct {
	queries *db.Queries
	follows *loop.Loop
	looks   *loop.Loop
	written prometheus.Counter

	mu      sync.Mutex
	touched map[int64]struct{}
}

// New makes a follower. Metrics may be nil.
func New(pool *pgxpool.Pool, log *slog.Logger, metrics prometheus.Registerer) *Follower {
	return &Follower{
		queries: db.New(pool), touched: map[int64]struct{}{},
		follows: loop.New("listings", log, metrics), looks: loop.New("listings behind", log, metrics),
		written: promauto.With(metrics).NewCounter(prometheus.CounterOpts{
			Name: "martelo_listings_followed_total", Help: "Listings this node has brought up to date.",
		}),
	}
}

// Touch says that bids have moved an auction, once that is committed. It never blocks. A nil
// follower does nothing.
func (f *Follower) Touch(auctionIDs ...int64) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range auctionIDs {
		if len(f.touched) < touchedMax {
			f.touched[id] = struct{}{}
		}
	}
}

// Run keeps listings up to date until ctx ends. PostgreSQL may be away at any time.
func (f *Follower) Run(ctx context.Context) {
	follow, look := time.NewTicker(followEvery), time.NewTicker(lookEvery)
	defer follow.Stop()
	defer look.Stop()
	after := int64(0)
	for {
		select {
		case <-ctx.Done():
			f.leave(ctx)
			return
		case <-follow.C:
			_ = f.follows.Turn(ctx, f.Follow) // it has been told, and what is not written is tried again
		case <-look.C:
			_ = f.looks.Turn(ctx, func(ctx context.Context) (err error) {
				after, err = f.Look(ctx, after)
				return err
			})
		}
	}
}

// leave writes what a node that is told to stop has still to write. What it does not write in time
// is found by the others.
func (f *Follower) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveWithin)
	defer cancel()
	_ = f.follows.Turn(ctx, f.Follow)
}

// Follow writes what is touched when it begins. What it could not write stays touched, but for a
// listing that PostgreSQL refuses: the look at everything tries that again, later.
func (f *Follower) Follow(ctx context.Context) error {
	ids := f.take()
	for len(ids) > 0 {
		some := ids[:min(len(ids), followMax)]
		left, err := f.write(ctx, some)
		if err != nil && db.IsBadRow(err) {
			left, err = f.oneByOne(ctx, some)
		}
		f.Touch(left...)
		ids = ids[len(some):]
		if err != nil {
			f.Touch(ids...)
			return db.Unavailable(err)
		}
	}
	return nil
}

// take takes what was touched, in the order of the ids.
func (f *Follower) take() []int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	ids := slices.Sorted(maps.Keys(f.touched))
	clear(f.touched)
	return ids
}

// write brings listings up to date, in one statement. It returns those that are left: somebody else
// held them, or nothing was written.
func (f *Follower) write(ctx context.Context, ids []int64) (left []int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, turnWithin)
	defer cancel()
	seen, err := f.queries.ListingsFollow(ctx, ids)
	if err != nil {
		return ids, err
	}
	f.written.Add(float64(len(seen)))
	return slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return slices.Contains(seen, id) }), nil
}

// oneByOne is write for listings of which one is refused, so that it keeps no other from its place.
func (f *Follower) oneByOne(ctx context.Context, ids []int64) (left []int64, err error) {
	for i, id := range ids {
		held, fault := f.write(ctx, []int64{id})
		switch {
		case fault == nil:
			left = append(left, held...)
		case db.IsBadRow(fault):
			err = fmt.Errorf("listing: auction %d: %w", id, fault)
		default:
			return append(left, ids[i:]...), fault
		}
	}
	return left, err
}

// Look looks at a stretch of the open auctions after an id for listings that are behind, has them
// brought up to date, and returns where the next stretch begins. A stretch that PostgreSQL refuses
// is left for the next time round.
func (f *Follower) Look(ctx context.Context, after int64) (next int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, turnWithin)
	defer cancel()
	found, err := f.queries.ListingsBehind(ctx, db.ListingsBehindParams{AfterID: after, RowLimit: lookMax})
	if err != nil {
		return after, db.Unavailable(err)
	}
	f.Touch(found.Behind...)
	if len(found.Missing) > 0 {
		err = f.queries.ListingsInsertMissing(ctx, found.Missing)
	}
	return found.LastID, db.Unavailable(err)
}

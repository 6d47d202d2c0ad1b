// Package listing keeps what lists are ordered by up to date. Each auction has a row of its own for
// that, so that a bid touches no index which a list wants.
//
// A status is in that row in the transaction that changes it, by a trigger. An end and a price that
// bids have moved follow here, within [Within], in batches. The order of a list may be that old;
// what a list shows is read from the auctions.
package listing

import (
	"context"
	"log/slog"
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
	// followEvery is how often what bids have moved is written. Many bids on an auction are one
	// write then. Twice within the promise, for a turn that fails.
	followEvery = 400 * time.Millisecond
	// followMax is how many listings one statement writes: a few milliseconds' work.
	followMax = 1000
	// touchedMax bounds the auctions that wait to be written, in some 10 MB. What is beyond it is
	// found by the look at everything.
	touchedMax = 200_000
	// lookEvery and lookMax are how often, and at how many open auctions, it is looked for listings
	// that are behind: those that a node had still to write when it died. 100,000 are seen in under
	// a minute.
	lookEvery = 500 * time.Millisecond
	lookMax   = 1000
	// turnWithin bounds one statement.
	turnWithin = 3 * time.Second
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

// Follow writes what was touched. What it could not write stays touched.
func (f *Follower) Follow(ctx context.Context) error {
	for ids := f.take(); len(ids) > 0; ids = f.take() {
		left, err := f.write(ctx, ids)
		f.Touch(left...)
		if err != nil {
			return err
		}
		if len(left) > 0 {
			return nil // somebody holds them, for a moment
		}
	}
	return nil
}

// take takes up to followMax of what was touched.
func (f *Follower) take() []int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	var ids []int64
	for id := range f.touched {
		if len(ids) == followMax {
			break
		}
		ids = append(ids, id)
		delete(f.touched, id)
	}
	return ids
}

// write returns the auctions whose listings somebody else held, or all if nothing was written.
func (f *Follower) write(ctx context.Context, ids []int64) (left []int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, turnWithin)
	defer cancel()
	seen, err := f.queries.ListingsFollow(ctx, ids)
	if err != nil {
		return ids, db.Unavailable(err)
	}
	f.written.Add(float64(len(seen)))
	done := make(map[int64]bool, len(seen))
	for _, id := range seen {
		done[id] = true
	}
	for _, id := range ids {
		if !done[id] {
			left = append(left, id)
		}
	}
	return left, nil
}

// Look looks at a stretch of the open auctions after an id for listings that are behind, brings
// them up to date, and returns where the next stretch begins.
func (f *Follower) Look(ctx context.Context, after int64) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, turnWithin)
	defer cancel()
	found, err := f.queries.ListingsBehind(ctx, db.ListingsBehindParams{AfterID: after, RowLimit: lookMax})
	if err != nil {
		return after, db.Unavailable(err)
	}
	if len(found.Behind) == 0 {
		return found.LastID, nil
	}
	if err := f.queries.ListingsInsertMissing(ctx, found.Behind); err != nil {
		return after, db.Unavailable(err)
	}
	f.Touch(found.Behind...)
	return found.LastID, nil
}

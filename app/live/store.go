package live

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"martelo/app/auction"
	"martelo/app/hot"
	"martelo/app/loop"
	"martelo/db"
)

const (
	// askedMax is how many auctions one query asks about: some milliseconds' work. Larger queries
	// were no cheaper in all, and none holds anything up for long.
	askedMax = 1000
	// reconcileEvery is how often all watched auctions are compared with the database. Whatever is
	// lost on the other ways is found within this, a query and a tick: inside the two seconds that
	// are promised.
	reconcileEvery = time.Second
	// fetchWithin bounds one query, so that a PostgreSQL that hangs is asked again soon after it is
	// back.
	fetchWithin = time.Second
	// fetchAgain is the pause after a query failed.
	fetchAgain = 250 * time.Millisecond
)

// store asks PostgreSQL for states: for those who wait for a first one (load), about auctions in
// doubt (settle), and about all that is watched, over and over (reconcile). Each has a goroutine
// and so at most one connection.
type store struct {
	pool    *pgxpool.Pool
	queries *db.Queries
	hub     *Hub
	hot     *hot.Lane // nil: there is no hot lane

	waiting waiting

	mu      sync.Mutex
	doubted map[int64]bool // auctions to look at soon; true: also if the version has not moved
	doubts  chan struct{}
	away    bool // PostgreSQL; so that each change is logged once

	reconciler *loop.Loop
	unreadable *loop.Loop // rows that cannot be read; others are
}

func newStore(pool *pgxpool.Pool, h *Hub) *store {
	return &store{
		pool: pool, queries: db.New(pool), hub: h, waiting: waiting{work: make(chan struct{}, 1)},
		doubted: map[int64]bool{}, doubts: make(chan struct{}, 1),
		reconciler: loop.New("reconciler", h.log, h.registry),
		unreadable: loop.New("live rows", h.log, h.registry),
	}
}

// doubt has auctions looked at soon, because something may have been missed: whole, for one whose
// history has a gap, or only if the version has moved. It does not wait.
func (s *store) doubt(whole bool, ids ...int64) {
	s.mu.Lock()
	for _, id := range ids {
		s.doubted[id] = s.doubted[id] || whole
	}
	s.mu.Unlock()
	wake(s.doubts)
}

// settle looks at the auctions in doubt.
func (s *store) settle(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.doubts:
		}
		if s.settleNow(ctx) != nil && sleep(ctx, fetchAgain) {
			wake(s.doubts)
		}
	}
}

// settleNow looks at all that is in doubt. On failure what is left stays so.
func (s *store) settleNow(ctx context.Context) error {
	s.mu.Lock()
	var moved, whole []int64
	for id, all := range s.doubted {
		if all {
			whole = append(whole, id)
		} else {
			moved = append(moved, id)
		}
	}
	clear(s.doubted)
	s.mu.Unlock()
	return errors.Join(s.inParts(ctx, whole, true, s.freshen), s.inParts(ctx, moved, false, s.compare))
}

func (s *store) inParts(ctx context.Context, ids []int64, whole bool, look func(context.Context, []int64) error) error {
	for len(ids) > 0 {
		part := ids[:min(askedMax, len(ids))]
		if err := look(ctx, part); err != nil {
			s.doubt(whole, ids...)
			return err
		}
		ids = ids[len(part):]
	}
	return nil
}

// freshen takes in the newest states of watched auctions.
func (s *store) freshen(ctx context.Context, ids []int64) error {
	looks, err := s.fetch(ctx, ids, fetchWithin)
	for _, l := range looks {
		s.hub.learn(l)
	}
	return err
}

// compare asks how watched auctions stand, and for the states of those that stand otherwise than
// was known before.
func (s *store) compare(ctx context.Context, ids []int64) error {
	within, cancel := context.WithTimeout(ctx, fetchWithin)
	defer cancel()
	since := s.hub.numbers.Load()
	rows, err := s.queries.AuctionVersions(within, ids)
	s.note(within, err)
	if err != nil {
		return err
	}
	var otherwise []int64
	for _, row := range rows {
		t := s.hub.watched(row.ID)
		if t == nil {
			continue
		}
		differs, newer := t.differs(row, since)
		if differs {
			otherwise = append(otherwise, row.ID)
		}
		if newer {
			s.hub.metrics.found.Inc()
		}
	}
	if len(otherwise) == 0 {
		return nil
	}
	return s.freshen(ctx, otherwise)
}

// fetch reads states with their newest bids, both as of one moment.
func (s *store) fetch(ctx context.Context, ids []int64, within time.Duration) (looks []look, err error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	looks, err = s.readable(ctx, ids)
	s.note(ctx, err)
	return looks, err
}

// readable reads those of the auctions that can be read: many together, and in halves when one of
// them cannot, so that one bad row hides no other. An error that one row alone causes leaves that
// auction out.
func (s *store) readable(ctx context.Context, ids []int64) ([]look, error) {
	looks, err := s.read(ctx, ids)
	switch {
	case err == nil || !db.IsBadRow(err):
		return looks, err
	case len(ids) == 1:
		s.unreadable.Note(ctx, err)
		return nil, nil
	}
	half := len(ids) / 2
	looks, err = s.readable(ctx, ids[:half])
	if err != nil {
		return nil, err
	}
	more, err := s.readable(ctx, ids[half:])
	return append(looks, more...), err
}

func (s *store) read(ctx context.Context, ids []int64) (looks []look, err error) {
	began := look{since: s.hub.numbers.Load(), at: s.hub.clock.Now(), exact: true}
	var states []db.AuctionsLiveRow
	var bids []db.BidsLatestOfManyRow
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = pgx.BeginTxFunc(ctx, s.pool, snapshot, func(tx pgx.Tx) error {
		queries := db.New(tx)
		var err error
		if states, err = queries.AuctionsLive(ctx, ids); err != nil {
			return err
		}
		bids, err = queries.BidsLatestOfMany(
			ctx, db.BidsLatestOfManyParams{AuctionIds: ids, RowLimit: auction.RecentMax},
		)
		return err
	})
	if err != nil {
		return nil, err
	}
	byID := make(map[int64]*auction.Update, len(states))
	for _, row := range states {
		l := began
		l.Update = &auction.Update{State: row.Auction.State()}
		byID[l.State.ID] = l.Update
		looks = append(looks, l)
	}
	for _, row := range bids {
		if u := byID[row.Bid.AuctionID]; u != nil {
			u.Recent = append(u.Recent, row.Bid.Accepted(u.State.Currency))
		}
	}
	if s.hot != nil {
		s.overlay(ctx, states, looks)
	}
	return looks, nil
}

// overlay puts what the hot lane knows over what PostgreSQL has of hot auctions.
func (s *store) overlay(ctx context.Context, rows []db.AuctionsLiveRow, looks []look) {
	for i, row := range rows {
		l := &looks[i]
		if l.State.Lane != auction.Hot {
			continue
		}
		newest, recent, knows, exact := s.hot.Exact(ctx, row.Auction)
		if knows {
			l.State, l.Recent = newest, recent
		}
		l.epoch, l.exact = row.Auction.LaneEpoch, exact
	}
}

// note logs when PostgreSQL goes and when it comes back, and nothing in between.
func (s *store) note(ctx context.Context, err error) {
	if ctx.Err() == context.Canceled {
		return
	}
	s.mu.Lock()
	changed := s.away != (err != nil)
	s.away = err != nil
	s.mu.Unlock()
	if !changed {
		return
	}
	s.hub.metrics.away("postgresql", err != nil)
	if err != nil {
		s.hub.log.Warn("live: PostgreSQL is away, viewers keep the last states", "error", err)
	} else {
		s.hub.log.Info("live: PostgreSQL is back")
	}
}

// reconcile compares the watched auctions with the database, over and over: it finds what no
// announcement told of, because Redis was away, a message was lost, or a node died between its
// commit and its announcement.
func (s *store) reconcile(ctx context.Context) {
	for {
		started := time.Now()
		ids := s.hub.watchedIDs()
		slices.Sort(ids) // neighbours lie together on disk
		parts := (len(ids) + askedMax - 1) / askedMax
		asked := 0
		for part := range slices.Chunk(ids, askedMax) {
			if err := s.compare(ctx, part); err != nil {
				s.reconciler.Note(ctx, err)
				break // the next round asks about all again
			}
			s.reconciler.Note(ctx, nil)
			asked++
			// The queries of a round are spread over its time: a database likes many small loads
			// better than one large one.
			if !sleep(ctx, time.Until(started.Add(s.hub.timing.reconcile*time.Duration(asked)/time.Duration(parts)))) {
				return
			}
		}
		if !sleep(ctx, time.Until(started.Add(s.hub.timing.reconcile))) {
			return
		}
	}
}

package hot

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"martelo/app/auction"
	"martelo/app/refusal"
	"martelo/db"
)

const (
	// loadBidsMax is the longest log that is loaded, since every key in it must be known to Redis:
	// a few seconds' work and some 30 MB. An auction with more goes on in the standard lane.
	loadBidsMax = 100_000
	// loadChunk is how many bids are loaded at a time: what a busy Redis writes to a slow disk well
	// within redisWithin.
	loadChunk = 500
	// loadLonger is how much longer than a batch loading may take: those whose bids wait may hear
	// that they must ask again, and find it done.
	loadLonger = time.Second
	// loadedFor is how long what was loaded stays in Redis until somebody decides by it: the
	// transaction that loaded it may have failed, and then nobody ever will.
	loadedFor = time.Hour
	// termsMax bounds the auctions whose terms a node keeps at hand; beyond it all are asked for
	// again.
	termsMax = 10_000
)

// terms are what this node knows of a hot auction that bids do not move, and the epoch it was
// committed under. The embedded state's moving parts are as old as the terms.
type terms struct {
	auction.State
	epoch int64
}

func termsFor(row db.Auction) *terms {
	t := &terms{State: row.State(), epoch: row.LaneEpoch}
	t.Status, t.Lane = auction.Open, auction.Hot
	return t
}

// termsOf returns an auction's terms under its present epoch, with its state in Redis.
func (l *Lane) termsOf(ctx context.Context, id int64) (*terms, error) {
	v := l.checked.Load()
	l.mu.Lock()
	t := l.terms[id]
	l.mu.Unlock()
	if t != nil && v != nil && (v.weakness == (refusal.WeakRedis{}) || l.allowWeaker) {
		return t, nil
	}
	if deadline, has := ctx.Deadline(); has {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(context.WithoutCancel(ctx), deadline.Add(loadLonger))
		defer cancel()
	}
	t, err := l.load(ctx, id)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.terms) >= termsMax {
		clear(l.terms)
	}
	l.terms[id] = t
	return t, nil
}

// forget lets go of terms that have proved old.
func (l *Lane) forget(id int64, old *terms) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.terms[id] == old {
		delete(l.terms, id)
	}
}

// load finds an auction in Redis under its row's epoch, or brings it there from PostgreSQL under a
// fresh one. All of it happens under the row's lock, so that one node does it and the others find
// it done.
func (l *Lane) load(ctx context.Context, id int64) (*terms, error) {
	var t *terms
	var stale names
	err := db.InTx(ctx, l.pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		row, err := lockHot(ctx, q, id)
		if err != nil {
			return err
		}
		if t, err = l.loaded(ctx, row); err != nil {
			return err
		}
		if t != nil {
			// The commit of whoever loaded it may have failed and be visible all the same. Nothing
			// is decided under an epoch that PostgreSQL might still lose.
			_, err = q.StandbyWait(ctx)
			return err
		}
		t, stale, err = l.bring(ctx, q, row)
		return err
	})
	if err != nil {
		return nil, StoreFault(err)
	}
	if stale.state != "" {
		l.discard(ctx, stale)
	}
	if t == nil {
		return nil, ErrStandard
	}
	return t, nil
}

// lockHot locks an auction that Redis decides, or may decide from now on.
func lockHot(ctx context.Context, q *db.Queries, id int64) (db.Auction, error) {
	row, err := q.AuctionLock(ctx, id)
	if db.IsNoRows(err) {
		return row, auction.ErrNotFound
	}
	if err != nil {
		return row, err
	}
	s := row.State()
	if s.Lane != auction.Hot || s.Status.Over() {
		return row, ErrStandard
	}
	now, err := q.Clock(ctx)
	if err == nil && s.Status == auction.Scheduled && now.Before(s.StartAt) {
		err = ErrStandard // who says that it has not started is the standard lane
	}
	return row, err
}

// loaded returns the terms of an auction that Redis holds under its row's epoch, and nil if it must
// be loaded.
func (l *Lane) loaded(ctx context.Context, row db.Auction) (*terms, error) {
	if _, err := l.check(ctx); err != nil {
		return nil, err
	}
	if refused := l.Offered(ctx); refused != nil {
		return nil, fmt.Errorf("%w: %w", auction.ErrUnavailable, refusedLane{refused})
	}
	values, err := l.client.HMGet(ctx, l.namesOf(row.ID, row.LaneEpoch).state, "epoch", "status").Result()
	if err != nil {
		return nil, away(err)
	}
	if values[0] == nil || row.Status != string(auction.Open) {
		return nil, nil
	}
	switch values[1] {
	case "OPEN", "CLOSED":
		return termsFor(row), nil
	case "FROZEN":
		return nil, nil // whoever froze it had the row's lock, which we have now
	}
	return nil, errStopped
}

// refusedLane keeps a sentence that is meant for who opens an auction from being told to who bids.
type refusedLane struct{ error }

// bring loads an auction under a fresh epoch, after it has settled what Redis may still hold under
// the last. It returns the names that are done with, and nil for an auction with too long a log,
// which it moves to the standard lane.
func (l *Lane) bring(ctx context.Context, q *db.Queries, row db.Auction) (t *terms, stale names, err error) {
	stale = l.namesOf(row.ID, row.LaneEpoch)
	state := row.State()
	if row.Status == string(auction.Open) {
		w, err := l.withdraw(ctx, q, row, freezeHold)
		if err != nil {
			return nil, stale, err
		}
		state = w.State
	}
	if state.BidCount > loadBidsMax {
		l.log.Warn(
			"hot: the log is too long to be loaded into Redis, the auction goes on in the standard lane", "auctionId",
			row.ID, "bids", state.BidCount,
		)
		_, err = q.AuctionMoveStandard(ctx, row.ID)
		return nil, stale, err
	}
	if row, err = q.AuctionMoveHot(ctx, row.ID); err != nil {
		return nil, stale, err
	}
	if err := l.fill(ctx, q, row); err != nil {
		return nil, stale, err
	}
	l.metrics.loads.Inc()
	l.log.Info("hot: loaded", "auctionId", row.ID, "epoch", row.LaneEpoch, "bids", row.BidCount)
	return termsFor(row), stale, nil
}

// fill writes an auction into Redis under its row's epoch, the state last. Nobody reads it before
// the row is committed.
func (l *Lane) fill(ctx context.Context, q *db.Queries, row db.Auction) error {
	n, currency := l.namesOf(row.ID, row.LaneEpoch), row.State().Currency
	for after := int64(0); ; {
		rows, err := q.BidsAfter(ctx, db.BidsAfterParams{AuctionID: row.ID, AfterSeq: after, RowLimit: loadChunk})
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			break
		}
		fields := make([]any, 0, 2*len(rows))
		for _, bid := range db.AcceptedMany(rows, currency) {
			fields = append(fields, bid.Key.String(), bidText(bid))
			after = bid.Seq
		}
		if err := l.client.HSet(ctx, n.keys, fields...).Err(); err != nil {
			return away(err)
		}
	}
	paddles, err := q.BidPaddlesAll(ctx, row.ID)
	if err != nil {
		return err
	}
	recent, err := q.BidsLatest(ctx, db.BidsLatestParams{AuctionID: row.ID, RowLimit: auction.RecentMax})
	if err != nil {
		return err
	}
	return l.fillRest(ctx, n, row, paddles, db.AcceptedMany(recent, currency))
}

func (l *Lane) fillRest(
	ctx context.Context, n names, row db.Auction, paddles []db.BidPaddlesAllRow, recent []auction.Bid,
) error {
	pipeline := l.client.TxPipeline()
	for start := 0; start < len(paddles); start += loadChunk {
		var fields []any
		for _, p := range paddles[start:min(len(paddles), start+loadChunk)] {
			fields = append(fields, p.BidderID, p.Paddle)
		}
		pipeline.HSet(ctx, n.bidder, fields...)
	}
	for _, bid := range recent {
		pipeline.RPush(ctx, n.recent, bidText(bid)+":"+bid.Key.String())
	}
	pipeline.HSet(ctx, n.state, stateFields(row.State(), row.LaneEpoch)...)
	for _, name := range n.all() {
		pipeline.Expire(ctx, name, loadedFor)
	}
	_, err := pipeline.Exec(ctx)
	return away(err)
}

// discard removes what is done with, once PostgreSQL has all of it. If it cannot, some memory of
// Redis stays taken.
func (l *Lane) discard(ctx context.Context, n names) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), redisWithin)
	defer cancel()
	if err := l.client.Unlink(ctx, n.all()...).Err(); err != nil {
		l.log.Warn("hot: keys of an epoch that is over stay in Redis", "keys", n.all(), "error", err)
	}
}

// newToken names a freeze.
func newToken() string { return uuid.NewString() }

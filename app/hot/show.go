package hot

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"martelo/app/auction"
	"martelo/db"
)

const (
	// showWithin bounds asking Redis for what is only shown: PostgreSQL's state is never more than
	// a moment older.
	showWithin = 300 * time.Millisecond
	// quietFor is how long Redis is left alone after it did not answer.
	quietFor = time.Second
)

// Show returns a hot auction's exact state with its newest bids, given its row as PostgreSQL has
// it. Of an auction that is not hot, or when Redis does not know better or does not answer, it
// returns false.
func (l *Lane) Show(ctx context.Context, row db.Auction) (newest auction.State, recent []auction.Bid, knows bool) {
	newest, recent, knows, _ = l.Exact(ctx, row)
	return newest, recent, knows
}

// Exact is Show, and tells whether that is all there is to know: the state returned, or where Redis
// knows nothing of the auction the row itself. It is not while Redis does not answer, or answers
// nonsense.
func (l *Lane) Exact(
	ctx context.Context, row db.Auction,
) (newest auction.State, recent []auction.Bid, knows, exact bool) {
	if row.Lane != string(auction.Hot) || row.LaneEpoch == 0 || row.Status != string(auction.Open) {
		return newest, nil, false, true
	}
	if l.house.Ready() != nil || time.Now().UnixNano() < l.quiet.Load() {
		return newest, nil, false, false
	}
	ctx, cancel := context.WithTimeout(ctx, showWithin)
	defer cancel()
	t, n := termsFor(row), l.namesOf(row.ID, row.LaneEpoch)
	pipeline := l.client.TxPipeline()
	fields := pipeline.HMGet(ctx, n.state, movingFields...)
	bids := pipeline.LRange(ctx, n.recent, 0, auction.RecentMax-1)
	if _, err := pipeline.Exec(ctx); err != nil {
		// A refusal is about this auction's keys. Silence is about all of them.
		if refused := redis.Error(nil); !errors.As(err, &refused) && !errors.Is(ctx.Err(), context.Canceled) {
			l.quiet.Store(time.Now().Add(quietFor).UnixNano())
		}
		return newest, nil, false, false
	}
	if fields.Val()[0] == nil {
		return newest, nil, false, true
	}
	state, err := readState(fields.Val(), t)
	if err != nil {
		l.metrics.garbled.Inc()
		return newest, nil, false, false
	}
	if state.Version < row.Version {
		return newest, nil, false, false
	}
	for _, text := range bids.Val() {
		bid, err := readBid(text, t)
		if err != nil {
			l.metrics.garbled.Inc()
			return newest, nil, false, false
		}
		recent = append(recent, bid)
	}
	return state, recent, true, true
}

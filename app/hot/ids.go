package hot

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"

	"martelo/db"
)

// reserveCount is how many bid ids a node draws at once: a question to PostgreSQL every few
// thousand bids, and a little for a gap when the node ends.
const reserveCount = 4096

// ids are bid ids that this node has drawn from the log and not used: a bid has its id before the
// log has the bid.
type ids struct {
	pool *pgxpool.Pool
	busy chan struct{} // holds one: who draws; nobody waits for it longer than his bids may wait
	mu   sync.Mutex
	left []int64
}

func newIDs(pool *pgxpool.Pool) *ids { return &ids{pool: pool, busy: make(chan struct{}, 1)} }

// take gives out n ids; those of refused bids come back.
func (s *ids) take(ctx context.Context, n int) ([]int64, error) {
	if taken := s.fromLeft(n); taken != nil {
		return taken, nil
	}
	select {
	case s.busy <- struct{}{}:
		defer func() { <-s.busy }()
	case <-ctx.Done():
		return nil, away(ctx.Err())
	}
	if taken := s.fromLeft(n); taken != nil {
		return taken, nil
	}
	drawn, err := db.New(s.pool).BidIDsReserve(ctx, reserveCount)
	if err != nil {
		return nil, db.Unavailable(err)
	}
	s.giveBack(drawn[n:])
	return drawn[:n:n], nil
}

// fromLeft returns nil if fewer than n are left.
func (s *ids) fromLeft(n int) []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.left) < n {
		return nil
	}
	taken := s.left[:n:n]
	s.left = s.left[n:]
	return taken
}

func (s *ids) giveBack(unused []int64) {
	s.mu.Lock()
	s.left = append(s.left, unused...)
	s.mu.Unlock()
}

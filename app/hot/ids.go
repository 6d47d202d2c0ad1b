package hot

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"

	"martelo/db"
)

// reserveCount is how many bid ids a node draws at once: a question to PostgreSQL every few thousand bids, and a little for a gap when the
// node ends.
const reserveCount = 4096

// ids are bid ids that this node has drawn from the log and not used: a bid has its id before the log has the bid.
type ids struct {
	pool *pgxpool.Pool
	mu   sync.Mutex
	left []int64
}

// take gives out n ids; those of refused bids come back.
func (s *ids) take(ctx context.Context, n int) ([]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.left) < n {
		drawn, err := db.New(s.pool).BidIDsReserve(ctx, reserveCount)
		if err != nil {
			return nil, db.Unavailable(err)
		}
		s.left = append(s.left, drawn...)
	}
	taken := s.left[:n:n]
	s.left = s.left[n:]
	return taken, nil
}

func (s *ids) giveBack(unused []int64) {
	s.mu.Lock()
	s.left = append(s.left, unused...)
	s.mu.Unlock()
}

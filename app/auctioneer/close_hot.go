package auctioneer

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"martelo/app/auction"
	"martelo/app/hot"
	"martelo/app/loop"
	"martelo/db"
)

const (
	// closeHotEvery is how often hot auctions whose end has come are looked for.
	closeHotEvery = 200 * time.Millisecond
	// closeHotWithin bounds closing one of them.
	closeHotWithin = 2500 * time.Millisecond
	// closeHotMax is how many of them a look finds. A house with more closes the rest after it.
	closeHotMax = 1000
	// closersMax is how many hot auctions a node closes at a time.
	closersMax = 4
)

// closeHot closes the hot auctions whose end has come, again and again until ctx ends.
func (a *Auctioneer) closeHot(ctx context.Context) {
	ticker := time.NewTicker(closeHotEvery)
	defer ticker.Stop()
	for {
		_ = a.closer.hotTurns.Turn(ctx, a.DueHot) // it has been told, and the next turn is soon
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// DueHot closes every auction of the hot lane whose end has come: in Redis first, so that nobody
// decides any more, then in PostgreSQL, with everything that Redis had decided, once and with its
// event. An auction whose closing fails does not keep the others from theirs.
func (a *Auctioneer) DueHot(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, closeHotWithin)
	ids, err := db.New(a.pool).AuctionHotDue(within, closeHotMax)
	cancel()
	if err != nil {
		return db.Unavailable(err)
	}
	var closing sync.WaitGroup
	var mu sync.Mutex
	var failed error // one of them: when Redis is away they are all the same
	free := make(chan struct{}, closersMax)
	for _, id := range ids {
		free <- struct{}{}
		closing.Go(func() {
			defer func() { <-free }()
			if err := loop.Safely(func() error { return a.closeOneHot(ctx, id) }); err != nil {
				mu.Lock()
				failed = fmt.Errorf("auction %d: %w", id, err)
				mu.Unlock()
			}
		})
	}
	closing.Wait()
	return failed
}

func (a *Auctioneer) closeOneHot(ctx context.Context, id int64) error {
	ctx, cancel := context.WithTimeout(ctx, closeHotWithin)
	defer cancel()
	var closed auction.State
	var withdrawn *hot.Withdrawn
	err := db.InTx(ctx, a.pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		row, err := q.AuctionLockIfFree(ctx, id)
		if db.IsNoRows(err) {
			return nil // another node closes it
		}
		if err != nil || row.Lane != string(auction.Hot) || row.Status != string(auction.Open) {
			return err
		}
		if withdrawn, err = a.hot.WithdrawDue(ctx, q, row); withdrawn == nil {
			return err
		}
		now, err := q.Clock(ctx)
		if err != nil {
			return err
		}
		ended := withdrawn.State
		if !withdrawn.Now.IsZero() && now.Before(ended.EndAt) {
			now = ended.EndAt // Redis's clock has the word about the end, and PostgreSQL's may be behind
		}
		var due bool
		if closed, due = ended.Close(now); !due {
			withdrawn = nil // Redis knew nothing of it, and nobody can load it while its row is locked
			return nil
		}
		return writeHotClose(ctx, q, row, closed)
	})
	if err != nil || withdrawn == nil {
		return hot.StoreFault(err)
	}
	withdrawn.Done(ctx)
	a.tell(auction.Update{State: closed})
	return nil
}

func writeHotClose(ctx context.Context, q *db.Queries, row db.Auction, closed auction.State) error {
	_, err := q.AuctionHotClose(ctx, db.AuctionHotCloseParams{
		ID: row.ID, LaneEpoch: row.LaneEpoch, ClosedAt: &closed.ClosedAt, Version: closed.Version,
	})
	return err
}

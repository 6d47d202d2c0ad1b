package auctioneer

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"martelo/app/auction"
	"martelo/app/hot"
	"martelo/db"
)

// changed is what a change to an auction has come to, and what Redis holds of it no more.
type changed struct {
	state     auction.State
	recent    []auction.Bid
	withdrawn *hot.Withdrawn
}

// Cancel ends an auction without a winner. It returns auction.ErrNotFound, the rulebook's refusals,
// or an error that wraps auction.ErrUnavailable.
func (a *Auctioneer) Cancel(ctx context.Context, id int64, by auction.Actor) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	var c changed
	err := db.InTx(ctx, a.pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		row, now, err := lockOne(ctx, q, id)
		if err != nil {
			return err
		}
		c, err = a.cancel(ctx, q, row, by, now)
		return err
	})
	if err != nil {
		return refusalOr(err)
	}
	a.done(ctx, c)
	return nil
}

// cancel is the middle of Cancel. Redis stops deciding first, and what it has decided counts.
func (a *Auctioneer) cancel(
	ctx context.Context, q *db.Queries, row db.Auction, by auction.Actor, now time.Time,
) (c changed, err error) {
	before := row.State()
	if before.Lane == auction.Hot && before.Status == auction.Open {
		// Before anybody's bids have to wait.
		if _, refusal := before.Cancel(by, now); errors.Is(refusal, auction.ErrForbidden) {
			return c, refusal
		}
		if c.withdrawn, err = a.withdraw(ctx, q, row, false); err != nil {
			return c, err
		}
		if before = c.withdrawn.State; !c.withdrawn.Now.IsZero() {
			now = c.withdrawn.Now
		}
	}
	if c.state, err = before.Cancel(by, now); err != nil {
		if c.withdrawn != nil {
			c.withdrawn.LetGo(ctx) // this error rolls the transaction back
		}
		return c, err
	}
	if c.recent, err = latest(ctx, q, before); err != nil {
		return c, err
	}
	arg := db.AuctionCancelParams{ID: row.ID, ClosedAt: &c.state.ClosedAt, Version: before.Version}
	if n, err := q.AuctionCancel(ctx, arg); err != nil || n == 0 {
		return c, cmp.Or(err, errStale)
	}
	return c, nil
}

// done is for after the commit of a change.
func (a *Auctioneer) done(ctx context.Context, c changed) {
	if c.withdrawn != nil {
		c.withdrawn.Done(ctx)
	}
	a.tell(auction.Update{State: c.state, Recent: c.recent})
}

// lockOne locks an auction's row and reads the clock after that. It returns auction.ErrNotFound.
func lockOne(ctx context.Context, q *db.Queries, id int64) (row db.Auction, now time.Time, err error) {
	row, err = q.AuctionLock(ctx, id)
	if db.IsNoRows(err) {
		return row, now, auction.ErrNotFound
	}
	if err != nil {
		return row, now, err
	}
	now, err = q.Clock(ctx)
	return row, now, err
}

// latest reads the newest bids of an auction, newest first.
func latest(ctx context.Context, q *db.Queries, s auction.State) ([]auction.Bid, error) {
	rows, err := q.BidsLatest(ctx, db.BidsLatestParams{AuctionID: s.ID, RowLimit: auction.RecentMax})
	return db.AcceptedMany(rows, s.Currency), err
}

// refusalOr passes refusals on as they are and reads the rest as PostgreSQL's errors.
func refusalOr(err error) error {
	var tooMany *TooManyError
	if auction.IsRefusal(err) || errors.As(err, &tooMany) {
		return err
	}
	return db.Unavailable(err)
}

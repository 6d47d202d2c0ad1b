package auctioneer

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"martelo/app/auction"
	"martelo/app/hot"
	"martelo/app/refusal"
	"martelo/db"
)

// errNoLane says that this node cannot touch a hot auction.
var errNoLane = errors.New("auctioneer: the auction is in the hot lane, which this node does not have")

// OffersHot tells whether sellers may choose the hot lane now.
func (a *Auctioneer) OffersHot(ctx context.Context) bool { return a.offered(ctx) == nil }

// offered returns nil if auctions may be put into the hot lane, otherwise a *refusal.FieldError,
// or an error that wraps auction.ErrUnavailable while Redis cannot be asked.
func (a *Auctioneer) offered(ctx context.Context) error {
	if a.hot == nil {
		return refusal.Of("lane", refusal.NotOffered)
	}
	return a.hot.Offered(ctx)
}

// withdraw takes a hot auction out of Redis's hands, within the transaction that holds its row's
// lock.
func (a *Auctioneer) withdraw(
	ctx context.Context, q *db.Queries, row db.Auction, force bool,
) (*hot.Withdrawn, error) {
	if a.hot == nil {
		return nil, errors.Join(auction.ErrUnavailable, errNoLane)
	}
	return a.hot.Withdraw(ctx, q, row, force)
}

// Move puts an auction into a lane, for its seller or an admin, while bids are coming. None is lost
// and none decided twice. Moving it where it is does nothing. It returns auction.ErrNotFound, the
// rulebook's refusals, a *refusal.FieldError if the house does not offer the lane, a
// [*TooManyError], or an error that wraps auction.ErrUnavailable.
//
// An admin's move to the standard lane also frees an auction that was stopped because Redis and the
// rulebook differed. What is disputed is set aside.
func (a *Auctioneer) Move(ctx context.Context, id int64, by auction.Actor, to auction.Lane) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	var c changed
	err := db.InTx(ctx, a.pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		row, now, err := lockOne(ctx, q, id)
		if err != nil {
			return err
		}
		if err := row.State().MayMove(by, to, now); err != nil {
			return err
		}
		if row.Lane == string(to) {
			_, err := q.StandbyWait(ctx) // an earlier move is confirmed, whose commit may have failed
			return err
		}
		if err := a.mayMove(ctx, q, row, by, to); err != nil {
			return err
		}
		if to == auction.Hot {
			c, err = a.toHot(ctx, q, row)
		} else {
			c, err = a.toStandard(ctx, q, row, by.Admin)
		}
		return err
	})
	if err != nil {
		return refusalOr(err)
	}
	if c.state.ID != 0 {
		a.log.Info("auctioneer: moved to another lane", "auctionId", id, "lane", to)
		a.done(ctx, c)
	}
	return nil
}

func (a *Auctioneer) toHot(ctx context.Context, q *db.Queries, row db.Auction) (c changed, err error) {
	if err := a.offered(ctx); err != nil {
		return c, err
	}
	if err := a.hot.Reach(ctx); err != nil {
		return c, err // its bids would stand still
	}
	if c.recent, err = latest(ctx, q, row.State()); err != nil {
		return c, err
	}
	row, err = q.AuctionMoveHot(ctx, row.ID)
	c.state = row.State()
	return c, err
}

func (a *Auctioneer) toStandard(
	ctx context.Context, q *db.Queries, row db.Auction, force bool,
) (c changed, err error) {
	if row.Status == string(auction.Open) {
		if c.withdrawn, err = a.withdraw(ctx, q, row, force); err != nil {
			return c, err
		}
		if c.recent, err = latest(ctx, q, c.withdrawn.State); err != nil {
			return c, err
		}
	}
	row, err = q.AuctionMoveStandard(ctx, row.ID)
	c.state = row.State()
	return c, err
}

// promote puts an auction that gets many bids into the hot lane, on the house's own account.
func (a *Auctioneer) promote(ctx context.Context, id int64) {
	err := a.Move(ctx, id, auction.Actor{Admin: true}, auction.Hot)
	var refused *refusal.FieldError
	if err != nil && !errors.As(err, &refused) && !auction.IsRefusal(err) {
		a.log.Warn("auctioneer: an auction was not promoted", "auctionId", id, "error", err)
	}
}

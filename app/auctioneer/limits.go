package auctioneer

import (
	"context"
	"time"

	"martelo/app/auction"
	"martelo/app/refusal"
	"martelo/db"
)

// opensAgainAfter is when somebody who has opened too many auctions may open the next: the span
// that they are counted over.
const opensAgainAfter = time.Minute

// SellerLimits bound what one seller asks of the house. A zero field is no limit.
type SellerLimits struct {
	OpensPerMinute int // auctions opened within a minute
	Lasting        int // auctions that are open or to come
	Hot            int // of them in the hot lane, each of which every node looks after
}

// TooManyError refuses what a seller does too often, for as long as Wait.
type TooManyError struct {
	Wait   time.Duration
	Reason refusal.Reason
}

func (e *TooManyError) Error() string { return "auctioneer: too many: " + string(e.Reason.Code()) }

// mayOpen returns nil, a *TooManyError, a *refusal.FieldError for a lane that the seller has too
// many auctions in, or an error that wraps auction.ErrUnavailable. Several that are opened at one
// moment may pass a limit by a few.
func (a *Auctioneer) mayOpen(ctx context.Context, q *db.Queries, sellerID int64, lane auction.Lane) error {
	has, err := a.countOf(ctx, q, sellerID)
	switch {
	case err != nil:
		return db.Unavailable(err)
	case over(has.Lately, a.sellers.OpensPerMinute):
		return &TooManyError{opensAgainAfter, refusal.OpenedLately{Count: has.Lately}}
	case over(has.Lasting, a.sellers.Lasting):
		return &TooManyError{opensAgainAfter, refusal.TooManyOpen{Count: has.Lasting}}
	}
	return a.mayBeHot(has, lane)
}

func (a *Auctioneer) mayBeHot(has db.AuctionsOfSellerCountRow, lane auction.Lane) error {
	if lane != auction.Hot || !over(has.Hot, a.sellers.Hot) {
		return nil
	}
	return refusal.Of("lane", refusal.TooMany{Count: has.Hot})
}

// mayMove returns nil, a *TooManyError, a *refusal.FieldError, or PostgreSQL's error. The house
// itself and its admins move at will.
func (a *Auctioneer) mayMove(
	ctx context.Context, q *db.Queries, row db.Auction, by auction.Actor, to auction.Lane,
) error {
	if by.Admin {
		return nil
	}
	if to == auction.Hot {
		has, err := a.countOf(ctx, q, row.SellerID)
		if err != nil {
			return err
		}
		if err := a.mayBeHot(has, to); err != nil {
			return err
		}
	}
	if a.limits == nil {
		return nil
	}
	if wait := a.limits.Move(ctx, row.ID); wait > 0 {
		return &TooManyError{wait, refusal.MovedLately}
	}
	return nil
}

func (a *Auctioneer) countOf(ctx context.Context, q *db.Queries, sellerID int64) (db.AuctionsOfSellerCountRow, error) {
	look := max(a.sellers.OpensPerMinute, a.sellers.Lasting)
	if look == 0 && a.sellers.Hot == 0 {
		return db.AuctionsOfSellerCountRow{}, nil
	}
	return q.AuctionsOfSellerCount(
		ctx, db.AuctionsOfSellerCountParams{SellerID: sellerID, RowLimit: int32(max(look, a.sellers.Hot))},
	)
}

func over(count int64, limit int) bool { return limit > 0 && count >= int64(limit) }

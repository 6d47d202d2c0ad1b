package auctioneer

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"martelo/app/auction"
	"martelo/db"
)

// answerWithin bounds opening, cancelling or moving an auction, waiting for its lock included.
const answerWithin = 6 * time.Second

// Open opens the auction a draft describes and returns its id. A draft sent again with the same key
// by the same seller returns the auction it opened first. It returns refusal.FieldErrors,
// ErrKeyReused, a [*TooManyError], or an error that wraps auction.ErrUnavailable.
func (a *Auctioneer) Open(ctx context.Context, draft auction.Draft) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	q := db.New(a.pool)
	if draft.Key != uuid.Nil { // sent again, it opens nothing, whatever time it is now
		id, err := a.confirmed(ctx, draft)
		if err == nil || !db.IsNoRows(err) {
			return id, db.Unavailable(err)
		}
	}
	now, err := q.Clock(ctx)
	if err != nil {
		return 0, db.Unavailable(err)
	}
	s, err := draft.Open(now)
	if err != nil {
		return 0, err
	}
	if s.Lane == auction.Hot {
		if err := a.offered(ctx); err != nil {
			return 0, err
		}
	}
	if err := a.mayOpen(ctx, q, draft.SellerID, s.Lane); err != nil {
		return 0, err
	}
	id, err := q.AuctionInsert(ctx, insertParams(draft, s))
	if db.IsNoRows(err) && draft.Key != uuid.Nil {
		id, err = a.confirmed(ctx, draft) // a copy was faster
	}
	return id, db.Unavailable(err)
}

// confirmed is what opened returns, once it is as durable as a commit makes it: the first opening
// may have failed there.
func (a *Auctioneer) confirmed(ctx context.Context, draft auction.Draft) (id int64, err error) {
	err = db.InTx(ctx, a.pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		if id, err = a.opened(ctx, q, draft); err != nil {
			return err
		}
		_, err = q.StandbyWait(ctx)
		return err
	})
	return id, err
}

func insertParams(draft auction.Draft, s auction.State) db.AuctionInsertParams {
	arg := db.AuctionInsertParams{
		SellerID: s.SellerID, Currency: s.Currency.Code(), CurrencyDigits: int16(s.Currency.Digits()),
		StartPrice: s.StartPrice.Minor(), MinIncrement: s.MinIncrement.Minor(),
		Status: string(s.Status), Lane: string(s.Lane),
		SoftCloseWindowSeconds: int32(s.SoftClose.Window / time.Second),
		SoftCloseExtendSeconds: int32(s.SoftClose.Extend / time.Second),
		StartAt:                s.StartAt, EndAt: s.EndAt,
		Title: draft.CleanTitle(), Description: draft.CleanDescription(),
	}
	if draft.Key != uuid.Nil {
		arg.RequestID = &draft.Key
	}
	return arg
}

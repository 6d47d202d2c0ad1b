// Package selling is where a seller opens an auction, and where an auction is cancelled or moved to another lane.
package selling

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"martelo/app/auction"
	"martelo/app/hot"
	"martelo/db"
)

// answerWithin bounds opening or cancelling an auction, waiting for its lock included.
const answerWithin = 6 * time.Second

// Desk opens and cancels auctions.
type Desk struct {
	pool     *pgxpool.Pool
	announce func(auction.Update)
	log      *slog.Logger
	hot      *hot.Lane // nil: this house has no hot lane
	limits   Limits
}

// WithHot gives the desk a hot lane, before its first use.
func (d *Desk) WithHot(lane *hot.Lane) *Desk {
	d.hot = lane
	return d
}

// New makes a desk. Announce is called after each commit and must not block.
func New(pool *pgxpool.Pool, announce func(auction.Update), log *slog.Logger) *Desk {
	return &Desk{pool: pool, announce: announce, log: log}
}

// Open opens the auction a draft describes and returns its id. A draft sent again with the same key by the same seller returns
// the auction it opened first. It returns auction.FieldErrors, ErrKeyReused, a *TooManyError, or an error that wraps auction.ErrUnavailable.
func (d *Desk) Open(ctx context.Context, draft auction.Draft) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	q := db.New(d.pool)
	if draft.Key != uuid.Nil { // sent again, it opens nothing, whatever time it is now
		id, err := d.confirmed(ctx, draft)
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
		if err := d.offered(ctx); err != nil {
			return 0, err
		}
	}
	if err := d.mayOpen(ctx, q, draft.SellerID, s.Lane); err != nil {
		return 0, err
	}
	id, err := q.AuctionInsert(ctx, insertParams(draft, s))
	if db.IsNoRows(err) && draft.Key != uuid.Nil {
		id, err = d.confirmed(ctx, draft) // a copy was faster
	}
	return id, db.Unavailable(err)
}

// confirmed is what opened returns, once it is as durable as a commit makes it: the first opening may have failed there.
func (d *Desk) confirmed(ctx context.Context, draft auction.Draft) (id int64, err error) {
	err = db.InTx(ctx, d.pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		if id, err = d.opened(ctx, q, draft); err != nil {
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
		SoftCloseWindowSeconds: int32(s.SoftClose.Window / time.Second), SoftCloseExtendSeconds: int32(s.SoftClose.Extend / time.Second),
		StartAt: s.StartAt, EndAt: s.EndAt, Title: draft.CleanTitle(), Description: draft.CleanDescription(),
	}
	if draft.Key != uuid.Nil {
		arg.RequestID = &draft.Key
	}
	return arg
}

// Cancel ends an auction without a winner. It returns auction.ErrNotFound, the rulebook's refusals, or an error that wraps
// auction.ErrUnavailable.
func (d *Desk) Cancel(ctx context.Context, id int64, by auction.Actor) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	var cancelled auction.State
	var recent []auction.Bid
	var withdrawn *hot.Withdrawn
	err := db.InTx(ctx, d.pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		row, err := q.AuctionLock(ctx, id)
		if db.IsNoRows(err) {
			return auction.ErrNotFound
		}
		if err != nil {
			return err
		}
		now, err := q.Clock(ctx)
		if err != nil {
			return err
		}
		before := row.State()
		if before.Lane == auction.Hot && before.Status == auction.Open {
			cancelled, recent, withdrawn, err = d.cancelHot(ctx, q, row, by)
			return err
		}
		if cancelled, err = before.Cancel(by, now); err != nil {
			return err
		}
		latest, err := q.BidsLatest(ctx, db.BidsLatestParams{AuctionID: id, RowLimit: auction.RecentMax})
		if err != nil {
			return err
		}
		recent = db.AcceptedMany(latest, before.Currency)
		_, err = q.AuctionCancel(ctx, db.AuctionCancelParams{ID: id, ClosedAt: &cancelled.ClosedAt, Version: before.Version})
		return err
	})
	if err != nil {
		return refusalOr(err)
	}
	if withdrawn != nil {
		withdrawn.Done(ctx)
	}
	d.announce(auction.Update{State: cancelled, Recent: recent})
	return nil
}

// refusalOr passes the rulebook's refusals on as they are and reads the rest as PostgreSQL's.
func refusalOr(err error) error {
	var tooMany *TooManyError
	if auction.IsRefusal(err) || errors.As(err, &tooMany) {
		return err
	}
	return db.Unavailable(err)
}

package selling

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"martelo/app/auction"
	"martelo/app/hot"
	"martelo/db"
)

// offered tells whether the house takes auctions into the hot lane: nil, an *auction.FieldError, or an error that wraps auction.ErrUnavailable.
func (d *Desk) offered(ctx context.Context) error {
	if d.hot == nil {
		return &auction.FieldError{Field: "lane", Reason: "This house does not offer the hot lane. The standard lane takes any rate of bids."}
	}
	return d.hot.Offered(ctx)
}

// errNoLane says that this desk cannot touch a hot auction.
var errNoLane = errors.New("selling: the auction is in the hot lane, which this desk does not have")

// withdraw takes a hot auction out of Redis's hands within the transaction that holds its row's lock.
func (d *Desk) withdraw(ctx context.Context, q *db.Queries, row db.Auction, force bool) (*hot.Withdrawn, error) {
	if d.hot == nil {
		return nil, errors.Join(auction.ErrUnavailable, errNoLane)
	}
	return d.hot.Withdraw(ctx, q, row, force)
}

// cancelHot is the middle of Cancel for an auction that Redis decides.
func (d *Desk) cancelHot(ctx context.Context, q *db.Queries, row db.Auction, by auction.Actor) (auction.State, []auction.Bid, *hot.Withdrawn, error) {
	if !by.Admin && by.UserID != row.SellerID {
		return auction.State{}, nil, nil, auction.ErrForbidden // before anybody's bids have to wait
	}
	w, err := d.withdraw(ctx, q, row, false)
	if err != nil {
		return auction.State{}, nil, nil, err
	}
	now := w.Now
	if now.IsZero() {
		if now, err = q.Clock(ctx); err != nil {
			return auction.State{}, nil, nil, err
		}
	}
	cancelled, err := w.State.Cancel(by, now)
	if err != nil {
		w.LetGo(ctx) // the transaction is rolled back for sure: this error ends it
		return cancelled, nil, nil, err
	}
	_, err = q.AuctionCancel(ctx, db.AuctionCancelParams{ID: row.ID, ClosedAt: &cancelled.ClosedAt, Version: w.State.Version})
	return cancelled, w.Recent, w, err
}

// Move puts an auction into a lane, for its seller or an admin, while bids are coming: none is lost and none decided twice. Moving it where it
// is does nothing. It returns auction.ErrNotFound, the rulebook's refusals, an *auction.FieldError if the house does not offer the lane, a *TooManyError, or
// an error that wraps auction.ErrUnavailable. An admin's move to the standard lane also frees an auction that was stopped because Redis and
// the rulebook differed; what is disputed is set aside.
func (d *Desk) Move(ctx context.Context, id int64, by auction.Actor, to auction.Lane) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	var moved auction.State
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
		if err := row.State().MayMove(by, to, now); err != nil {
			return err
		}
		if row.Lane == string(to) {
			_, err := q.StandbyWait(ctx) // an earlier move is confirmed, whose commit may have failed
			return err
		}
		if err := d.mayMove(ctx, q, row, by, to); err != nil {
			return err
		}
		if to == auction.Hot {
			moved, recent, err = d.toHot(ctx, q, row)
		} else {
			moved, recent, withdrawn, err = d.toStandard(ctx, q, row, by.Admin)
		}
		return err
	})
	if err != nil {
		return refusalOr(err)
	}
	if withdrawn != nil {
		withdrawn.Done(ctx)
	}
	if moved.ID != 0 {
		d.log.Info("selling: moved to another lane", "auctionId", id, "lane", to)
		d.announce(auction.Update{State: moved, Recent: recent})
	}
	return nil
}

func (d *Desk) toHot(ctx context.Context, q *db.Queries, row db.Auction) (auction.State, []auction.Bid, error) {
	if err := d.offered(ctx); err != nil {
		return auction.State{}, nil, err
	}
	if err := d.hot.Reach(ctx); err != nil {
		return auction.State{}, nil, err // its bids would stand still
	}
	latest, err := q.BidsLatest(ctx, db.BidsLatestParams{AuctionID: row.ID, RowLimit: auction.RecentMax})
	if err != nil {
		return auction.State{}, nil, err
	}
	if row, err = q.AuctionMoveHot(ctx, row.ID); err != nil {
		return auction.State{}, nil, err
	}
	s := row.State()
	return s, db.AcceptedMany(latest, s.Currency), nil
}

func (d *Desk) toStandard(ctx context.Context, q *db.Queries, row db.Auction, force bool) (auction.State, []auction.Bid, *hot.Withdrawn, error) {
	var recent []auction.Bid
	var withdrawn *hot.Withdrawn
	if row.Status == string(auction.Open) {
		var err error
		if withdrawn, err = d.withdraw(ctx, q, row, force); err != nil {
			return auction.State{}, nil, nil, err
		}
		recent = withdrawn.Recent
	}
	row, err := q.AuctionMoveStandard(ctx, row.ID)
	if err != nil {
		return auction.State{}, nil, nil, err
	}
	return row.State(), recent, withdrawn, nil
}

// Promote puts an auction that gets many bids into the hot lane, on the house's own account.
func (d *Desk) Promote(ctx context.Context, id int64) {
	err := d.Move(ctx, id, auction.Actor{Admin: true}, auction.Hot)
	var refused *auction.FieldError
	if err != nil && !errors.As(err, &refused) && !auction.IsRefusal(err) {
		d.log.Warn("selling: an auction was not promoted", "auctionId", id, "error", err)
	}
}

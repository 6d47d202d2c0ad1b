package auctioneer_test

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"martelo/app/auction"
	"martelo/app/money"
	"martelo/db"
)

// published is the design of the article this house surpasses, statement for statement: find by
// key, conditional update whose clock is read before the wait for the row, insert. The promises'
// tests run on it to prove that they can fail.
type published struct {
	pool *pgxpool.Pool
}

var errPublishedRefused = errors.New("published: session closed or price not high enough")

func (p published) Place(ctx context.Context, r auction.Request) (auction.Bid, bool, error) {
	usd := money.MustCurrency("USD")
	amount, err := r.Amount.In(usd)
	if err != nil {
		return auction.Bid{}, false, err
	}
	var row db.Bid
	replayed := false
	err = pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		earlier, err := tx.Query(
			ctx, `SELECT * FROM bids WHERE auction_id = $1 AND request_id = $2`, r.AuctionID, r.Key,
		)
		if err != nil {
			return err
		}
		if row, err = pgx.CollectExactlyOneRow(earlier, pgx.RowToStructByPos[db.Bid]); err == nil {
			replayed = true
			return nil
		}
		tag, err := tx.Exec(ctx, `
			UPDATE auctions SET current_price = $1, leader_id = $2, leader_paddle = 1, bid_count = bid_count + 1,
			bidder_count = 1, version = version + 1,
			    end_at = CASE WHEN end_at - clock_timestamp() < make_interval(secs => soft_close_window_seconds)
			                  THEN clock_timestamp() + make_interval(secs => soft_close_extend_seconds) ELSE end_at END
			WHERE id = $3 AND status = 'OPEN' AND end_at > clock_timestamp() AND $1 >= current_price + min_increment`,
			amount.Minor(), r.BidderID, r.AuctionID)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return errPublishedRefused
		}
		logged, err := tx.Query(ctx, `
			INSERT INTO bids (auction_id, seq, bidder_id, paddle, amount, request_id, accepted_at)
			SELECT id, bid_count, $2, 1, $3, $4, clock_timestamp() FROM auctions WHERE id = $1 RETURNING *`,
			r.AuctionID, r.BidderID, amount.Minor(), r.Key)
		if err != nil {
			return err
		}
		row, err = pgx.CollectExactlyOneRow(logged, pgx.RowToStructByPos[db.Bid])
		return err
	})
	if err != nil {
		return auction.Bid{}, false, err
	}
	return row.Accepted(usd), replayed, nil
}

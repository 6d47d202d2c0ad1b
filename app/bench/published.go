package bench

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"martelo/app/auction"
	"martelo/app/money"
	"martelo/db"
)

// published is what the desk is measured against: the design that is commonly published for this, statement for statement, and the same
// in a single statement. Both write to the house's own tables, with its constraints and indexes. They are not right (the clock is
// read before the wait for the row, and twins of a request get different answers), and serve as a yardstick of speed only. Their
// SQL is not the house's and therefore not among its queries.
type published struct{ pool *pgxpool.Pool }

const publishedFind = `SELECT * FROM bids WHERE auction_id = $1 AND request_id = $2`

const publishedMove = `
	UPDATE auctions SET current_price = $1, leader_id = $2, leader_paddle = 1, bid_count = bid_count + 1, bidder_count = 1, version = version + 1,
	    end_at = CASE WHEN end_at - clock_timestamp() < make_interval(secs => soft_close_window_seconds)
	                  THEN clock_timestamp() + make_interval(secs => soft_close_extend_seconds) ELSE end_at END
	WHERE id = $3 AND status = 'OPEN' AND end_at > clock_timestamp() AND $1 >= current_price + min_increment
	RETURNING bid_count`

const publishedLog = `
	INSERT INTO bids (auction_id, seq, bidder_id, paddle, amount, request_id, accepted_at)
	VALUES ($1, $2, $3, 1, $4, $5, clock_timestamp()) RETURNING *`

const conditionalStatement = `
	WITH moved AS (
	    UPDATE auctions SET current_price = $1, leader_id = $2, leader_paddle = 1, bid_count = bid_count + 1, bidder_count = 1, version = version + 1
	    WHERE id = $3 AND status = 'OPEN' AND end_at > clock_timestamp() AND $1 >= current_price + min_increment
	    RETURNING id, bid_count)
	INSERT INTO bids (auction_id, seq, bidder_id, paddle, amount, request_id, accepted_at)
	SELECT id, bid_count, $2, 1, $1, $4, clock_timestamp() FROM moved RETURNING *`

// transaction finds the request by its key, moves the auction if the bid is high enough, writes the bid, and commits.
func (p *published) transaction(ctx context.Context, r auction.Request) (bid auction.Bid, replayed bool, err error) {
	amount, err := r.Amount.In(yardstick)
	if err != nil {
		return bid, false, err
	}
	var row db.Bid
	err = pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		row, err = first(tx.Query(ctx, publishedFind, r.AuctionID, r.Key))
		if replayed = err == nil; replayed || !db.IsNoRows(err) {
			return err
		}
		var seq int64
		err := tx.QueryRow(ctx, publishedMove, amount.Minor(), r.BidderID, r.AuctionID).Scan(&seq)
		if db.IsNoRows(err) {
			return &auction.TooLowError{} // or closed: it does not tell them apart
		}
		if err != nil {
			return err
		}
		row, err = first(tx.Query(ctx, publishedLog, r.AuctionID, seq, r.BidderID, amount.Minor(), r.Key))
		return err
	})
	return row.Accepted(yardstick), replayed, err
}

// statement does the same in one statement, and does not look for the key.
func (p *published) statement(ctx context.Context, r auction.Request) (auction.Bid, bool, error) {
	amount, err := r.Amount.In(yardstick)
	if err != nil {
		return auction.Bid{}, false, err
	}
	row, err := first(p.pool.Query(ctx, conditionalStatement, amount.Minor(), r.BidderID, r.AuctionID, r.Key))
	if db.IsNoRows(err) {
		err = &auction.TooLowError{}
	}
	return row.Accepted(yardstick), false, err
}

// yardstick is the currency of all auctions here.
var yardstick = money.MustCurrency("USD")

func first(rows pgx.Rows, err error) (db.Bid, error) {
	if err != nil {
		return db.Bid{}, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[db.Bid])
}

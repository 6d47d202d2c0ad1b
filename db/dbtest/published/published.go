// Package published is the design that is commonly published for auctions, statement for
// statement, and the same in a single statement. Tests of the house's promises run on it to show
// that they can fail, and the load tool measures the house against it.
//
// Both write to the house's own tables, with its constraints and indexes. They are not right: the
// clock is read before the wait for the row, and twins of a request get different answers. Their
// SQL is not the house's and therefore not among its queries.
package published

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"martelo/app/auction"
	"martelo/app/money"
	"martelo/db"
)

const findByKey = `SELECT * FROM bids WHERE auction_id = $1 AND request_id = $2`

const moveAuction = `
	UPDATE auctions SET current_price = $1, leader_id = $2, leader_paddle = 1, bid_count = bid_count + 1,
	    bidder_count = 1, version = version + 1,
	    end_at = CASE WHEN end_at - clock_timestamp() < make_interval(secs => soft_close_window_seconds)
	                  THEN clock_timestamp() + make_interval(secs => soft_close_extend_seconds) ELSE end_at END
	WHERE id = $3 AND status = 'OPEN' AND end_at > clock_timestamp() AND $1 >= current_price + min_increment
	RETURNING bid_count`

const writeBid = `
	INSERT INTO bids (auction_id, seq, bidder_id, paddle, amount, request_id, accepted_at)
	VALUES ($1, $2, $3, 1, $4, $5, clock_timestamp()) RETURNING *`

const moveAndWrite = `
	WITH moved AS (
	    UPDATE auctions SET current_price = $1, leader_id = $2, leader_paddle = 1, bid_count = bid_count + 1,
	        bidder_count = 1, version = version + 1
	    WHERE id = $3 AND status = 'OPEN' AND end_at > clock_timestamp() AND $1 >= current_price + min_increment
	    RETURNING id, bid_count)
	INSERT INTO bids (auction_id, seq, bidder_id, paddle, amount, request_id, accepted_at)
	SELECT id, bid_count, $2, 1, $1, $4, clock_timestamp() FROM moved RETURNING *`

// currency is that of all auctions that the design is tried on.
var currency = money.MustCurrency("USD")

// Transaction is the published design.
type Transaction struct{ Pool *pgxpool.Pool }

// Place finds the request by its key, moves the auction if the bid is high enough, writes the bid,
// and commits. A bid that is refused is told to be too low, also when the auction is closed: the
// design does not tell the two apart.
func (t Transaction) Place(ctx context.Context, r auction.Request) (bid auction.Bid, replayed bool, err error) {
	amount, err := r.Amount.In(currency)
	if err != nil {
		return bid, false, err
	}
	var row db.Bid
	err = pgx.BeginFunc(ctx, t.Pool, func(tx pgx.Tx) error {
		row, err = one(tx.Query(ctx, findByKey, r.AuctionID, r.Key))
		if replayed = err == nil; replayed || !db.IsNoRows(err) {
			return err
		}
		var seq int64
		err := tx.QueryRow(ctx, moveAuction, amount.Minor(), r.BidderID, r.AuctionID).Scan(&seq)
		if db.IsNoRows(err) {
			return &auction.TooLowError{}
		}
		if err != nil {
			return err
		}
		row, err = one(tx.Query(ctx, writeBid, r.AuctionID, seq, r.BidderID, amount.Minor(), r.Key))
		return err
	})
	if err != nil {
		return auction.Bid{}, false, err
	}
	return row.Accepted(currency), replayed, nil
}

// Statement is the same in one statement, which does not look for the key.
type Statement struct{ Pool *pgxpool.Pool }

// Place moves the auction and writes the bid if it is high enough.
func (s Statement) Place(ctx context.Context, r auction.Request) (auction.Bid, bool, error) {
	amount, err := r.Amount.In(currency)
	if err != nil {
		return auction.Bid{}, false, err
	}
	row, err := one(s.Pool.Query(ctx, moveAndWrite, amount.Minor(), r.BidderID, r.AuctionID, r.Key))
	if db.IsNoRows(err) {
		err = &auction.TooLowError{}
	}
	if err != nil {
		return auction.Bid{}, false, err
	}
	return row.Accepted(currency), false, nil
}

func one(rows pgx.Rows, err error) (db.Bid, error) {
	if err != nil {
		return db.Bid{}, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[db.Bid])
}

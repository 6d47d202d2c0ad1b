package house

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"martelo/app/auction"
)

// statementsWithin bounds filling and reading tables; the pool's own bound is for what a house
// asks.
const statementsWithin = 5 * time.Minute

// Lots is what auctions are opened with: cents throughout, in steps of one, without soft close.
type Lots struct {
	Lane auction.Lane
	Ends time.Duration // from now on, by the database's clock
	// Apart is by how much later each ends than the one before.
	Apart time.Duration
}

// Open opens auctions in one statement, tidies up after itself, and returns their ids and the first
// end.
func (h *House) Open(ctx context.Context, count int, l Lots) (ids []int64, ends time.Time, err error) {
	err = h.long(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `SELECT clock_timestamp() + make_interval(secs => $1)`, l.Ends.Seconds()).Scan(&ends)
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			WITH made AS (
			    INSERT INTO auctions (seller_id, currency, currency_digits, start_price, min_increment, current_price,
			        status, lane, soft_close_window_seconds, soft_close_extend_seconds, start_at, end_at,
			        original_end_at)
			    SELECT $1, 'USD', 2, 0, 1, 0, 'OPEN', $2, 0, 0, clock_timestamp() - interval '1 second', at, at
			    FROM (SELECT $3::timestamptz + n * make_interval(secs => $4) AS at
			          FROM generate_series(0, $5::integer - 1) AS n) AS ends
			    RETURNING id)
			INSERT INTO lots (auction_id, title, description)
			SELECT id, 'Lot ' || id || ', steel, about 1960', 'Serviced last spring, with its box. Collection or post.'
			FROM made
			RETURNING auction_id`, h.Seller, strings.ToLower(string(l.Lane)), ends, l.Apart.Seconds(), count)
		if err != nil {
			return err
		}
		ids, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	})
	if err != nil {
		return nil, ends, fmt.Errorf("bench: auctions: %w", err)
	}
	if count > 1 {
		err = h.Tidy(ctx)
	}
	return ids, ends, err
}

// Tidy does at once what PostgreSQL would do in the background after so many rows, in the middle of
// what is measured.
//
// PostgreSQL never does it to a table in which nothing has changed. One that is empty is left out
// here too: it would be known to be empty, any index would look as good as any other, and a node's
// connections keep the plans that they make first.
func (h *House) Tidy(ctx context.Context) error {
	var filled []string
	for _, table := range []string{"auctions", "listings", "lots", "bids", "outbox", "users"} {
		var has bool
		if err := h.Pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM `+table+`)`).Scan(&has); err != nil {
			return fmt.Errorf("bench: %s: %w", table, err)
		}
		if has {
			filled = append(filled, table)
		}
	}
	if err := execute(ctx, h.DatabaseURL, `VACUUM (ANALYZE) `+strings.Join(filled, ", ")); err != nil {
		return err
	}
	_ = execute(ctx, h.DatabaseURL, `CHECKPOINT`) // not everybody may
	return nil
}

// Hold locks an auction's row in a transaction of its own until release is called or ctx ends. The
// connection has none of the house's time limits, which are there to end such a thing.
func (h *House) Hold(ctx context.Context, auctionID int64) (release func() error, err error) {
	conn, err := pgx.Connect(ctx, h.DatabaseURL)
	if err != nil {
		return nil, fmt.Errorf("bench: DATABASE_URL: %w", err)
	}
	release = func() error { return conn.Close(context.WithoutCancel(ctx)) }
	if _, err = conn.Exec(ctx, `BEGIN`); err == nil {
		_, err = conn.Exec(ctx, `SELECT FROM auctions WHERE id = $1 FOR UPDATE`, auctionID)
	}
	if err != nil {
		_ = release()
		return nil, fmt.Errorf("bench: lock of auction %d: %w", auctionID, err)
	}
	return release, nil
}

// long runs what may take longer than a house's own statements.
func (h *House) long(ctx context.Context, options pgx.TxOptions, do func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, h.Pool, options, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, fmt.Sprintf("SET LOCAL statement_timeout = %d", statementsWithin.Milliseconds()))
		if err != nil {
			return err
		}
		return do(tx)
	})
}

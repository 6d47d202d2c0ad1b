package main

import (
	"context"
	"fmt"
	"time"

	"martelo/app/auction"
	"martelo/app/bench/house"
	"martelo/app/bench/report"
)

const (
	// closeWithin bounds waiting for the last of them.
	closeWithin = 10 * time.Minute
	// dueAfter and duePerSecond say when the auctions end: after all of them are there, if so many
	// are made in a second.
	dueAfter, duePerSecond = time.Second, 5000
)

// closing has many auctions end in the same second and waits until each is closed and its event is
// told. Time runs from the end they have, or from when the last of them was there.
func (b *bench) closing(ctx context.Context) error {
	if err := b.house.Settle(ctx, 0); err != nil {
		return err
	}
	if err := b.start(ctx, house.Start{}); err != nil {
		return err
	}
	due := dueAfter + time.Duration(b.auctions)*time.Second/duePerSecond
	_, ends, err := b.house.Open(ctx, b.auctions, house.Lots{
		Lane: auction.Standard, Ends: due, Apart: time.Second / time.Duration(b.auctions),
	})
	if err != nil {
		return err
	}
	var now time.Time
	if err := b.house.Pool.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now); err != nil {
		return err
	}
	if now.After(ends) {
		ends = now
	}
	seen := b.house.Observe(ctx)
	// The last of them ends a second after the first.
	closed, err := b.until(ctx, ends,
		`SELECT count(*) FROM (SELECT FROM auctions WHERE status = 'OPEN' LIMIT 1) AS left_open`)
	if err != nil {
		return err
	}
	told, err := b.until(ctx, ends, `SELECT count(*) FROM (SELECT FROM outbox LIMIT 1) AS waiting`)
	if err != nil {
		return err
	}
	right, err := b.closedRightly(ctx)
	if err != nil {
		return err
	}
	row := report.Row{What: fmt.Sprintf("%d end within a second, %s", b.auctions, b.nodesName()), Figures: seen()}
	row.Figures["seconds until all are closed"] = closed.Seconds()
	row.Figures["seconds until all events are told"] = told.Seconds()
	row.Verdict = fmt.Sprintf("%d closed, none before its end", right)
	b.report.Add(row)
	if right != b.auctions {
		return fmt.Errorf("bench: %d of %d are closed as they should be", right, b.auctions)
	}
	return nil
}

func (b *bench) closedRightly(ctx context.Context) (count int, err error) {
	err = b.house.Pool.QueryRow(ctx, `
		SELECT count(*) FROM auctions WHERE status = 'CLOSED' AND closed_at >= end_at AND seller_id = $1`,
		b.house.Seller).Scan(&count)
	return count, err
}

// until is how long after a moment of the database's clock a count came down to nothing.
func (b *bench) until(ctx context.Context, from time.Time, count string) (time.Duration, error) {
	for deadline := time.Now().Add(closeWithin); time.Now().Before(deadline); {
		var left int
		var now time.Time
		if err := b.house.Pool.QueryRow(ctx, `SELECT (`+count+`), clock_timestamp()`).Scan(&left, &now); err != nil {
			return 0, err
		}
		if left == 0 && now.After(from) {
			return now.Sub(from), nil
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(house.LookAgain):
		}
	}
	return 0, fmt.Errorf("bench: not within %s", closeWithin)
}

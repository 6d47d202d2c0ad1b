package bench

import (
	"context"
	"fmt"
	"time"

	"martelo/app/auction"
)

const (
	// closeWithin bounds waiting for the last of them.
	closeWithin = 10 * time.Minute
	// dueAfter and duePerSecond say when the auctions end: after all of them are there.
	dueAfter, duePerSecond = time.Second, 5000
)

// closing has many auctions end in the same second and waits until each is closed and its event is told. Time runs from the end they have, or
// from when the last of them was there.
func (b *bench) closing(ctx context.Context) error {
	if err := b.town.settle(ctx, 0); err != nil {
		return err
	}
	if err := b.start(ctx); err != nil {
		return err
	}
	count := otherwise(b.auctions, 20_000, 100_000, b)
	due := dueAfter + time.Duration(count)*time.Second/duePerSecond
	_, ends, err := b.town.openLots(ctx, count, lot{lane: string(auction.Standard), ends: due, apart: time.Second / time.Duration(count)})
	if err != nil {
		return err
	}
	var now time.Time
	if err := b.town.pool.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now); err != nil {
		return err
	}
	if now.After(ends) {
		ends = now
	}
	before, begin := b.figures(ctx), time.Now()
	// The last of them ends a second after the first.
	closed, err := b.until(ctx, ends, `SELECT count(*) FROM (SELECT FROM auctions WHERE status = 'OPEN' LIMIT 1) AS left_open`)
	if err != nil {
		return err
	}
	told, err := b.until(ctx, ends, `SELECT count(*) FROM (SELECT FROM outbox LIMIT 1) AS waiting`)
	if err != nil {
		return err
	}
	var right int
	err = b.town.pool.QueryRow(ctx, `SELECT count(*) FROM auctions WHERE status = 'CLOSED' AND closed_at >= end_at AND seller_id = $1`, b.town.seller).Scan(&right)
	if err != nil {
		return err
	}
	row := Row{What: fmt.Sprintf("%d due within a second, %d node(s)", count, len(b.nodes)), Figures: b.figures(ctx).since(before, time.Since(begin))}
	row.Figures["seconds until all are closed"] = closed.Seconds()
	row.Figures["seconds until all events are told"] = told.Seconds()
	row.Verdict = fmt.Sprintf("%d closed, none before its end", right)
	if right != count {
		err = fmt.Errorf("bench: %d of %d are closed as they should be", right, count)
	}
	_ = b.report.add(row)
	return err
}

// until is how long after a moment of the database's clock a count came down to nothing.
func (b *bench) until(ctx context.Context, from time.Time, count string) (time.Duration, error) {
	for deadline := time.Now().Add(closeWithin); time.Now().Before(deadline); {
		var left int
		var now time.Time
		if err := b.town.pool.QueryRow(ctx, `SELECT (`+count+`), clock_timestamp()`).Scan(&left, &now); err != nil {
			return 0, err
		}
		if left == 0 && now.After(from) {
			return now.Sub(from), nil
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(lookAgain):
		}
	}
	return 0, fmt.Errorf("bench: not within %s", closeWithin)
}

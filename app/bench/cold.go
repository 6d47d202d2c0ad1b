package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"martelo/app/auction"
)

// coldApart is by how many cents the bids of one load lie above those of the one before it; no load bids as often on one auction.
const coldApart = 1_000_000

// cold spreads bids over many auctions, so that hardly two meet: first the desk beside the published transaction without HTTP, then through
// the nodes.
func (b *bench) cold(ctx context.Context) error {
	rates := b.ratesOr([]int{500, 1000}, []int{500, 1000, 1500, 2000})
	if err := b.town.settle(ctx, max(biddersMin, b.bidding, rates[len(rates)-1]/bidsOfBidder)); err != nil {
		return err
	}
	count := otherwise(b.auctions, 20_000, 100_000, b)
	ids, _, err := b.town.openLots(ctx, count, lot{lane: string(auction.Standard), ends: lotEnds, apart: time.Second})
	if err != nil {
		return err
	}
	warm, span := otherwise(b.warm, time.Second, 3*time.Second, b), otherwise(b.span, 6*time.Second, 30*time.Second, b)
	if err := b.coldPlacers(ctx, ids, warm, span); err != nil {
		return err
	}
	if err := b.start(ctx); err != nil {
		return err
	}
	// What the designs have left behind is no part of what comes now.
	if _, err := b.until(ctx, time.Time{}, `SELECT count(*) FROM (SELECT FROM outbox LIMIT 1) AS waiting`); err != nil {
		return err
	}
	if err := b.town.tidy(ctx); err != nil {
		return err
	}
	for i, rate := range rates {
		c := &crowd{town: b.town, auctions: ids, keys: newKeys(), above: int64(i+1) * coldApart}
		row, err := b.measure(ctx, fmt.Sprintf("%d auctions through HTTP", count), c.offer(b.targets(), rate, warm, span, b.connections), false)
		if err != nil {
			return err
		}
		found, err := b.logged(ctx, c.keys)
		row.Accepted = float64(c.acknowledged) / (warm + span).Seconds()
		row.Verdict = fmt.Sprintf("%d bids in the logs, %d acknowledged", found, c.acknowledged)
		if err == nil && found < c.acknowledged {
			err = errors.New("bench: acknowledged bids are missing")
		}
		if err := errors.Join(err, b.report.add(row)); err != nil {
			return err
		}
	}
	return nil
}

// coldPlacers compares the designs; each bids above what the one before it has left.
func (b *bench) coldPlacers(ctx context.Context, ids []int64, warm, span time.Duration) error {
	placers, err := b.placers(ctx)
	if err != nil {
		return err
	}
	part := len(ids) / len(placers)
	for i, p := range placers {
		defer p.stop()
		row, err := b.closedLoop(ctx, p, ids[i*part:(i+1)*part], warm, span)
		if err != nil {
			return err
		}
		if err := b.report.add(row); err != nil {
			return err
		}
	}
	return nil
}

// logged counts the bids of a load in all logs.
func (b *bench) logged(ctx context.Context, k keys) (found int, err error) {
	low, high := k.of(0), k.of(-1)
	err = b.town.pool.QueryRow(ctx, `SELECT count(*) FROM bids WHERE request_id BETWEEN $1 AND $2`, low, high).Scan(&found)
	return found, err
}

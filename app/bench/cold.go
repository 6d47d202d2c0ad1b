package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"martelo/app/auction"
	"martelo/app/bench/house"
	"martelo/app/bench/report"
)

// cold spreads bids over many auctions, so that hardly two meet: first the house beside the other
// designs without HTTP, then through the nodes.
func (b *bench) cold(ctx context.Context) error {
	if err := b.house.Settle(ctx, max(biddersFor(slices.Max(b.rates)), slices.Max(b.bidders))); err != nil {
		return err
	}
	ids, _, err := b.house.Open(ctx, b.auctions, house.Lots{Lane: auction.Standard, Ends: lotEnds, Apart: time.Second})
	if err != nil {
		return err
	}
	above := int64(0)
	err = b.compare(ctx, func() ([]int64, int64, error) {
		above += loadsApart
		return ids, above, b.house.Tidy(ctx) // each design finds the tables alike
	})
	if err != nil {
		return err
	}
	if err := b.start(ctx, house.Start{}); err != nil {
		return err
	}
	// What the designs have left behind is no part of what comes now.
	if _, err := b.until(ctx, time.Time{}, `SELECT count(*) FROM (SELECT FROM outbox LIMIT 1) AS waiting`); err != nil {
		return err
	}
	if err := b.house.Tidy(ctx); err != nil {
		return err
	}
	for i, rate := range b.rates {
		above += loadsApart
		c, err := newCrowd(ctx, b.house, ids, above)
		if err != nil {
			return err
		}
		outcomes, figures, err := b.measured(ctx, i == len(b.rates)-1, c.offer(rate, b.connections, b.warm, b.span))
		if err != nil {
			return err
		}
		row := report.Of(fmt.Sprintf("%d auctions through HTTP, %s", len(ids), b.nodesName()), rate, outcomes[0][1])
		row.Figures = figures
		accepted, verdict, err := c.verify(ctx)
		row.Accepted, row.Verdict = float64(accepted)/(b.warm+b.span).Seconds(), verdict
		b.report.Add(row)
		if err != nil {
			return err
		}
	}
	return nil
}

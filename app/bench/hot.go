package main

import (
	"context"
	"fmt"
	"time"

	"martelo/app/auction"
	"martelo/app/bench/house"
	"martelo/app/bench/report"
)

// lagEvery is how often nodes are asked for the hot lane's lag.
const lagEvery = 200 * time.Millisecond

// hot bids on one auction, a fresh one for each rate, and verifies its log.
func (b *bench) hot(ctx context.Context) error {
	if err := b.start(ctx, house.Start{}); err != nil {
		return err
	}
	for i, rate := range b.rates {
		if err := b.house.Settle(ctx, biddersFor(rate)); err != nil {
			return err
		}
		c, err := b.freshAuction(ctx)
		if err != nil {
			return err
		}
		c.low = b.low
		behind := b.watchLag(ctx)
		outcomes, figures, err := b.measured(ctx, i == len(b.rates)-1, c.offer(rate, b.connections, b.warm, b.span))
		lag := behind()
		if err != nil {
			return err
		}
		row := report.Of(b.laneName()+", "+b.nodesName(), rate, outcomes[0][1])
		row.Figures = figures
		if b.lane == auction.Hot {
			row.Figures["seconds the log was behind, at most"] = lag
		}
		accepted, verdict, err := c.verify(ctx)
		row.Accepted, row.Verdict = float64(accepted)/(b.warm+b.span).Seconds(), verdict
		b.report.Add(row)
		if err != nil {
			return err
		}
	}
	return nil
}

// freshAuction opens an auction in the lane that was asked for, for a crowd.
func (b *bench) freshAuction(ctx context.Context) (*crowd, error) {
	ids, _, err := b.house.Open(ctx, 1, house.Lots{Lane: or(b.lane, auction.Standard), Ends: lotEnds})
	if err != nil {
		return nil, err
	}
	c, err := newCrowd(ctx, b.house, ids, 0)
	if err != nil {
		return nil, err
	}
	c.lane = b.lane
	return c, nil
}

func (b *bench) laneName() string {
	if b.lane == auction.Hot {
		return "one auction in the hot lane"
	}
	return "one auction"
}

func (b *bench) nodesName() string {
	if n := len(b.house.Nodes); n > 1 {
		return fmt.Sprintf("%d nodes", n)
	}
	return "1 node"
}

// watchLag asks the nodes, until it is asked, how far the log is behind what the hot lane has
// accepted, and returns the most.
func (b *bench) watchLag(ctx context.Context) (most func() float64) {
	if b.lane != auction.Hot {
		return func() float64 { return 0 }
	}
	ctx, stop := context.WithCancel(ctx)
	seen := make(chan float64, 1)
	go func() {
		most := 0.0
		for every := time.Tick(lagEvery); ; {
			select {
			case <-ctx.Done():
				seen <- most
				return
			case <-every:
			}
			for _, n := range b.house.Nodes {
				most = max(most, n.Figures(ctx)["martelo_hot_settle_lag_seconds"])
			}
		}
	}()
	return func() float64 { stop(); return <-seen }
}

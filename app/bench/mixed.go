package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"martelo/app/auction"
	"martelo/app/bench/house"
	"martelo/app/bench/load"
	"martelo/app/bench/report"
)

const (
	// quietOr is how many bids a second the quiet auctions get together, unless told otherwise.
	quietOr = 500
	// heldRate is how many bids a second the auction gets whose row is held: enough that some
	// always wait, and few enough that they do not fill what a node lets wait for one auction.
	heldRate = 5
)

// mixed bids on one hot auction and meanwhile on many quiet ones, where hardly two bids meet. The
// two loads have connections of their own.
func (b *bench) mixed(ctx context.Context) error {
	most := 0
	for _, rate := range b.rates {
		most = max(most, rate)
	}
	if err := b.house.Settle(ctx, biddersFor(most+b.quiet+heldRate)); err != nil {
		return err
	}
	count := max(2, b.auctions)
	ids, _, err := b.house.Open(ctx, count, house.Lots{Lane: auction.Standard, Ends: lotEnds, Apart: time.Second})
	if err != nil {
		return err
	}
	if err := b.start(ctx, house.Start{}); err != nil {
		return err
	}
	for i, rate := range b.rates {
		last := i == len(b.rates)-1
		if err := b.mixedRate(ctx, rate, ids, int64(i)*loadsApart, last); err != nil {
			return err
		}
	}
	return nil
}

// part is one of the loads that run beside each other.
type part struct {
	name  string
	rate  int
	crowd *crowd
}

func (b *bench) mixedRate(ctx context.Context, rate int, ids []int64, above int64, last bool) error {
	parts, err := b.mixedParts(ctx, rate, ids, above)
	if err != nil {
		return err
	}
	phases, names := []time.Duration{b.warm, b.span}, []string{"", ""}
	if b.lock > 0 {
		phases = []time.Duration{b.warm, b.span, b.lock, b.span}
		names = []string{"", ", before", ", a quiet row held", ", afterwards"}
	}
	offers := make([]load.Offer, len(parts))
	for i, p := range parts {
		offers[i] = p.crowd.offer(p.rate, b.connections, phases...)
	}
	holding, stop := context.WithCancel(ctx)
	defer stop()
	held := b.hold(holding, ids[len(ids)-1], b.warm+b.span, b.lock)
	outcomes, figures, err := b.measured(ctx, last, offers...)
	if err != nil {
		stop()
		_ = held() // it was told to stop
		return err
	}
	if err := held(); err != nil {
		return err
	}
	var wrong error
	for i, p := range parts {
		_, verdict, err := p.crowd.verify(ctx)
		wrong = errors.Join(wrong, err)
		for phase := 1; phase < len(phases); phase++ {
			outcome := outcomes[i][phase]
			row := report.Of(p.name+names[phase], p.rate, outcome)
			row.Accepted = float64(outcome.Statuses[201]) / outcome.Span.Seconds()
			if phase == 1 {
				row.Verdict = verdict
			}
			if i == 0 && phase == 1 {
				row.Figures = figures // of the whole run
			}
			b.report.Add(row)
		}
	}
	return wrong
}

// mixedParts are the loads on the hot auction, on the quiet ones, and, where a row is to be held,
// on the last of these.
func (b *bench) mixedParts(ctx context.Context, rate int, ids []int64, above int64) ([]part, error) {
	hot, err := b.freshAuction(ctx)
	if err != nil {
		return nil, err
	}
	calm := ids[:len(ids)-1]
	quiet, err := newCrowd(ctx, b.house, calm, above)
	if err != nil {
		return nil, err
	}
	parts := []part{
		{b.laneName() + ", " + b.nodesName(), rate, hot},
		{fmt.Sprintf("%d quiet auctions", len(calm)), b.quiet, quiet},
	}
	if b.lock == 0 {
		return parts, nil
	}
	held, err := newCrowd(ctx, b.house, ids[len(ids)-1:], above)
	return append(parts, part{"the auction that is held", heldRate, held}), err
}

// hold locks an auction's row after a while and for a time, and returns a function that waits for
// that to be over.
func (b *bench) hold(ctx context.Context, auctionID int64, after, long time.Duration) (over func() error) {
	if long == 0 {
		return func() error { return nil }
	}
	done := make(chan error, 1)
	go func() { done <- b.holdFor(ctx, auctionID, after, long) }()
	return func() error { return <-done }
}

func (b *bench) holdFor(ctx context.Context, auctionID int64, after, long time.Duration) error {
	if err := pause(ctx, after); err != nil {
		return err
	}
	release, err := b.house.Hold(ctx, auctionID)
	if err != nil {
		return err
	}
	return errors.Join(pause(ctx, long), release())
}

// pause lets time pass.
func pause(ctx context.Context, long time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(long):
		return nil
	}
}

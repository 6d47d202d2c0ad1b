package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"martelo/app/bench/house"
	"martelo/app/bench/load"
	"martelo/app/bench/report"
)

// finalWithin is how long after the last bid of a burst its answers are waited for: a bid that is
// asked to come again several times is still told.
const finalWithin = 30 * time.Second

// burst has many bidders bid once each on one auction within a moment, every one on a connection of
// its own, and measures until each has a final answer.
func (b *bench) burst(ctx context.Context) error {
	if err := b.start(ctx, house.Start{}); err != nil {
		return err
	}
	for i, bidders := range b.bidders {
		if err := b.house.Settle(ctx, bidders); err != nil {
			return err
		}
		var rounds []report.Row
		for round := range b.rounds {
			last := i == len(b.bidders)-1 && round == b.rounds-1
			row, err := b.oneBurst(ctx, bidders, last)
			rounds = append(rounds, row)
			if err != nil {
				b.report.Add(row)
				return err
			}
		}
		row := report.Median(rounds)
		if len(rounds) > 1 {
			row.Verdict += ", all logs verified"
		}
		b.report.Add(row)
	}
	return nil
}

func (b *bench) oneBurst(ctx context.Context, bidders int, last bool) (report.Row, error) {
	c, err := b.freshAuction(ctx)
	if err != nil {
		return report.Row{}, err
	}
	// A rate is a whole number of bids a second: the phase is as long as all bidders take at it.
	rate := max(1, int(float64(bidders)/b.span.Seconds()))
	o := c.offer(rate, or(b.connections, bidders), 0, time.Duration(bidders)*time.Second/time.Duration(rate))
	o.AnswerWithin, o.Final = finalWithin, isFinal
	outcomes, figures, err := b.measured(ctx, last, o)
	if err != nil {
		return report.Row{}, err
	}
	row := report.Of(fmt.Sprintf("%d bidders, %s, %s", bidders, b.laneName(), b.nodesName()), rate, outcomes[0][1])
	row.Figures = figures
	accepted, verdict, err := c.verify(ctx)
	row.Accepted, row.Verdict = float64(accepted)/b.span.Seconds(), verdict
	if err == nil && row.Unanswered > 0 {
		err = fmt.Errorf("bench: %d bids have no final answer after %s", row.Unanswered, finalWithin)
	}
	return row, err
}

// isFinal says whether an answer decides a bid. The others ask to come again with the same key.
func isFinal(a load.Answer) bool {
	return a.Status != http.StatusServiceUnavailable && a.Status != http.StatusTooManyRequests
}

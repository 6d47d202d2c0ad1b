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

// browseBids is how many bids the auction has whose page is looked at: a full history.
const browseBids = 12

// browse looks at the home page and at one auction's page, with many auctions open, as a visitor
// who has not signed in.
func (b *bench) browse(ctx context.Context) error {
	if err := b.house.Settle(ctx, biddersMin); err != nil {
		return err
	}
	ids, _, err := b.house.Open(ctx, b.auctions, house.Lots{
		Lane: auction.Standard, Ends: time.Hour, Apart: time.Second,
	})
	if err != nil {
		return err
	}
	if err := b.giveHistory(ctx, ids[0]); err != nil {
		return err
	}
	if err := b.start(ctx, house.Start{}); err != nil {
		return err
	}
	pages := []struct{ name, path string }{{"home page", "/"}, {"auction page", fmt.Sprintf("/auctions/%d", ids[0])}}
	for _, page := range pages {
		request := "GET " + page.path + " HTTP/1.1\r\nHost: bench\r\nAccept: text/html\r\n" +
			"Accept-Language: en-US\r\n\r\n"
		for i, rate := range b.rates {
			outcomes, figures, err := b.measured(ctx, i == len(b.rates)-1, load.Offer{
				Targets: b.house.Targets(), Rate: rate, Phases: []time.Duration{b.warm, b.span},
				Connections: or(b.connections, connectionsOr),
				Write:       func(to []byte, _ int) []byte { return append(to, request...) },
				Read:        func(int, load.Answer) {},
			})
			if err != nil {
				return err
			}
			row := report.Of(page.name, rate, outcomes[0][1])
			row.Figures = figures
			b.report.Add(row)
		}
	}
	return nil
}

// giveHistory places some bids on an auction.
func (b *bench) giveHistory(ctx context.Context, id int64) error {
	pool, err := connected(ctx, b.house, 1)
	if err != nil {
		return err
	}
	defer pool.Close()
	desk, stop := newDesk(pool)
	keys := house.NewKeys()
	for i := range browseBids {
		bid := auction.Request{
			AuctionID: id, BidderID: b.house.Bidders[i%3], Amount: cents(int64(100 * (i + 1))), Key: keys.Of(i),
		}
		if _, _, err := desk.Place(ctx, bid); err != nil {
			return errors.Join(err, stop(ctx))
		}
	}
	return stop(ctx)
}

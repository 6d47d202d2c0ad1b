package bench

import (
	"context"
	"fmt"
	"time"

	"martelo/app/auction"
)

// browseBids is how many bids the auction has whose page is looked at: a full history.
const browseBids = 12

// browse looks at the home page and at one auction's page, with many auctions open, as a visitor who has not signed in.
func (b *bench) browse(ctx context.Context) error {
	if err := b.town.settle(ctx, biddersMin); err != nil {
		return err
	}
	count := otherwise(b.auctions, 20_000, 100_000, b)
	ids, _, err := b.town.openLots(ctx, count, lot{lane: string(auction.Standard), ends: time.Hour, apart: time.Second})
	if err != nil {
		return err
	}
	desk, err := b.ownDesk(ctx)
	if err != nil {
		return err
	}
	defer desk.stop()
	for i := range browseBids {
		bid := auction.Request{AuctionID: ids[0], BidderID: b.town.bidders[i%3], Amount: cents(int64(100 * (i + 1))), Key: newKeys().of(i)}
		if _, _, err := desk.place(ctx, bid); err != nil {
			return err
		}
	}
	if err := b.start(ctx); err != nil {
		return err
	}
	warm, span := otherwise(b.warm, time.Second, 3*time.Second, b), otherwise(b.span, 4*time.Second, 30*time.Second, b)
	rates := b.ratesOr([]int{500, 1000, 3000}, []int{500, 1000, 2000, 3000, 4000, 5000})
	for _, page := range []struct{ name, path string }{{"home page", "/"}, {"auction page", fmt.Sprintf("/auctions/%d", ids[0])}} {
		request := "GET " + page.path + " HTTP/1.1\r\nHost: bench\r\nAccept: text/html\r\nAccept-Language: en-US\r\n\r\n"
		for i, rate := range rates {
			o := offer{targets: b.targets(), rate: rate, warm: warm, span: span, connections: otherwise(b.connections, connectionsOr, connectionsOr, b)}
			o.write = func(to []byte, _ int) []byte { return append(to, request...) }
			o.read = func(int, answer) {}
			row, err := b.measure(ctx, page.name, o, b.prof != "" && i == len(rates)-1)
			if err != nil {
				return err
			}
			if err := b.report.add(row); err != nil {
				return err
			}
		}
	}
	return nil
}

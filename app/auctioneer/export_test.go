package auctioneer

import (
	"context"
	"time"

	"martelo/app/auction"
	"martelo/app/listing"
)

// Remember has a node remember each auction's price from the first bid on, for as long as told.
func (a *Auctioneer) Remember(fresh time.Duration) { a.early.fresh, a.early.company = fresh, 1 }

// CloseHot closes the hot auctions that are due until ctx ends.
func (a *Auctioneer) CloseHot(ctx context.Context) { a.closeHot(ctx) }

// InOneBatch decides requests in one transaction, passing over what is held. It returns what each
// was answered, and the error of its auction.
func (a *Auctioneer) InOneBatch(ctx context.Context, requests []auction.Request) ([]auction.Answer, []error, error) {
	bids := make([]*pendingBid, len(requests))
	place := map[*pendingBid]int{}
	for i, r := range requests {
		bids[i] = &pendingBid{request: r}
		place[bids[i]] = i
	}
	lots := lotsOf(bids)
	err := a.inPostgres(ctx, lots, passOverHeld)
	answers, errs := make([]auction.Answer, len(requests)), make([]error, len(requests))
	for _, l := range lots {
		for i, p := range l.bids {
			if errs[place[p]] = l.err; l.err == nil && err == nil {
				answers[place[p]] = l.answers[i]
			}
		}
	}
	return answers, errs, err
}

// Reasons why a lot is decided once more.
var ErrHeld, ErrStale = errHeld, errStale

// List has a node tell a follower of what bids have moved.
func (a *Auctioneer) List(follower *listing.Follower) { a.listings = follower }

// PlaceTogether places bids that are in one batch, and returns the error that each was answered with.
func (a *Auctioneer) PlaceTogether(ctx context.Context, requests []auction.Request) []error {
	bids := make([]*pendingBid, len(requests))
	for i, r := range requests {
		bids[i] = &pendingBid{request: r, since: time.Now(), answer: make(chan answer, 1)}
	}
	a.guard(bids, func() { a.decideTogether(bids) })
	errs := make([]error, len(bids))
	for i, p := range bids {
		select {
		case answer := <-p.answer:
			errs[i] = answer.err
		case <-ctx.Done():
			errs[i] = ctx.Err()
		}
	}
	return errs
}

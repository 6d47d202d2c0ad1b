package auctioneer

import (
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/google/uuid"

	"martelo/app/auction"
	"martelo/app/money"
)

const (
	// freshFor is for how long after a batch its outcome refuses bids. A busy auction has hundreds
	// of batches a second; one that has fewer is asked about. It is also how far a refusal may lag
	// behind another node, in its figures or in not telling that the auction is over.
	freshFor = 100 * time.Millisecond
	// companyMin is how many bids a batch has that begins a memory: whoever bids alone has nobody
	// to keep out of the way.
	companyMin = 2
	// risenMax bounds the auctions whose price a node remembers: beyond them others are asked
	// about. risenKeysMax bounds the keys of each: beyond them it starts anew. Full they are some
	// 60 MB.
	risenMax, risenKeysMax = 100, 10_000
)

// risen is what a node knows about the price of an auction from its own batches.
type risen struct {
	state auction.State // after the last batch
	now   time.Time     // the database's clock at that batch
	until time.Time     // when it is too old, on the monotonic clock
	from  money.Amount  // the price before the first batch remembered
	keys  map[uuid.UUID]struct{}
}

// early refuses bids that are certainly too low without asking the database: their answer is as
// good without it, and the bids that may be accepted have the batches to themselves.
//
// It can only refuse, and never the twin of an accepted bid. A bid accepted before the memory
// begins was not above from, and one accepted by another node after the last batch here is above
// the price that is known: so an amount between the two that is a twin's is among keys.
type early struct {
	fresh   time.Duration
	company int // the bids of a batch that begins a memory

	mu       sync.Mutex
	auctions map[int64]*risen
}

func newEarly() early {
	return early{fresh: freshFor, company: companyMin, auctions: map[int64]*risen{}}
}

// refusal is the answer to a bid that is too low for an auction's last known state, and nil for any
// other: those are for the database.
func (e *early) refusal(r auction.Request, at time.Time) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	known := e.auctions[r.AuctionID]
	if known == nil || at.After(known.until) {
		return nil
	}
	if _, twin := known.keys[r.Key]; twin {
		return nil
	}
	amount, err := r.Amount.In(known.state.Currency)
	if err != nil || !known.from.Less(amount) {
		return nil
	}
	_, _, refusal := known.state.Decide(r, 0, known.now)
	var low *auction.TooLowError
	if errors.As(refusal, &low) {
		return refusal
	}
	return nil
}

// note remembers what a batch of so many bids led to, once that is committed and before anybody is
// answered. Now is the database's clock in that batch, and began a moment before it was read; when
// the end has come by it, this is known no more.
func (e *early) note(bids int, before, after auction.State, accepted []auction.Bid, now, began time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	known := e.auctions[after.ID]
	// What is too old refuses nobody, and must not stand in the way of a database that has lost the
	// commits it knew.
	if known != nil && time.Now().After(known.until) {
		delete(e.auctions, after.ID)
		known = nil
	}
	if known == nil && (bids < e.company || !e.room()) || known != nil && known.state.Version > after.Version {
		return
	}
	if known == nil || known.state.Version != before.Version || len(known.keys) > risenKeysMax {
		known = &risen{from: before.CurrentPrice, keys: map[uuid.UUID]struct{}{}}
		e.auctions[after.ID] = known
	}
	for _, bid := range accepted {
		known.keys[bid.Key] = struct{}{}
	}
	known.state, known.now, known.until = after, now, time.Now().Add(e.fresh)
	if ends := began.Add(after.EndAt.Sub(now)); ends.Before(known.until) {
		known.until = ends
	}
}

// room makes room for another auction, if it can.
func (e *early) room() bool {
	if len(e.auctions) >= risenMax {
		now := time.Now()
		maps.DeleteFunc(e.auctions, func(_ int64, known *risen) bool { return now.After(known.until) })
	}
	return len(e.auctions) < risenMax
}

// learn is told what others on this node have done to an auction: cancelled, closed or moved it.
// From then on the database is asked.
func (e *early) learn(s auction.State) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if known := e.auctions[s.ID]; known != nil && known.state.Version < s.Version {
		known.state, known.until = s, time.Time{}
	}
}

// forget is for an auction about which the last batch left doubts, or that is decided elsewhere.
func (e *early) forget(id int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.auctions, id)
}

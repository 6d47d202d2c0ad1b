package auctioneer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"martelo/app/auction"
	"martelo/app/auctioneer"
)

// Random histories of bids, twins, reused keys and closes, one after the other: the desk on
// PostgreSQL, the script in Redis, and the rulebook by itself give the same answers and end in the
// same state, the end to the microsecond.
func TestTheDeskAgreesWithTheRulebook(t *testing.T) { inBothLanes(t, theDeskAgreesWithTheRulebook) }

func theDeskAgreesWithTheRulebook(t *testing.T, lane auction.Lane) {
	h := newHouseIn(t, lane, 3)
	desk := h.desk()
	bidders := append([]int64{h.seller}, h.bidders...)
	rapid.Check(t, func(t *rapid.T) {
		soft := auction.SoftClose{}
		if rapid.Bool().Draw(t, "soft close") {
			soft = auction.DefaultSoftClose
		}
		id := h.open(rapid.SampledFrom([]time.Duration{time.Minute, hour}).Draw(t, "ends in"), soft)
		h.warm(id, desk)
		model, ended := h.state(id), false
		memory := auction.Memory{ByKey: map[uuid.UUID]auction.Bid{}, Paddles: map[int64]int{}}
		keys := []uuid.UUID{uuid.New(), uuid.New(), uuid.New(), uuid.New(), uuid.New(), uuid.New(), uuid.New()}
		for range rapid.IntRange(1, 14).Draw(t, "length") {
			if rapid.IntRange(0, 19).Draw(t, "close") == 0 {
				h.end(id)
				model, ended = h.state(id), true
			}
			r := auction.Request{
				AuctionID: id, BidderID: rapid.SampledFrom(bidders).Draw(t, "bidder"),
				Amount: decimal(rapid.Int64Range(99000, 112000).Draw(t, "amount")),
				Key:    rapid.SampledFrom(keys).Draw(t, "key"),
				Ask: auction.Questions{
					OwnLead: rapid.Bool().Draw(t, "ask own lead"), FarAbove: rapid.Bool().Draw(t, "ask far above"),
				},
			}
			if rapid.IntRange(0, 9).Draw(t, "slip") == 0 { // around the edge: one minor unit below, at and above it
				edge := auction.FarAboveTimes * model.MinimumBid().Minor()
				r.Amount = decimal(edge + rapid.Int64Range(-1, 1).Draw(t, "beside the edge"))
			}
			bid, replayed, err := desk.Place(h.Context(), r)
			// The rulebook is handed the clock the desk decided by: a bid says it, and a refusal is
			// after the last change.
			now := bid.AcceptedAt
			if err != nil || replayed {
				now = model.StartAt
			}
			if ended {
				now = model.EndAt
			}
			var answers []auction.Answer
			model, _, answers = model.Fold([]auction.Request{r}, memory, now)
			want := answers[0]
			if told(bid, replayed, err) != told(want.Bid, want.Replayed, want.Refusal) {
				t.Fatalf(
					"%+v: the desk told %s, the rulebook %s", r, told(bid, replayed, err),
					told(want.Bid, want.Replayed, want.Refusal),
				)
			}
		}
		if got := h.state(id); got != model {
			t.Fatalf("the desk ended in %+v, the rulebook in %+v", got, model)
		}
	})
}

// told is an answer in words, without the id that only the log gives.
func told(b auction.Bid, replayed bool, err error) string {
	var low *auction.TooLowError
	if errors.As(err, &low) {
		return fmt.Sprintf("too low: %s, at least %s, until %s", low.CurrentPrice, low.MinimumBid, low.EndAt)
	}
	var open *auction.UnconfirmedError
	if errors.As(err, &open) {
		return fmt.Sprintf(
			"%+v of %s at %s, at least %s", open.Questions, open.Amount, open.CurrentPrice, open.MinimumBid,
		)
	}
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf(
		"bid %d of %s by %d paddle %d at %s, replayed %v", b.Seq, b.Amount, b.BidderID, b.Paddle, b.AcceptedAt,
		replayed,
	)
}

// bookState is the porcupine model's state of one auction: the price, the count, the accepted keys,
// and whether the end is known to have passed. It is a value, so that states can be compared.
type bookState struct {
	price  int64
	count  int64
	keys   string // "key:bidder:seq " for each accepted bid
	closed bool
}

// book is the rule as porcupine asks for it: may an auction in this state give this answer, and
// what does it become? An answer that the auction is closed says that its end has passed; from then
// on nothing is accepted. "Too low" must be true, and its price that of the moment, or, where
// several desks refuse early by what they know, of an earlier one.
func book(earlier, ends bool) porcupine.Model {
	start := func() any { return bookState{price: 100000} }
	return porcupine.Model{Init: start, Step: func(state, input, output any) (bool, any) {
		s, r, o := state.(bookState), input.(auction.Request), output.(outcome)
		var low *auction.TooLowError
		var closed *auction.ClosedError
		amount, _ := r.Amount.In(usd)
		known := strings.Contains(s.keys, r.Key.String())
		entry := fmt.Sprintf("%s:%d:%d ", r.Key, r.BidderID, o.bid.Seq)
		mine := strings.Contains(s.keys, fmt.Sprintf("%s:%d:", r.Key, r.BidderID))
		enough := amount.Minor() >= s.price+1000
		switch {
		case o.err == nil && o.replayed:
			return strings.Contains(s.keys, entry), s
		case o.err == nil:
			ok := !s.closed && !known && enough && o.bid.Seq == s.count+1
			return ok, bookState{price: amount.Minor(), count: s.count + 1, keys: s.keys + entry}
		case errors.Is(o.err, auction.ErrKeyReused):
			return known && !mine, s
		case errors.As(o.err, &low):
			told := low.CurrentPrice.Minor()
			if earlier {
				return !known && !enough && told <= s.price && amount.Less(low.MinimumBid), s
			}
			return !s.closed && !known && !enough && told == s.price, s
		case errors.As(o.err, &closed):
			s.closed = true
			return ends && !known, s
		}
		return false, s
	}}
}

// history lets bidders bid at once on several placers, with twins among the requests and the end in
// the middle, and records when each request was sent and answered.
func history(h *house, id int64, placers ...placer) []porcupine.Operation {
	begin := time.Now()
	var mu sync.Mutex
	var operations []porcupine.Operation
	var bidding sync.WaitGroup
	twin := request(id, h.bidders[0], 101000)
	for client, bidder := range h.bidders {
		bidding.Go(func() {
			for n := range int64(12) {
				r := request(id, bidder, 100000+n*1500+int64(client%3)*1000)
				if n%4 == 0 {
					r = twin // its bidder's copies get the one bid, everybody else's are a reuse
					r.BidderID = bidder
				}
				call := time.Since(begin)
				bid, replayed, err := placers[client%len(placers)].Place(h.Context(), r)
				op := porcupine.Operation{
					ClientId: client, Input: r, Output: outcome{r, bid, replayed, err}, Call: int64(call),
					Return: int64(time.Since(begin)),
				}
				mu.Lock()
				operations = append(operations, op)
				mu.Unlock()
			}
		})
	}
	bidding.Wait()
	return operations
}

func TestConcurrentHistoriesAreLinearizable(t *testing.T) {
	inBothLanes(t, concurrentHistoriesAreLinearizable)
}

func concurrentHistoriesAreLinearizable(t *testing.T, lane auction.Lane) {
	h := newHouseIn(t, lane, 6)
	alone, desks := h.desk(), []*auctioneer.Auctioneer{h.desk(), h.desk()}
	// However long prices are remembered and however soon, one desk's answers are exact: it has
	// heard of all that it has answered.
	alone.Remember(time.Hour)
	desks[0].Remember(time.Hour)
	for round := range 16 {
		ends := hour
		if round%3 == 2 {
			ends = 25 * time.Millisecond // in the middle of the history
		}
		id := h.open(ends, auction.SoftClose{})
		placers, earlier := []placer{desks[0], desks[1]}, lane == auction.Standard
		if round%2 == 0 {
			placers, earlier = []placer{alone}, false
		}
		operations := history(h, id, placers...)
		if !porcupine.CheckOperations(book(earlier, ends != hour), operations) {
			t.Fatalf("round %d: no order of the %d answers explains them", round, len(operations))
		}
	}
}

// forgetful is a broken desk: it answers a twin with another bid than the first.
type forgetful struct{ placer }

func (f forgetful) Place(ctx context.Context, r auction.Request) (auction.Bid, bool, error) {
	bid, replayed, err := f.placer.Place(ctx, r)
	if replayed {
		bid.Seq++
	}
	return bid, replayed, err
}

func TestTheCheckerSeesABrokenDesk(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 6)
	broken := forgetful{h.desk()}
	if operations := history(
		h, h.open(hour, auction.SoftClose{}), broken,
	); porcupine.CheckOperations(book(false, false), operations) {
		t.Fatal("a desk that answers twins with another bid passed")
	}
}

package auctioneer_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"martelo/app/auction"
	"martelo/app/auctioneer"
)

// remembering is a desk that refuses by what it knows for the whole test.
func (h *house) remembering() *auctioneer.Auctioneer {
	desk := h.desk()
	desk.Remember(time.Hour)
	return desk
}

// locked keeps an auction's row locked, so that nothing about it can be decided in the database,
// until it is released.
func (h *house) locked(id int64) (release func()) {
	h.Helper()
	tx, err := h.pool.Begin(h.Context())
	if err != nil {
		h.Fatal(err)
	}
	if _, err := tx.Exec(h.Context(), `SELECT FROM auctions WHERE id = $1 FOR UPDATE`, id); err != nil {
		h.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(h.Context()); err != nil && !errors.Is(err, pgx.ErrTxClosed) {
			h.Error(err)
		}
	}
}

// What is certainly too low is refused while nothing can be decided; everything else waits for the
// database: twins of accepted bids, of which some are below the price by then, and what only the
// database can tell.
func TestWhatIsKnownToBeTooLowWaitsForNobody(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 3)
	desk, other := h.remembering(), h.desk()
	id := h.open(hour, auction.SoftClose{})
	before := request(id, h.bidders[0], 101000)
	h.place(other, before) // the desk does not know its key
	first, second := request(id, h.bidders[0], 102000), request(id, h.bidders[1], 105000)
	h.place(desk, first)
	h.place(desk, second)

	release := h.locked(id)
	defer release()
	for _, amount := range []int64{101001, 102000, 105999} {
		_, _, err := desk.Place(t.Context(), request(id, h.bidders[2], amount))
		var low *auction.TooLowError
		if !errors.As(err, &low) || low.CurrentPrice != cents(105000) || low.MinimumBid != cents(106000) ||
			low.DecidedAt.IsZero() {
			t.Errorf("%d: %v", amount, err)
		}
	}

	type waiter struct {
		name    string
		request auction.Request
		want    error // nil: its first bid again
		low     bool
	}
	stolen := first
	stolen.BidderID = h.bidders[2]
	waiters := []waiter{
		{name: "a twin of a bid from before the memory", request: before},
		{name: "a twin of a bid that was outbid", request: first},
		{name: "a twin of the leading bid", request: second},
		{name: "a key of somebody else", request: stolen, want: auction.ErrKeyReused},
		{name: "below all that is remembered", request: request(id, h.bidders[2], 100500), low: true},
		{name: "the seller's", request: request(id, h.seller, 103000), want: auction.ErrOwnAuction},
	}
	var answers sync.WaitGroup
	soon, told := make(chan string, len(waiters)), make([]error, len(waiters))
	for i, w := range waiters {
		answers.Go(func() {
			_, replayed, err := desk.Place(t.Context(), w.request)
			if err == nil && !replayed {
				err = errors.New("accepted anew")
			}
			told[i] = err
			soon <- w.name
		})
	}
	answers.Go(func() {
		if _, _, err := desk.Place(t.Context(), request(id, h.bidders[2], 106000)); err != nil {
			t.Errorf("a bid that is enough: %v", err)
		}
	})
	select {
	case name := <-soon:
		t.Errorf("%s was answered without the database", name)
	case <-time.After(50 * time.Millisecond): // long enough for what waits for nothing
	}
	release()
	answers.Wait()
	for i, w := range waiters {
		var low *auction.TooLowError
		if isLow := errors.As(told[i], &low); isLow != w.low || !isLow && !errors.Is(told[i], w.want) {
			t.Errorf("%s was answered %v", w.name, told[i])
		}
	}
}

// A price is known for a moment only: then the database is asked, as it is about an auction that
// hardly anybody bids on.
func TestWhatWasKnownIsAskedAgain(t *testing.T) {
	t.Parallel()
	for _, part := range []struct {
		name     string
		remember func(*auctioneer.Auctioneer)
		amount   int64
	}{
		{"after a while", func(d *auctioneer.Auctioneer) { d.Remember(time.Nanosecond) }, 101500},
		{"a quiet auction", func(*auctioneer.Auctioneer) {}, 101500},
		{"above the known price", func(d *auctioneer.Auctioneer) { d.Remember(time.Hour) }, 105000},
	} {
		t.Run(part.name, func(t *testing.T) {
			h := newHouse(t, 2)
			desk, other := h.desk(), h.desk()
			part.remember(desk)
			id := h.open(hour, auction.SoftClose{})
			h.place(desk, request(id, h.bidders[0], 101000))
			theirs := request(id, h.bidders[1], 110000)
			h.place(other, theirs)
			_, _, err := desk.Place(t.Context(), request(id, h.bidders[0], part.amount))
			var low *auction.TooLowError
			if !errors.As(err, &low) || low.CurrentPrice != cents(110000) {
				t.Errorf("told %v, which is not the newest price", err)
			}
			if bid, replayed, err := desk.Place(t.Context(), theirs); err != nil || !replayed || bid.Seq != 2 {
				t.Errorf("the twin of the other desk's bid: %+v %v %v", bid, replayed, err)
			}
		})
	}
}

// When the end has come, or somebody on the node has ended or moved the auction, nobody is told by
// what was known before.
func TestAKnownPriceDoesNotHideTheEnd(t *testing.T) {
	t.Parallel()
	h := newHouseIn(t, auction.Hot, 2)
	h.lane = auction.Standard
	desk := h.remembering()
	admin := auction.Actor{Admin: true}
	low := func(id int64) error {
		_, _, err := desk.Place(t.Context(), request(id, h.bidders[1], 101500))
		return err
	}
	t.Run("the end", func(t *testing.T) {
		id := h.open(400*time.Millisecond, auction.SoftClose{})
		h.place(desk, request(id, h.bidders[0], 102000))
		h.eventually(5*time.Second, "its end has come", func() bool {
			return h.count(`SELECT count(*) FROM auctions WHERE id = $1 AND end_at <= clock_timestamp()`, id) == 1
		})
		var closed *auction.ClosedError
		if err := low(id); !errors.As(err, &closed) {
			t.Errorf("told %v", err)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		id := h.open(hour, auction.SoftClose{})
		h.place(desk, request(id, h.bidders[0], 102000))
		if err := desk.Cancel(t.Context(), id, admin); err != nil {
			t.Fatal(err)
		}
		if err := low(id); !errors.Is(err, auction.ErrCancelled) {
			t.Errorf("told %v", err)
		}
	})
	t.Run("moved to the hot lane", func(t *testing.T) {
		id := h.open(hour, auction.SoftClose{})
		h.place(desk, request(id, h.bidders[0], 102000))
		if err := desk.Move(t.Context(), id, admin, auction.Hot); err != nil {
			t.Fatal(err)
		}
		h.place(desk, request(id, h.bidders[1], 105000))
		var low *auction.TooLowError
		if _, _, err := desk.Place(t.Context(), request(id, h.bidders[0], 101500)); !errors.As(err, &low) ||
			low.CurrentPrice != cents(105000) {
			t.Errorf("told %v", err)
		}
	})
}

// Whatever two desks that remember prices are asked, in whatever order, they accept what the
// rulebook accepts, know each twin, and refuse what the rulebook refuses. Only the figures of a
// refusal may be those of an earlier moment.
func TestRememberedPricesOnlyRefuse(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 3)
	desks := []*auctioneer.Auctioneer{h.remembering(), h.remembering()}
	bidders := append([]int64{h.seller}, h.bidders...)
	rapid.Check(t, func(t *rapid.T) {
		id := h.open(hour, auction.SoftClose{})
		model := h.state(id)
		memory := auction.Memory{ByKey: map[uuid.UUID]auction.Bid{}, Paddles: map[int64]int{}}
		keys := []uuid.UUID{uuid.New(), uuid.New(), uuid.New(), uuid.New(), uuid.New(), uuid.New(), uuid.New()}
		for range rapid.IntRange(1, 20).Draw(t, "length") {
			r := auction.Request{
				AuctionID: id, BidderID: rapid.SampledFrom(bidders).Draw(t, "bidder"),
				Amount: decimal(rapid.Int64Range(99000, 112000).Draw(t, "amount")),
				Key:    rapid.SampledFrom(keys).Draw(t, "key"),
			}
			bid, replayed, err := desks[rapid.IntRange(0, 1).Draw(t, "desk")].Place(h.Context(), r)
			now := bid.AcceptedAt
			if err != nil || replayed {
				now = model.StartAt
			}
			var answers []auction.Answer
			model, _, answers = model.Fold([]auction.Request{r}, memory, now)
			want := answers[0]
			var low *auction.TooLowError
			if errors.As(err, &low) && want.Refusal != nil {
				amount, _ := r.Amount.In(usd)
				if !amount.Less(low.MinimumBid) || model.CurrentPrice.Less(low.CurrentPrice) {
					t.Fatalf("%+v: refused for %v, at a price of %s", r, low, model.CurrentPrice)
				}
				continue
			}
			if told(bid, replayed, err) != told(want.Bid, want.Replayed, want.Refusal) {
				t.Fatalf(
					"%+v: the desk told %s, the rulebook %s", r, told(bid, replayed, err),
					told(want.Bid, want.Replayed, want.Refusal),
				)
			}
		}
		if got := h.state(id); got != model {
			t.Fatalf("the desks ended in %+v, the rulebook in %+v", got, model)
		}
	})
}

// Many bid at once on two desks that remember prices: nothing else is accepted, and nothing is told
// about a twin, than without it.
func TestRememberedPricesUnderLoad(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 12)
	desks := []*auctioneer.Auctioneer{h.remembering(), h.remembering()}
	id := h.open(hour, auction.SoftClose{})
	var bidding sync.WaitGroup
	for i, bidder := range h.bidders {
		bidding.Go(func() {
			for n := range int64(60) {
				r := request(id, bidder, 100000+n*1000+int64(i)*300)
				bid, _, err := desks[i%2].Place(t.Context(), r)
				if err != nil {
					continue
				}
				again, replayed, err := desks[(i+1)%2].Place(t.Context(), r)
				if err != nil || !replayed || again.ID != bid.ID || again.Seq != bid.Seq {
					t.Errorf("bid %d of %s: its twin got %+v %v %v", bid.Seq, bid.Amount, again, replayed, err)
				}
			}
		})
	}
	bidding.Wait()
	if err := h.faults(id, nil); err != nil {
		t.Error(err)
	}
}

// After the database has lost commits, a desk that remembers them refuses for a moment only, and
// then learns anew.
func TestWhatTheDatabaseHasLostRefusesNobody(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 2)
	desk := h.desk()
	desk.Remember(50 * time.Millisecond)
	id := h.open(hour, auction.SoftClose{})
	for i := range int64(3) {
		h.place(desk, request(id, h.bidders[i%2], 200000+1000*i))
	}
	h.exec("SET session_replication_role = replica",
		fmt.Sprintf(`UPDATE auctions SET current_price = start_price, leader_id = NULL, leader_paddle = NULL,
			bid_count = 0, bidder_count = 0, version = 1
			WHERE id = %d`, id), fmt.Sprintf("DELETE FROM bids WHERE auction_id = %d", id))
	h.eventually(5*time.Second, "a bid above the price that is left is taken", func() bool {
		_, _, err := desk.Place(t.Context(), request(id, h.bidders[0], 101000))
		return err == nil
	})
	desk.Remember(hour)
	h.place(desk, request(id, h.bidders[1], 102000))
	release := h.locked(id)
	defer release()
	var low *auction.TooLowError
	if _, _, err := desk.Place(t.Context(), request(id, h.bidders[0], 102500)); !errors.As(err, &low) {
		t.Errorf("the desk does not remember the new price: %v", err)
	}
}

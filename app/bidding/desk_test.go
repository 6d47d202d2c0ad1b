package bidding

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"martelo/app/auction"
	"martelo/app/money"
	"martelo/db"
	"martelo/db/dbtest"
)

func newTestDesk(t *testing.T) (desk *Desk, auctionID, bidder int64) {
	pool := dbtest.Pool(t)
	q := db.New(pool)
	var people []int64
	for range 2 {
		user, err := q.UserInsert(t.Context(), db.UserInsertParams{Name: "somebody", Role: "seller"})
		if err != nil {
			t.Fatal(err)
		}
		people = append(people, user.ID)
	}
	now, err := q.Clock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	id, err := q.AuctionInsert(t.Context(), db.AuctionInsertParams{
		SellerID: people[0], Currency: "USD", CurrencyDigits: 2, StartPrice: 100000, MinIncrement: 1000, Status: "OPEN", Lane: "standard",
		StartAt: now, EndAt: now.Add(time.Hour), Title: "Vintage watch",
	})
	if err != nil {
		t.Fatal(err)
	}
	return New(pool, func(auction.Update) {}, slog.New(slog.DiscardHandler), prometheus.NewRegistry()), id, people[1]
}

func requestFor(t *testing.T, id, bidder int64, amount string) auction.Request {
	d, err := money.Parse(amount)
	if err != nil {
		t.Fatal(err)
	}
	return auction.Request{AuctionID: id, BidderID: bidder, Amount: d, Key: uuid.New()}
}

func (d *Desk) idle() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.queues) == 0
}

// A full queue says so at once, decides nothing, and takes bids again as soon as there is room.
func TestAFullQueueIsHonest(t *testing.T) {
	desk, id, bidder := newTestDesk(t)
	q := &queue{}
	for range queueMax {
		q.waiting = append(q.waiting, &ticket{request: requestFor(t, id, bidder, "1"), since: time.Now(), answer: make(chan answer, 1)})
	}
	desk.queues[id] = q
	r := requestFor(t, id, bidder, "1010")
	if _, _, err := desk.Place(t.Context(), r); !errors.Is(err, ErrBusy) || !errors.Is(err, auction.ErrUnavailable) {
		t.Fatalf("a full queue answered %v", err)
	}
	desk.workers.Add(1)
	desk.work(id, q)
	if bid, _, err := desk.Place(t.Context(), r); err != nil || bid.Seq != 1 {
		t.Fatalf("%+v %v", bid, err)
	}
}

func TestACallerThatGoesAwayDoesNotTakeItsBidBack(t *testing.T) {
	desk, id, bidder := newTestDesk(t)
	gone, leave := context.WithCancel(t.Context())
	leave()
	r := requestFor(t, id, bidder, "1010")
	if _, _, err := desk.Place(gone, r); err != nil && !errors.Is(err, auction.ErrUnavailable) {
		t.Fatal(err)
	}
	if err := desk.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	bids, err := db.New(desk.pool).BidsLatest(t.Context(), db.BidsLatestParams{AuctionID: id, RowLimit: 2})
	if err != nil || len(bids) != 1 || bids[0].RequestID != r.Key {
		t.Fatalf("%+v %v", bids, err)
	}
	if _, _, err := desk.Place(t.Context(), r); !errors.Is(err, auction.ErrUnavailable) {
		t.Fatalf("a stopped desk answered %v", err)
	}
}

func TestAnIdleAuctionCostsNothing(t *testing.T) {
	desk, id, bidder := newTestDesk(t)
	before := goleak.IgnoreCurrent()
	if _, _, err := desk.Place(t.Context(), requestFor(t, id, bidder, "1010")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := desk.Place(t.Context(), requestFor(t, id+999, bidder, "1010")); !errors.Is(err, auction.ErrNotFound) {
		t.Fatalf("an unknown auction: %v", err)
	}
	desk.workers.Wait()
	if !desk.idle() {
		t.Error("the desk keeps a queue for an idle auction")
	}
	desk.pool.Close()
	goleak.VerifyNone(t, before)
}

// The statement that writes states the rule again: a decision that no longer holds writes nothing at all.
func TestTheWriteChecksTheDecision(t *testing.T) {
	desk, id, bidder := newTestDesk(t)
	for name, spoil := range map[string]func(before, after *auction.State, accepted []auction.Bid){
		"another bid came first": func(before, _ *auction.State, _ []auction.Bid) { before.BidCount = 5 },
		"below price + increment": func(_, _ *auction.State, accepted []auction.Bid) {
			accepted[0].Amount = money.FromMinor(100999, accepted[0].Amount.Currency())
		},
		"an auction of other name": func(_, after *auction.State, _ []auction.Bid) { after.ID += 999 },
	} {
		r := requestFor(t, id, bidder, "1010")
		conn, err := desk.pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		locked, err := lock(t.Context(), conn, id, []auction.Request{r})
		if err != nil {
			t.Fatal(err)
		}
		before := locked.state
		after, accepted, _ := before.Fold([]auction.Request{r}, locked.memory, locked.now)
		spoil(&before, &after, accepted)
		if _, err := write(t.Context(), conn, before, after, accepted); !errors.Is(err, errStale) {
			t.Errorf("%s: %v", name, err)
		}
		conn.Release()
		left, err := db.New(desk.pool).AuctionsLive(t.Context(), []int64{id})
		if err != nil || left[0].Auction.BidCount != 0 || left[0].Auction.Version != 1 {
			t.Errorf("%s: %+v %v", name, left, err)
		}
	}
}

func TestWaitingTooLongIsAnswered(t *testing.T) {
	old := &ticket{since: time.Now().Add(-waitMax - time.Second), answer: make(chan answer, 1)}
	young := &ticket{since: time.Now(), answer: make(chan answer, 1)}
	if left := refuseStale([]*ticket{old, young}, time.Now()); len(left) != 1 || left[0] != young {
		t.Fatalf("%d left", len(left))
	}
	if a := <-old.answer; !errors.Is(a.err, auction.ErrUnavailable) {
		t.Fatal(a.err)
	}
}

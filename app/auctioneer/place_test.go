package auctioneer

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

func newTestDesk(t *testing.T) (desk *Auctioneer, auctionID, bidder int64) {
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
		SellerID: people[0], Currency: "USD", CurrencyDigits: 2, StartPrice: 100000, MinIncrement: 1000, Status: "OPEN",
		Lane:    "standard",
		StartAt: now, EndAt: now.Add(time.Hour), Title: "Vintage watch",
	})
	if err != nil {
		t.Fatal(err)
	}
	return New(
		Options{Database: pool, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry()},
	), id, people[1]
}

func requestFor(t *testing.T, id, bidder int64, amount string) auction.Request {
	d, err := money.Parse(amount)
	if err != nil {
		t.Fatal(err)
	}
	return auction.Request{AuctionID: id, BidderID: bidder, Amount: d, Key: uuid.New()}
}

// A full queue says so at once, decides nothing, and takes bids again as soon as there is room.
func TestAFullQueueIsHonest(t *testing.T) {
	t.Parallel()
	desk, id, bidder := newTestDesk(t)
	queue := desk.queues[uint64(id)%queueCount]
	for range queueMax {
		low := &pendingBid{request: requestFor(t, id, bidder, "1"), since: time.Now(), answer: make(chan answer, 1)}
		if _, err := queue.Add(id, low); err != nil { // nobody works on it
			t.Fatal(err)
		}
	}
	r := requestFor(t, id, bidder, "1010")
	if _, _, err := desk.Place(t.Context(), r); !errors.Is(err, ErrBusy) || !errors.Is(err, auction.ErrUnavailable) {
		t.Fatalf("a full queue answered %v", err)
	}
	desk.workTogether(queue)
	if bid, _, err := desk.Place(t.Context(), r); err != nil || bid.Seq != 1 {
		t.Fatalf("%+v %v", bid, err)
	}
}

func TestACallerThatGoesAwayDoesNotTakeItsBidBack(t *testing.T) {
	t.Parallel()
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
	if _, _, err := desk.Place(
		t.Context(), requestFor(t, id+999, bidder, "1010"),
	); !errors.Is(err, auction.ErrNotFound) {
		t.Fatalf("an unknown auction: %v", err)
	}
	desk.workers.Wait()
	if desk.alone.Len() > 0 {
		t.Error("an idle auction has a worker")
	}
	desk.pool.Close()
	goleak.VerifyNone(t, before)
}

// The statement that writes states the rule again: a decision that no longer holds writes nothing
// at all.
func TestTheWriteChecksTheDecision(t *testing.T) {
	t.Parallel()
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
		l := &lot{id: id, requests: []auction.Request{r}, bids: []*pendingBid{{request: r}}}
		locked, err := lockLots(t.Context(), conn, []*lot{l}, passOverHeld)
		if err != nil {
			t.Fatal(err)
		}
		d, err := locked.decide(l)
		if err != nil {
			t.Fatal(err)
		}
		spoil(&d.before, &d.after, d.accepted)
		if err := write(t.Context(), conn, []*decision{d}, locked.now); err != nil || !errors.Is(l.err, errStale) {
			t.Errorf("%s: %v %v", name, err, l.err)
		}
		conn.Release()
		left, err := db.New(desk.pool).AuctionsLive(t.Context(), []int64{id})
		if err != nil || left[0].Auction.BidCount != 0 || left[0].Auction.Version != 1 {
			t.Errorf("%s: %+v %v", name, left, err)
		}
	}
}

func TestWaitingTooLongIsAnswered(t *testing.T) {
	t.Parallel()
	old := &pendingBid{since: time.Now().Add(-waitMax - time.Second), answer: make(chan answer, 1)}
	young := &pendingBid{since: time.Now(), answer: make(chan answer, 1)}
	if left := refuseStale([]*pendingBid{old, young}, time.Now()); len(left) != 1 || left[0] != young {
		t.Fatalf("%d left", len(left))
	}
	if a := <-old.answer; !errors.Is(a.err, auction.ErrUnavailable) {
		t.Fatal(a.err)
	}
}

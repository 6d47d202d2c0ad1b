package auctioneer_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"martelo/app/auction"
	"martelo/app/auctioneer"
)

// A batch gives each auction exactly what deciding its bids alone would: the same answers, the same
// state, the same log.
func TestABatchDecidesEachAuctionAsIfAlone(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 5)
	node := h.node(auctioneer.Options{})
	rapid.Check(t, func(t *rapid.T) {
		var ids []int64
		models, memories := map[int64]auction.State{}, map[int64]auction.Memory{}
		for range rapid.IntRange(1, 6).Draw(t, "auctions") {
			ends := rapid.SampledFrom([]time.Duration{hour, time.Minute}).Draw(t, "ends")
			id := h.open(
				ends, rapid.SampledFrom([]auction.SoftClose{{}, auction.DefaultSoftClose}).Draw(t, "soft close"),
			)
			ids = append(ids, id)
			models[id] = h.state(id)
			memories[id] = auction.Memory{ByKey: map[uuid.UUID]auction.Bid{}, Paddles: map[int64]int{}}
		}
		var keys []uuid.UUID
		for range 3 {
			keys = append(keys, uuid.New())
		}
		for range rapid.IntRange(1, 3).Draw(t, "batches") {
			var requests []auction.Request
			for range rapid.IntRange(1, 20).Draw(t, "bids") {
				r := request(rapid.SampledFrom(ids).Draw(t, "auction"),
					rapid.SampledFrom(append(h.bidders, h.seller)).Draw(t, "bidder"),
					rapid.Int64Range(100, 130).Draw(t, "amount")*1000)
				if rapid.Bool().Draw(t, "twin") { // of a bid on this auction, or on another
					r.Key = rapid.SampledFrom(keys).Draw(t, "key")
				}
				requests = append(requests, r)
			}
			answers, errs, err := node.InOneBatch(h.Context(), requests)
			if err != nil || errors.Join(errs...) != nil {
				t.Fatal(err, errs)
			}
			agree(t, h, requests, answers, models, memories)
		}
		for _, id := range ids {
			if got := h.state(id); got != models[id] {
				t.Fatalf("auction %d ended in %+v, the rulebook in %+v", id, got, models[id])
			}
			if err := h.faults(id, nil); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// agree decides the requests once more, each auction's alone and by the rulebook, and compares.
func agree(
	t *rapid.T, h *house, requests []auction.Request, answers []auction.Answer,
	models map[int64]auction.State, memories map[int64]auction.Memory,
) {
	now, err := h.clock()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range answers {
		if a.Refusal == nil && !a.Replayed {
			now = a.Bid.AcceptedAt // the one clock of the batch
		}
	}
	for id := range models {
		var mine []auction.Request
		var got []auction.Answer
		for i, r := range requests {
			if r.AuctionID == id {
				mine, got = append(mine, r), append(got, answers[i])
			}
		}
		state, _, want := models[id].Fold(mine, memories[id], now)
		models[id] = state
		for i := range want {
			a, b := got[i], want[i]
			if told(a.Bid, a.Replayed, a.Refusal) != told(b.Bid, b.Replayed, b.Refusal) {
				t.Fatalf("%+v: the batch told %s, the rulebook %s", mine[i],
					told(a.Bid, a.Replayed, a.Refusal), told(b.Bid, b.Replayed, b.Refusal))
			}
		}
	}
}

// Histories of several auctions whose bids share batches, on one node and on two, are linearizable
// for each auction.
func TestHistoriesOfSeveralAuctionsAreLinearizable(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 8)
	nodes := []placer{h.desk(), h.desk()}
	model := book(true, true)
	model.Partition = func(operations []porcupine.Operation) [][]porcupine.Operation {
		byAuction := map[int64][]porcupine.Operation{}
		for _, op := range operations {
			id := op.Input.(auction.Request).AuctionID
			byAuction[id] = append(byAuction[id], op)
		}
		var parts [][]porcupine.Operation
		for _, part := range byAuction {
			parts = append(parts, part)
		}
		return parts
	}
	for round := range 6 {
		var mu sync.Mutex
		var operations []porcupine.Operation
		var bidding sync.WaitGroup
		for i := range 5 {
			ends := hour
			if i == 4 {
				ends = 25 * time.Millisecond // in the middle of the history
			}
			id := h.open(ends, auction.SoftClose{})
			bidding.Go(func() {
				found := history(h, id, nodes[:1+round%2]...)
				mu.Lock()
				defer mu.Unlock()
				operations = append(operations, found...)
			})
		}
		bidding.Wait()
		if !porcupine.CheckOperations(model, operations) {
			t.Fatalf("round %d: no order of the %d answers explains them", round, len(operations))
		}
	}
}

// The same key on several auctions of a batch is several bids.
func TestAKeyCountsForOneAuction(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1)
	node := h.node(auctioneer.Options{})
	first, second := h.open(hour, auction.SoftClose{}), h.open(hour, auction.SoftClose{})
	r := request(first, h.bidders[0], 101000)
	twin, elsewhere := r, r
	elsewhere.AuctionID = second
	for range 2 { // together in one batch, and known from the log
		answers, errs, err := node.InOneBatch(t.Context(), []auction.Request{r, elsewhere, twin})
		if err != nil || errors.Join(errs...) != nil {
			t.Fatal(err, errs)
		}
		for i, a := range answers {
			if a.Refusal != nil || a.Bid.AuctionID != []int64{first, second, first}[i] || a.Bid.Seq != 1 {
				t.Errorf("bid %d: %+v", i, a)
			}
		}
	}
	if len(h.log(first)) != 1 || len(h.log(second)) != 1 {
		t.Error("a key was accepted twice")
	}
}

// While somebody holds an auction's row, bids on all others go on, and those on the held one are
// decided once it is let go. Two of the auctions that share its queue are tried at the same time.
func TestAHeldRowKeepsNoOtherWaiting(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 4)
	node := h.desk()
	var ids []int64
	for range 9 {
		ids = append(ids, h.open(hour, auction.SoftClose{}))
	}
	holder, err := h.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.Exec(t.Context(), "SELECT FROM auctions WHERE id = $1 FOR UPDATE", ids[0]); err != nil {
		t.Fatal(err)
	}
	held := make(chan error, 10)
	for i := range 10 {
		go func() {
			_, _, err := node.Place(t.Context(), request(ids[0], h.bidders[0], 101000+int64(i)*1000))
			var low *auction.TooLowError
			if errors.As(err, &low) {
				err = nil
			}
			held <- err
		}()
	}
	for round := range int64(5) {
		for _, id := range ids[1:] {
			h.place(node, request(id, h.bidders[round%4], 101000+round*1000))
		}
	}
	select {
	case err := <-held:
		t.Errorf("a bid on the held auction was answered: %v", err)
	default:
	}
	if err := holder.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if err := <-held; err != nil {
			t.Errorf("a bid on the auction that was held: %v", err)
		}
	}
	for _, id := range ids {
		if err := h.faults(id, nil); err != nil {
			t.Error(err)
		}
	}
}

// An auction whose row PostgreSQL refuses, and one whose decision no longer holds, cost their own
// bids and nobody else's.
func TestABadAuctionSpoilsNoBatch(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 4)
	node := h.desk()
	var ids []int64
	for range 6 {
		ids = append(ids, h.open(hour, auction.SoftClose{}))
	}
	h.exec(`CREATE FUNCTION stuck() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'stuck'; END $$`,
		fmt.Sprintf(`CREATE TRIGGER stuck BEFORE UPDATE ON auctions FOR EACH ROW WHEN (OLD.id = %d)
			EXECUTE FUNCTION stuck()`, ids[2]))
	var requests []auction.Request
	for round := range int64(8) {
		for _, id := range ids {
			requests = append(requests, request(id, h.bidders[round%4], 101000+round*1000))
		}
	}
	answers, errs, err := node.InOneBatch(t.Context(), requests)
	if err == nil {
		t.Fatalf("PostgreSQL refused nothing: %v %v", answers, errs)
	}
	outcomes := race(t.Context(), requests, node)
	for _, o := range outcomes {
		var low *auction.TooLowError
		bad := o.request.AuctionID == ids[2]
		if undecided := o.err != nil && !errors.As(o.err, &low); undecided != bad {
			t.Errorf("auction %d (bad: %v): %v", o.request.AuctionID, bad, o.err)
		}
	}
	for _, id := range ids {
		if err := h.faults(id, nil); err != nil {
			t.Error(err)
		}
	}
	if len(h.log(ids[2])) > 0 {
		t.Error("the bad auction has bids")
	}
}

// Two nodes bid on the same hundred auctions, each batch in another order: nobody waits for ever,
// and nothing is lost.
func TestNodesThatShareManyAuctionsNeverBlockEachOther(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 20)
	nodes := []placer{h.desk(), h.desk()}
	var requests []auction.Request
	var ids []int64
	for range 100 {
		ids = append(ids, h.open(hour, auction.SoftClose{}))
	}
	for round := range int64(20) {
		for i := range ids {
			id := ids[(i*37+int(round)*11)%len(ids)]
			requests = append(requests, request(id, h.bidders[round], 101000+round*1000))
		}
	}
	outcomes := race(t.Context(), requests, nodes...)
	byAuction := map[int64][]outcome{}
	for _, o := range outcomes {
		var low *auction.TooLowError
		if o.err != nil && !errors.As(o.err, &low) {
			t.Errorf("auction %d: %v", o.request.AuctionID, o.err)
		}
		byAuction[o.request.AuctionID] = append(byAuction[o.request.AuctionID], o)
	}
	for _, id := range ids {
		if err := h.faults(id, byAuction[id]); err != nil {
			t.Error(err)
		}
	}
}

// A fault of ours while one auction is announced keeps no other from its answers and its announcement.
func TestAFaultInOneAnnouncementStopsNoOther(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1)
	var ids []int64
	for range 5 {
		ids = append(ids, h.open(hour, auction.SoftClose{}))
	}
	var mu sync.Mutex
	announced := map[int64]bool{}
	node := h.announcing(func(u auction.Update) {
		if u.State.ID == ids[0] {
			panic("in an announcement")
		}
		mu.Lock()
		defer mu.Unlock()
		announced[u.State.ID] = true
	})
	var requests []auction.Request
	for _, id := range ids {
		requests = append(requests, request(id, h.bidders[0], 101000))
	}
	for i, err := range node.PlaceTogether(t.Context(), requests) {
		if faulty := requests[i].AuctionID == ids[0]; (err != nil) != faulty {
			t.Errorf("auction %d: %v", requests[i].AuctionID, err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(announced) != len(ids)-1 {
		t.Errorf("%d of %d were announced", len(announced), len(ids)-1)
	}
}

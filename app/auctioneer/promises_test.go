package auctioneer_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"martelo/app/auction"
	"martelo/db/dbtest"
)

const hour = time.Hour

// Two hundred bids 1010 … 3000 at once over two nodes, again and again: the dearest leads, whatever
// the order.
func TestTwoHundredBidsAtOnce(t *testing.T) { inBothLanes(t, twoHundredBidsAtOnce) }

func twoHundredBidsAtOnce(t *testing.T, lane auction.Lane) {
	const rounds, bids = 50, 200
	h := newHouseIn(t, lane, bids)
	here, there := h.desk(), h.desk()
	for round := range rounds {
		id := h.open(hour, auction.SoftClose{})
		requests := make([]auction.Request, bids)
		for i := range requests {
			requests[i] = request(id, h.bidders[i], 100000+int64(i+1)*1000)
		}
		outcomes := race(t.Context(), requests, here, there)
		if err := h.faults(id, outcomes); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if s := h.state(id); s.CurrentPrice.String() != "3000.00" || s.LeaderID != h.bidders[bids-1] {
			t.Fatalf("round %d: %s by %d", round, s.CurrentPrice, s.LeaderID)
		}
		for _, o := range outcomes {
			var low *auction.TooLowError
			if o.err != nil && !errors.As(o.err, &low) {
				t.Fatalf("round %d: %v", round, o.err)
			}
		}
	}
}

// twinFaults sends one key many times at once over the placers, in many rounds, and says which
// copies were told anything but the one bid: while it leads, after it was outbid, and after the
// close.
func twinFaults(h *house, rounds int, placers ...placer) error {
	const copies = 20
	var all []error
	for range rounds {
		id := h.open(hour, auction.SoftClose{})
		r := request(id, h.bidders[0], 101000)
		twins := make([]auction.Request, copies)
		for i := range twins {
			twins[i] = r
		}
		outcomes := race(h.Context(), twins, placers...)
		if _, _, err := placers[0].Place(h.Context(), request(id, h.bidders[1], 150000)); err != nil {
			all = append(all, err)
		}
		outcomes = append(outcomes, race(h.Context(), twins[:2], placers...)...)
		h.end(id)
		outcomes = append(outcomes, race(h.Context(), twins[:2], placers...)...)
		fresh := 0
		for _, o := range outcomes {
			switch {
			case o.err != nil:
				all = append(all, fmt.Errorf("a twin was told: %w", o.err))
			case !o.replayed:
				fresh++
			case o.bid.Seq != 1 || o.bid.BidderID != h.bidders[0]:
				all = append(all, fmt.Errorf("a twin was told of %+v", o.bid))
			}
		}
		if fresh != 1 {
			all = append(all, fmt.Errorf("%d twins were accepted", fresh))
		}
		all = append(all, h.faults(id, outcomes))
	}
	return errors.Join(all...)
}

func TestTwinsGetOneBid(t *testing.T) {
	inBothLanes(t, func(t *testing.T, lane auction.Lane) {
		h := newHouseIn(t, lane, 2)
		if err := twinFaults(h, 15, h.desk(), h.desk()); err != nil {
			t.Error(err)
		}
	})
	h := newHouse(t, 2)
	if err := twinFaults(h, 5, publishedDesign{Pool: h.pool}); err == nil {
		t.Error("the published design passed: the test cannot fail")
	}
}

// lateFaults holds the auction's row lock until its end has passed, lets a bid wait for it, and
// gives the lock up without a change: by rollback, and by committing a mere FOR UPDATE. It says
// whether the bid was taken all the same.
func lateFaults(h *house, place placer) error {
	var all []error
	for _, release := range []func(pgx.Tx, context.Context) error{pgx.Tx.Rollback, pgx.Tx.Commit} {
		id := h.open(700*time.Millisecond, auction.DefaultSoftClose)
		holder, err := h.pool.Begin(h.Context())
		if err != nil {
			return err
		}
		if _, err := holder.Exec(h.Context(), `SELECT 1 FROM auctions WHERE id = $1 FOR UPDATE`, id); err != nil {
			return err
		}
		told := make(chan outcome, 1)
		go func() {
			bid, replayed, err := place.Place(h.Context(), request(id, h.bidders[0], 200000))
			told <- outcome{bid: bid, replayed: replayed, err: err}
		}()
		// The holder itself waits for the end by the clock that decides; the bid has been waiting
		// for the row since before it.
		if _, err := holder.Exec(
			h.Context(), `SELECT pg_sleep_until(end_at + interval '100 milliseconds') FROM auctions WHERE id = $1`, id,
		); err != nil {
			return err
		}
		if err := release(holder, h.Context()); err != nil {
			return err
		}
		o, ended := <-told, h.state(id)
		if o.err == nil {
			all = append(
				all, fmt.Errorf("a bid was taken at %s, the end was %s", o.bid.AcceptedAt, ended.OriginalEndAt),
			)
		}
		if ended.Extended() || ended.BidCount != 0 {
			all = append(all, fmt.Errorf("a late bid changed %+v", ended))
		}
	}
	return errors.Join(all...)
}

func TestNoLateBid(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1)
	if err := lateFaults(h, h.desk()); err != nil {
		t.Error(err)
	}
	if err := lateFaults(h, publishedDesign{Pool: h.pool}); err == nil {
		t.Error("the published design passed: the test cannot fail")
	}
}

// reuseFaults says whether a key answers somebody else, or another amount, with the first one's
// bid.
func reuseFaults(h *house, place placer) error {
	id := h.open(hour, auction.SoftClose{})
	first := request(id, h.bidders[0], 101000)
	if _, _, err := place.Place(h.Context(), first); err != nil {
		return err
	}
	var all []error
	for name, change := range map[string]func(*auction.Request){
		"another bidder": func(r *auction.Request) { r.BidderID = h.bidders[1] },
		"another amount": func(r *auction.Request) { r.Amount = decimal(102000) },
	} {
		again := first
		change(&again)
		if bid, _, err := place.Place(h.Context(), again); !errors.Is(err, auction.ErrKeyReused) {
			all = append(all, fmt.Errorf("%s was told %+v, %w", name, bid, err))
		}
	}
	return errors.Join(all...)
}

func TestAKeyIsForOneBidderAndAmount(t *testing.T) {
	inBothLanes(t, func(t *testing.T, lane auction.Lane) {
		h := newHouseIn(t, lane, 2)
		if err := reuseFaults(h, h.desk()); err != nil {
			t.Error(err)
		}
	})
	h := newHouse(t, 2)
	if err := reuseFaults(h, publishedDesign{Pool: h.pool}); err == nil {
		t.Error("the published design passed: the test cannot fail")
	}
}

// Forty bidders hammer on two nodes across the end, with lock holders rolling back between them.
// Nothing is accepted at or after the end, and nothing that was sent after somebody had been told
// that the auction is closed.
func TestHammeringAcrossTheEnd(t *testing.T) {
	dbtest.Long(t)
	inBothLanes(t, hammeringAcrossTheEnd)
}

func hammeringAcrossTheEnd(t *testing.T, lane auction.Lane) {
	h := newHouseIn(t, lane, 40)
	desks := []placer{h.desk(), h.desk()}
	id := h.open(4*time.Second, auction.SoftClose{}) // long enough for many bids on a busy machine
	var mu sync.Mutex
	var outcomes []outcome
	var closedTold time.Time // on this process's monotonic clock
	var after int
	var hammering sync.WaitGroup
	for i, bidder := range h.bidders {
		hammering.Go(func() {
			for n := int64(1); ; n++ {
				sent := time.Now()
				r := request(id, bidder, 100000+n*40000+int64(i)*1000)
				bid, replayed, err := desks[i%2].Place(h.Context(), r)
				var closed *auction.ClosedError
				isClosed := errors.As(err, &closed)
				mu.Lock()
				outcomes = append(outcomes, outcome{r, bid, replayed, err})
				if err == nil && !closedTold.IsZero() && sent.After(closedTold) {
					after++
				}
				if isClosed && closedTold.IsZero() {
					closedTold = time.Now()
				}
				mu.Unlock()
				if isClosed {
					return
				}
			}
		})
	}
	hammering.Go(func() {
		for {
			tx, err := h.pool.Begin(h.Context())
			if err != nil {
				return
			}
			var over bool
			_ = tx.QueryRow(
				h.Context(), `SELECT end_at <= clock_timestamp() FROM auctions WHERE id = $1 FOR UPDATE`, id,
			).Scan(&over)
			_ = tx.Rollback(h.Context())
			if over {
				return
			}
		}
	})
	hammering.Wait()
	if after > 0 {
		t.Errorf("%d bids were taken that were sent after the first refusal as closed", after)
	}
	if err := h.faults(id, outcomes); err != nil {
		t.Error(err)
	}
	log, s := h.log(id), h.state(id)
	if len(log) < 40 {
		t.Errorf("only %d bids: nobody hammered", len(log))
	}
	for _, b := range log {
		if !b.AcceptedAt.Before(s.EndAt) {
			t.Errorf("bid %d at %s, the end was %s", b.Seq, b.AcceptedAt, s.EndAt)
		}
	}
}

// A reader that looks all the time never sees a bid without the extension it brought, nor an
// extension without its bid.
func TestTheExtensionBelongsToTheBid(t *testing.T) { inBothLanes(t, theExtensionBelongsToTheBid) }

func theExtensionBelongsToTheBid(t *testing.T, lane auction.Lane) {
	h := newHouseIn(t, lane, 8)
	desk := h.desk()
	id := h.open(time.Minute, auction.DefaultSoftClose)
	stop := make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			var count int64
			var torn bool
			err := h.pool.QueryRow(h.Context(), `
				SELECT a.bid_count, a.bid_count > 0 AND a.end_at <> b.accepted_at + interval '2 minutes'
				OR (a.bid_count > 0) <> (a.end_at > a.original_end_at)
				FROM auctions a LEFT JOIN bids b ON b.auction_id = a.id AND b.seq = a.bid_count
				WHERE a.id = $1`, id).Scan(&count, &torn)
			if err != nil || torn {
				t.Errorf("after %d bids: torn=%v, %v", count, torn, err)
				return
			}
		}
	})
	for i := range int64(60) {
		if _, _, err := desk.Place(t.Context(), request(id, h.bidders[i%8], 101000+i*1000)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := desk.Place(t.Context(), request(id, h.bidders[i%8], 100000)); err == nil {
			t.Fatal("a low bid was taken")
		}
	}
	close(stop)
	reading.Wait()
}

// What is announced is committed, whole, and carries the newest bids without a gap.
func TestAnnouncementsFollowTheCommit(t *testing.T) { inBothLanes(t, announcementsFollowTheCommit) }

func announcementsFollowTheCommit(t *testing.T, lane auction.Lane) {
	h := newHouseIn(t, lane, 30)
	var mu sync.Mutex
	var updates []auction.Update
	desk := h.announcing(func(u auction.Update) {
		if s := h.state(u.State.ID); s.Version < u.State.Version {
			t.Errorf("version %d was announced while the database had %d", u.State.Version, s.Version)
		}
		mu.Lock()
		updates = append(updates, u)
		mu.Unlock()
	})
	id := h.open(hour, auction.SoftClose{})
	var requests []auction.Request
	for i := range int64(30) {
		requests = append(requests, request(id, h.bidders[i], 101000+i*1000))
	}
	race(t.Context(), requests, desk)
	// A bid is answered before it is announced; a stopped desk has announced everything.
	if err := desk.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	log := h.log(id)
	if len(updates) == 0 {
		t.Fatal("nothing was announced")
	}
	for _, u := range updates {
		want := min(auction.RecentMax, int(u.State.BidCount))
		if len(u.Recent) != want {
			t.Fatalf("%d recent bids of %d", len(u.Recent), u.State.BidCount)
		}
		for i, b := range u.Recent {
			if seq := u.State.BidCount - int64(i); b != log[seq-1] {
				t.Fatalf("recent bid %d is %+v, the log has %+v", i, b, log[seq-1])
			}
		}
	}
}

// An announcement tells the newest bids whole, also when those before its own were taken by another
// desk: it may come before theirs.
func TestAnAnnouncementIsCompleteByItself(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 2)
	told := make(chan auction.Update, 10)
	here, there := h.announcing(func(u auction.Update) { told <- u }), h.desk()
	id := h.open(hour, auction.SoftClose{})
	for n := range int64(12) {
		placer := []placer{here, there}[n%2]
		h.place(placer, request(id, h.bidders[n%2], 101000+n*1000))
	}
	var last auction.Update
	for range 6 {
		last = <-told
	}
	if len(last.Recent) != auction.RecentMax {
		t.Fatalf("it tells %d bids", len(last.Recent))
	}
	for i, bid := range last.Recent {
		if bid.Seq != int64(11-i) || bid.ID == 0 {
			t.Errorf("bid %d from the newest is %+v", i, bid)
		}
	}
}

// Somebody whose every press arrives at once, as from a held key, is asked before each but the
// first: one is taken.
func TestNobodyRaisesTheOwnLeadUnasked(t *testing.T) { inBothLanes(t, nobodyRaisesTheOwnLeadUnasked) }

func nobodyRaisesTheOwnLeadUnasked(t *testing.T, lane auction.Lane) {
	h := newHouseIn(t, lane, 1)
	desk, id := h.desk(), h.open(hour, auction.SoftClose{})
	h.warm(id, desk)
	const presses = 28
	errs := make([]error, presses)
	var pressing sync.WaitGroup
	for i := range presses {
		pressing.Go(func() {
			_, _, errs[i] = desk.Place(h.Context(), auction.Request{
				AuctionID: id, BidderID: h.bidders[0], Amount: decimal(101_000 + 1000*int64(i)), Key: uuid.New(),
				Ask: auction.Questions{OwnLead: true},
			})
		})
	}
	pressing.Wait()
	taken := 0
	for _, err := range errs {
		var open *auction.UnconfirmedError
		var low *auction.TooLowError
		switch {
		case err == nil:
			taken++
		case errors.As(err, &open) && open.OwnLead, errors.As(err, &low):
		default:
			t.Errorf("a press was answered %v", err)
		}
	}
	if s := h.state(id); taken != 1 || s.BidCount != 1 {
		t.Errorf("%d of %d presses were taken, %d bids", taken, presses, s.BidCount)
	}
}

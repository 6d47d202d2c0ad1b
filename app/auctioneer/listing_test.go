package auctioneer_test

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"martelo/app/auction"
	"martelo/app/listing"
	"martelo/db/dbtest"
)

func (h *house) follower() *listing.Follower {
	return listing.New(h.pool, slog.New(slog.DiscardHandler), nil)
}

// behind names the auctions whose listings do not say what the auctions say.
func (h *house) behind() []string {
	h.Helper()
	rows, err := h.pool.Query(h.Context(), `
		SELECT format('auction %s: %s %s %s %s', a.id, a.status, a.end_at, a.nominal_price, l)
		FROM auctions a LEFT JOIN listings l ON l.auction_id = a.id
		WHERE (a.status, a.end_at, a.nominal_price, a.version) IS DISTINCT FROM (l.status, l.end_at, l.nominal_price,
		l.version)`)
	if err != nil {
		h.Fatal(err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		h.Fatal(err)
	}
	return found
}

// updates are how often rows of auctions were changed, and how often within their page without
// touching an index. PostgreSQL counts for each connection and tells a little later.
func (h *house) updates() (all, hot int64) {
	h.Helper()
	// A fresh connection sees what the others have told, which they do when they have been idle or
	// end.
	h.pool.Reset()
	err := h.pool.QueryRow(
		h.Context(), `SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'auctions'`,
	).
		Scan(&all, &hot)
	if err != nil {
		h.Fatal(err)
	}
	return all, hot
}

// A bid touches no index of auctions: not in either lane, nor when it moves the end.
func TestBidsTouchNoIndexOfAuctions(t *testing.T) { inBothLanes(t, bidsTouchNoIndexOfAuctions) }

func bidsTouchNoIndexOfAuctions(t *testing.T, lane auction.Lane) {
	// A server of its own: old versions of a row are cleared from their page only once no
	// transaction on the server is older, and other tests have some.
	h := newHouseOnServer(t, lane, dbtest.StartPostgres(t).URL(), 8)
	desk := h.desk()
	var ids []int64
	for range 20 {
		ids = append(ids, h.open(time.Minute, auction.DefaultSoftClose)) // each bid moves the end
	}
	for _, id := range ids {
		h.warm(id, desk) // a hot auction is brought into Redis, which is no bid
	}
	allBefore, hotBefore := h.updates()
	var requests []auction.Request
	for round := range int64(40) {
		for _, id := range ids {
			requests = append(requests, request(id, h.bidders[round%8], 101000+round*1000))
		}
	}
	race(t.Context(), requests, desk)
	for _, id := range ids {
		if h.state(id).EndAt.Equal(h.state(id).OriginalEndAt) {
			t.Fatalf("auction %d was not extended", id)
		}
	}
	h.eventually(20*time.Second, "PostgreSQL tells of the updates", func() bool {
		all, _ := h.updates()
		return all-allBefore >= int64(len(ids))
	})
	all, hot := h.updates()
	if all-allBefore != hot-hotBefore {
		t.Errorf("of %d updates %d touched an index", all-allBefore, all-allBefore-(hot-hotBefore))
	}
}

// The order of lists follows bids within a second, and a status is there at once.
func TestListingsFollowBids(t *testing.T) { inBothLanes(t, listingsFollowBids) }

func listingsFollowBids(t *testing.T, lane auction.Lane) {
	h := newHouseIn(t, lane, 4)
	follower := h.follower()
	node := h.announcing(nil)
	node.List(follower)
	id := h.open(time.Minute, auction.DefaultSoftClose)
	if found := h.behind(); len(found) > 0 {
		t.Errorf("a new auction is not listed: %v", found)
	}
	h.place(node, request(id, h.bidders[0], 150000))
	h.settled(id)
	if err := follower.Follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.eventually(listing.Within, "the listing follows", func() bool {
		if lane == auction.Hot { // whoever settled is another node, whose follower is not this one
			follower.Touch(id)
		}
		if err := follower.Follow(t.Context()); err != nil {
			t.Fatal(err)
		}
		return len(h.behind()) == 0
	})
	h.end(id)
	h.eventually(10*time.Second, "the auction is closed", func() bool {
		if err := node.Due(t.Context()); err != nil {
			t.Fatal(err)
		}
		return h.row(id).Status == "CLOSED"
	})
	if found := h.behind(); len(found) > 0 {
		t.Errorf("a closed auction is listed otherwise: %v", found)
	}
}

// What a node that died had still to write is found and written by any other, also what is not
// listed at all.
func TestListingsThatAreBehindAreFound(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 2)
	node := h.desk() // it tells no follower, as one that dies
	var ids []int64
	for range 5 {
		ids = append(ids, h.open(hour, auction.SoftClose{}))
	}
	for _, id := range ids {
		h.place(node, request(id, h.bidders[0], 150000))
	}
	h.exec(fmt.Sprintf(`DELETE FROM listings WHERE auction_id = %d`, ids[3]))
	if found := h.behind(); len(found) != len(ids) {
		t.Fatalf("%d of %d are behind: the test does not test what it should", len(found), len(ids))
	}
	follower := h.follower()
	for after, looks := int64(0), 0; looks == 0 || after != 0; looks++ {
		var err error
		if after, err = follower.Look(t.Context(), after); err != nil || looks > 3 {
			t.Fatal(looks, err)
		}
	}
	if err := follower.Follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	if found := h.behind(); len(found) > 0 {
		t.Errorf("%v", found)
	}
}

// A listing that somebody holds is written once it is free, and keeps no other waiting.
func TestAHeldListingIsWrittenLater(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 2)
	node, follower := h.desk(), h.follower()
	held, free := h.open(hour, auction.SoftClose{}), h.open(hour, auction.SoftClose{})
	for _, id := range []int64{held, free} {
		h.place(node, request(id, h.bidders[0], 150000))
	}
	follower.Touch(held, free)
	holder, err := h.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.Exec(t.Context(), `SELECT FROM listings WHERE auction_id = $1 FOR UPDATE`, held); err != nil {
		t.Fatal(err)
	}
	if err := follower.Follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	if found := h.behind(); len(found) != 1 {
		t.Errorf("while one is held: %v", found)
	}
	if err := holder.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := follower.Follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	if found := h.behind(); len(found) > 0 {
		t.Errorf("%v", found)
	}
}

// After anything that may happen to auctions the listings say what the auctions say, once they have
// followed; and a status they say at once.
func TestListingsEqualTheAuctions(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 3)
	node, follower := h.desk(), h.follower()
	node.List(follower)
	rapid.Check(t, func(t *rapid.T) {
		var ids []int64
		for range rapid.IntRange(1, 4).Draw(t, "auctions") {
			ids = append(ids, h.open(time.Minute, auction.DefaultSoftClose))
		}
		for range rapid.IntRange(1, 15).Draw(t, "steps") {
			id := rapid.SampledFrom(ids).Draw(t, "auction")
			var err error
			switch rapid.SampledFrom([]string{"bid", "bid", "bid", "cancel", "move", "follow"}).Draw(t, "step") {
			case "bid":
				amount := rapid.Int64Range(101, 200).Draw(t, "amount") * 1000
				_, _, err = node.Place(h.Context(), request(id, rapid.SampledFrom(h.bidders).Draw(t, "bidder"), amount))
			case "cancel":
				err = node.Cancel(h.Context(), id, auction.Actor{Admin: true})
			case "move":
				err = node.Move(h.Context(), id, auction.Actor{Admin: true}, auction.Standard)
			case "follow":
				err = follower.Follow(h.Context())
			}
			var low *auction.TooLowError
			if err != nil && !errors.As(err, &low) && !auction.IsRefusal(err) {
				t.Fatal(err)
			}
			var wrong int
			if err := h.pool.QueryRow(h.Context(), `SELECT count(*) FROM auctions a LEFT
				JOIN listings l ON l.auction_id = a.id
				WHERE l.status IS DISTINCT FROM a.status`).Scan(&wrong); err != nil || wrong > 0 {
				t.Fatalf("%d statuses are listed otherwise, %v", wrong, err)
			}
		}
		if err := follower.Follow(h.Context()); err != nil {
			t.Fatal(err)
		}
		if found := h.behind(); len(found) > 0 {
			t.Fatalf("%v", found)
		}
	})
}

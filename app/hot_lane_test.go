package main_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"martelo/db/dbtest"
)

// openHot opens an auction in the hot lane, without soft close.
func (n *node) openHot(ends time.Duration) reply {
	return n.do(n.Context(), "POST", "/auctions", n.seller, map[string]any{
		"title": "Signed shirt", "startPrice": "1000.00", "minIncrement": 10,
		"endTime":   time.Now().Add(ends).UTC().Format(time.RFC3339Nano),
		"softClose": map[string]int{"windowSeconds": 0, "extendSeconds": 0}, "lane": "hot",
	})
}

// settled waits until the log has what the auction, exact at once, says there is: the contract
// gives it two seconds, a busy machine more.
func (n *node) settled(id int64) {
	n.Helper()
	eventually(n, 10*time.Second, "the log has followed", func() bool {
		return int64(len(n.bidLog(id))) == n.auction(id).BidCount
	})
}

func (n *node) move(id int64, token, lane string) reply {
	return n.do(n.Context(), "POST", fmt.Sprintf("/auctions/%d/lane", id), token, map[string]string{"lane": lane})
}

// The node that decides and settles a hot auction is killed in the middle of load: what it had
// answered is in PostgreSQL soon after.
func TestASettlingNodeIsKilledUnderHotLoad(t *testing.T) {
	dbtest.Long(t)
	town := newDefaultTown(t)
	doomed, survivor := town.start(), town.start()
	auction := must[auctionReply](t, survivor.openHot(time.Hour), http.StatusCreated)
	crowd := town.crowd(auction.ID, survivor.bidders(40), doomed, survivor)
	crowd.during(doomed.kill)
	survivor.settled(auction.ID)
	crowd.check(survivor)
}

// Redis is killed and started again under hot load: in between hot bids are unavailable, and
// nothing that was answered is lost.
func TestRedisCrashesUnderHotLoad(t *testing.T) {
	dbtest.Long(t)
	redis := dbtest.StartRedis(t)
	town := newTown(t, dbtest.URL(t), redis.URL())
	here, there := town.start(), town.start()
	auction := must[auctionReply](t, here.openHot(time.Hour), http.StatusCreated)
	crowd := town.crowd(auction.ID, here.bidders(40), here, there)
	crowd.during(func() {
		redis.Kill()
		eventually(t, 10*time.Second, "somebody is told to come back", func() bool {
			crowd.mu.Lock()
			defer crowd.mu.Unlock()
			return crowd.statuses[http.StatusServiceUnavailable] > 10
		})
		redis.Start()
	})
	here.settled(auction.ID)
	crowd.check(there)
}

// An auction goes into the hot lane and out of it by the API while bids come through two nodes.
func TestMovingByTheAPIUnderLoad(t *testing.T) {
	dbtest.Long(t)
	town := newDefaultTown(t)
	here, there := town.start(), town.start()
	auction := here.open(time.Hour)
	crowd := town.crowd(auction.ID, here.bidders(40), here, there)
	crowd.during(func() {
		for _, lane := range []string{"hot", "standard", "hot", "hot", "standard", "hot"} {
			before := crowd.acknowledged()
			if moved := must[struct{ Lane string }](
				t, there.move(auction.ID, town.seller, lane), http.StatusOK,
			); moved.Lane != lane {
				t.Errorf("moved to %s, it is in %s", lane, moved.Lane)
			}
			eventually(
				t, 10*time.Second, "bids go on in the "+lane+" lane",
				func() bool { return crowd.acknowledged() > before+20 },
			)
		}
	})
	here.settled(auction.ID)
	crowd.check(here)
}

// A hot auction's life: exact on every node at once, live to who watches, closed at its end with
// one event; moved only by who may.
func TestAHotAuctionFromCreationToHammer(t *testing.T) {
	dbtest.Long(t)
	town := newDefaultTown(t)
	here, there := town.start(), town.start()
	auction := must[auctionReply](t, here.openHot(4*time.Second), http.StatusCreated)
	bidders := here.bidders(2)
	for i, amount := range []int64{1010, 1050, 1100} {
		bid := must[bidReply](
			t, here.bid(t.Context(), auction.ID, bidders[i%2], amount, uuid.New()), http.StatusCreated,
		)
		if seen := there.auction(auction.ID); seen.BidCount != bid.Seq || seen.CurrentPrice != bid.Amount ||
			*seen.LeaderID != bid.BidderID {
			t.Errorf("the other node shows %+v after %+v", seen, bid)
		}
	}
	low := there.bid(t.Context(), auction.ID, bidders[0], 1105, uuid.New())
	if low.status != http.StatusConflict || low.code() != "bid_too_low" ||
		!strings.Contains(string(low.body), `"minimumBid":"1110.00"`) {
		t.Errorf("%d %s", low.status, low.body)
	}
	stranger := town.command("token", "create", "--user", "backend@house.example")
	for token, want := range map[string]int{"": 401, stranger: 403} {
		if r := here.move(auction.ID, token, "standard"); r.status != want {
			t.Errorf("moving as %q: %d %s", token, r.status, r.body)
		}
	}
	if r := here.move(auction.ID, town.seller, "fast"); r.status != http.StatusUnprocessableEntity ||
		r.code() != "invalid_field" {
		t.Errorf("to no lane: %d %s", r.status, r.body)
	}
	eventually(
		t, 10*time.Second, "the auction is closed", func() bool { return there.auction(auction.ID).Status == "CLOSED" },
	)
	if final := here.auction(auction.ID); final.CurrentPrice != "1100.00" || *final.LeaderID != bidders[0] ||
		final.BidCount != 3 {
		t.Errorf("%+v", final)
	}
	if r := here.move(auction.ID, town.seller, "standard"); r.code() != "auction_closed" {
		t.Errorf("after the close: %d %s", r.status, r.body)
	}
	event := fmt.Sprintf("auction-closed:%d", auction.ID)
	told := func() int {
		return strings.Count(strings.Join(slices.Concat(here.lines(), there.lines()), "\n"), `"eventId":"`+event)
	}
	eventually(t, 5*time.Second, "the event is told", func() bool { return told() > 0 })
	// Whoever would tell it a second time finds it among those that wait.
	conn, err := pgx.Connect(t.Context(), town.database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	eventually(t, 5*time.Second, "nothing waits to be told", func() bool {
		var waiting int
		if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM outbox`).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
		return waiting == 0
	})
	if n := told(); n != 1 {
		t.Errorf("it was told %d times", n)
	}
}

// A node on a Redis that may lose what it acknowledges says so at its start and does not offer the
// hot lane, unless it is told to.
func TestAWeakRedisIsSaidAtTheStart(t *testing.T) {
	dbtest.Long(t)
	server := dbtest.StartRedis(t)
	town := newTown(t, dbtest.URL(t), server.URL())
	options, err := redis.ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	defer client.Close()
	if err := client.ConfigSet(t.Context(), "appendfsync", "everysec").Err(); err != nil {
		t.Fatal(err)
	}
	strict, lax := town.start(), town.start("HOT_LANE_ALLOW_EVERYSEC=true")
	for _, n := range []*node{strict, lax} {
		eventually(
			t, 5*time.Second, "the node says so",
			func() bool { return strings.Contains(strings.Join(n.lines(), "\n"), "appendfsync is everysec") },
		)
	}
	if r := strict.openHot(time.Hour); r.status != http.StatusUnprocessableEntity || r.code() != "invalid_field" ||
		!strings.Contains(string(r.body), `"field":"lane"`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	auction := must[auctionReply](t, lax.openHot(time.Hour), http.StatusCreated)
	bidder := lax.bidders(1)[0]
	must[bidReply](t, lax.bid(t.Context(), auction.ID, bidder, 1010, uuid.New()), http.StatusCreated)
	if r := strict.bid(t.Context(), auction.ID, bidder, 1020, uuid.New()); r.status != http.StatusServiceUnavailable ||
		r.header.Get("Retry-After") == "" {
		t.Errorf("%d %s", r.status, r.body)
	}
	standard := strict.open(time.Hour)
	must[bidReply](t, strict.bid(t.Context(), standard.ID, bidder, 1010, uuid.New()), http.StatusCreated)
}

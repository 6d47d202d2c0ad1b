package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"martelo/db/dbtest"
)

// eitherOf is the address of whichever of two servers takes writes.
func eitherOf(t *testing.T, one, other *dbtest.Server) string {
	t.Helper()
	address, err := url.Parse(one.URL())
	if err != nil {
		t.Fatal(err)
	}
	second, err := url.Parse(other.URL())
	if err != nil {
		t.Fatal(err)
	}
	address.Host += "," + second.Host
	query := address.Query()
	query.Set("target_session_attrs", "read-write")
	address.RawQuery = query.Encode()
	return address.String()
}

// told lists the ids of the events that a node has written to its log.
func (n *node) told() (ids []string) {
	for _, text := range n.lines() {
		var line struct{ Msg, EventID string }
		if json.Unmarshal([]byte(text), &line) == nil && line.Msg == "event" {
			ids = append(ids, line.EventID)
		}
	}
	return ids
}

// atOnce asks several things at the same time.
func atOnce(asks ...func() reply) []reply {
	replies := make([]reply, len(asks))
	var asking sync.WaitGroup
	for i, ask := range asks {
		asking.Go(func() { replies[i] = ask() })
	}
	asking.Wait()
	return replies
}

// What was answered 200 or 201, and what was told, is on the standby: also when the commit gave up
// waiting for it and the answer came from reading what that commit had left on the primary alone.
func TestNothingIsConfirmedThatTheStandbyDoesNotHave(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	primary := dbtest.StartPostgres(t)
	standby := dbtest.StartStandby(t, primary)
	town := newTown(t, eitherOf(t, primary, standby), dbtest.RedisURL(t))
	node := town.start()
	who := node.bidders(2)
	auction := node.open(time.Hour)
	hot := must[auctionReply](t, node.openHot(time.Hour), http.StatusCreated)
	must[bidReply](t, node.bid(t.Context(), auction.ID, who[0], 1010, uuid.New()), http.StatusCreated)
	openingKey, ends := uuid.NewString(), time.Now().Add(time.Hour).UTC().Format(time.RFC3339Nano)
	open := func() reply { // whoever opens an auction gives up before the node does
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		return node.do(ctx, "POST", "/auctions", node.seller, map[string]any{
			"title": "A second lot", "startPrice": 1, "minIncrement": 1, "endTime": ends},
			"Idempotency-Key", openingKey)
	}
	key, hotKey := uuid.New(), uuid.New()
	bid := func() reply { return node.bid(t.Context(), auction.ID, who[1], 1020, key) }
	bidHot := func() reply { return node.bid(t.Context(), hot.ID, who[1], 1020, hotKey) }
	eventually(t, 5*time.Second, "the first bid is told", func() bool { return len(node.told()) == 1 })

	standby.Stop()
	for _, when := range []string{"first", "again"} {
		for i, r := range atOnce(bid, open, bidHot) {
			if r.err != nil && i != 1 || r.err == nil && r.status != http.StatusServiceUnavailable {
				t.Errorf("%s: without its standby, %d is answered %d %v: %s", when, i, r.status, r.err, r.body)
			}
		}
	}
	eventually(t, 5*time.Second, "the node is not ready without its standby", func() bool {
		ready := node.do(t.Context(), "GET", "/readyz", "", nil)
		return ready.status == http.StatusServiceUnavailable && strings.Contains(string(ready.body), "postgresql")
	})
	if told := node.told(); len(told) != 1 {
		t.Errorf("told without the standby: %v", told)
	}

	standby.Start()
	primary.AwaitStandby()
	eventually(t, 5*time.Second, "the node is ready again", func() bool {
		return node.do(t.Context(), "GET", "/readyz", "", nil).status == http.StatusOK
	})
	confirmed := must[bidReply](t, bid(), http.StatusOK)
	lot := must[auctionReply](t, open(), http.StatusCreated)
	if r := bidHot(); r.status != http.StatusCreated && r.status != http.StatusOK {
		t.Errorf("the hot bid is answered %d: %s", r.status, r.body)
	}
	eventually(t, 5*time.Second, "the bids are told", func() bool { return len(node.told()) == 3 })

	// Cut off a last time: what nobody was told about may go with the primary, and only that.
	standby.Stop()
	lost := uuid.New()
	last := func() reply { return node.bid(t.Context(), auction.ID, who[0], 1030, lost) }
	if r := last(); r.status != http.StatusServiceUnavailable {
		t.Errorf("without its standby a bid is answered %d: %s", r.status, r.body)
	}
	primary.Kill()
	standby.Start()
	standby.Promote()
	var fresh bidReply
	eventually(t, 10*time.Second, "the promoted standby takes the bid", func() bool {
		r := last()
		if r.status == http.StatusOK {
			t.Fatalf("the promoted standby knows a bid that it never got: %s", r.body)
		}
		return r.status == http.StatusCreated && json.Unmarshal(r.body, &fresh) == nil
	})
	// A connection for reading may still be one to the old primary; the first read finds that out.
	eventually(t, 5*time.Second, "the log is read again", func() bool {
		return node.do(
			t.Context(), "GET", fmt.Sprintf("/auctions/%d/bids", auction.ID), "", nil,
		).status == http.StatusOK
	})
	log := node.bidLog(auction.ID)
	if len(log) != 3 || log[1] != confirmed || log[2] != fresh {
		t.Errorf("the log is %+v, confirmed were %+v and %+v", log, confirmed, fresh)
	}
	if r := node.do(t.Context(), "GET", fmt.Sprintf("/auctions/%d", lot.ID), "", nil); r.status != http.StatusOK {
		t.Errorf("the auction opened is %d", r.status)
	}
	node.settled(hot.ID)
	if log := node.bidLog(hot.ID); len(log) != 1 {
		t.Errorf("the hot log is %+v", log)
	}
}

// Somebody who cancels what waits for the standby, as an operator does with what hangs, has
// PostgreSQL answer COMMIT as if all were well. No bid is confirmed by that, and the next on the
// same connection waits again.
func TestACancelledWaitConfirmsNothing(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	town := newTown(t, dbtest.StartPostgres(t).URL(), dbtest.RedisURL(t))
	node := town.start()
	auction, who := node.open(time.Hour), node.bidders(2)
	town.sql("ALTER SYSTEM SET synchronous_standby_names = 'ghost'; SELECT pg_reload_conf()")
	eventually(t, 5*time.Second, "the node is not ready", func() bool {
		status, _ := node.ready()
		return status == http.StatusServiceUnavailable
	})
	for _, bidder := range who {
		answered := make(chan reply, 1)
		go func() { answered <- node.bid(t.Context(), auction.ID, bidder, 1010, uuid.New()) }()
		var r reply
		eventually(t, 10*time.Second, "the bid is answered", func() bool {
			town.sql(
				"SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND " +
					"application_name = 'martelo'",
			)
			select {
			case r = <-answered:
				return true
			default:
				return false
			}
		})
		if r.status != http.StatusServiceUnavailable && r.status != http.StatusConflict {
			t.Errorf("a bid whose commit was cancelled is answered %d: %s", r.status, r.body)
		}
	}
}

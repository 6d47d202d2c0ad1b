package main_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"martelo/db/dbtest"
)

// A seller moves an auction between the lanes now and then, and has few in the hot lane; an admin
// is not held back.
func TestASellerMovesLanesNowAndThen(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	town := newTown(t, dbtest.URL(t), dbtest.StartRedis(t).URL())
	town.command(
		"user", "create", "--email", "admin@house.example", "--name", "Admin", "--password", "a long password",
		"--role", "admin",
	)
	admin := town.command("token", "create", "--user", "admin@house.example")
	n := town.start("HOT_LANE_ALLOW_EVERYSEC=true", "HOT_AUCTIONS_MAX=1")
	first, second := n.open(time.Hour).ID, n.open(time.Hour).ID
	move := func(id int64, token, lane string) reply {
		return n.do(
			t.Context(), http.MethodPost, fmt.Sprintf("/auctions/%d/lane", id), token, map[string]string{"lane": lane},
		)
	}
	must[auctionReply](t, move(first, n.seller, "hot"), http.StatusOK)
	must[auctionReply](t, move(first, n.seller, "hot"), http.StatusOK) // it is there already
	// To and fro, as fast as answers come: it ends in a refusal that says when to come back. It
	// stays in the hot lane.
	var r reply
	for i := 0; i < 200 && r.status != http.StatusTooManyRequests; i++ {
		r = move(first, n.seller, []string{"standard", "hot"}[i%2])
	}
	if r.code() != "rate_limited" || r.header.Get("Retry-After") == "" {
		t.Errorf("a seller who flaps the lane is answered %d %s", r.status, r.body)
	}
	must[auctionReply](t, move(first, admin, "hot"), http.StatusOK)
	if r := move(second, n.seller, "hot"); r.status != http.StatusUnprocessableEntity || r.code() != "invalid_field" {
		t.Errorf("a seller's second hot auction is answered %d %s", r.status, r.body)
	}
	for _, lane := range []string{"standard", "hot", "standard"} {
		must[auctionReply](t, move(first, admin, lane), http.StatusOK)
	}
}

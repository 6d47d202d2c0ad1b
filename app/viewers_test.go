package main_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"martelo/db/dbtest"

	"github.com/google/uuid"
)

type priceEvent struct {
	AuctionID, Version, Seq int64
	CurrentPrice, Status    string
}

// watch opens the stream of an auction and calls saw with each price until that says no.
func (n *node) watch(auction int64, saw func(priceEvent) bool) {
	n.Helper()
	request, err := http.NewRequestWithContext(
		n.Context(), "GET", fmt.Sprintf("%s/auctions/%d/events", n.url, auction), nil,
	)
	if err != nil {
		n.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		n.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	event := ""
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			event = name
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || event != "price" {
			continue
		}
		var price priceEvent
		if err := json.Unmarshal([]byte(data), &price); err != nil {
			n.Fatal(err)
		}
		if !saw(price) {
			return
		}
	}
	n.Fatalf("the stream ended: %v", lines.Err())
}

// P8: whoever connects after a bid was answered sees it in the first event, on any node, also where
// the auction is being watched and nothing has been shown of the bid yet.
func TestWhoConnectsSeesEveryAnsweredBid(t *testing.T) {
	dbtest.Long(t)
	town := newDefaultTown(t)
	nodes := []*node{town.start(), town.start()}
	auction := nodes[0].open(time.Hour)
	bidders := nodes[0].bidders(10)
	for _, n := range nodes {
		n.watch(auction.ID, func(priceEvent) bool { return false }) // from now on the auction is watched here
	}
	for i := range int64(30) {
		bid := must[bidReply](
			t, nodes[i%2].bid(t.Context(), auction.ID, bidders[i%10], 1010+10*i, uuid.New()), http.StatusCreated,
		)
		for name, n := range nodes {
			n.watch(auction.ID, func(first priceEvent) bool {
				if first.Seq < bid.Seq {
					t.Errorf("bid %d was answered; node %d greets with bid %d", bid.Seq, name, first.Seq)
				}
				return false
			})
		}
	}
}

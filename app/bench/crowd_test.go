package main

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"martelo/app/bench/house"
	"martelo/app/bench/load"
)

// What a crowd sends is what the house reads: whole requests, each a step above the last, one key
// each.
func TestACrowdsRequests(t *testing.T) {
	t.Parallel()
	c := &crowd{
		house: &house.House{Token: "mrt_x", Bidders: []int64{7, 8, 9}}, auctions: []int64{42}, low: 50,
		keys: house.NewKeys(),
	}
	c.offer(100, 1, 0, time.Second)
	low, known := 0, map[string]bool{}
	for i := range 100 {
		request, err := http.ReadRequest(bufio.NewReader(strings.NewReader(string(c.write(nil, i)))))
		if err != nil {
			t.Fatal(err)
		}
		body := make([]byte, request.ContentLength)
		if n, _ := request.Body.Read(body); n != len(body) || request.URL.Path != "/auctions/42/bids" {
			t.Fatalf("%d of %d: %s %s", n, len(body), request.URL, body)
		}
		key := request.Header.Get("Idempotency-Key")
		if key != c.keys.Of(i).String() || known[key] || c.keys.Number(c.keys.Of(i)) != i {
			t.Fatalf("key of %d is %s", i, key)
		}
		known[key] = true
		amount := c.bids[i].Amount
		want := fmt.Sprintf(`{"bidderId":%d,"amount":"%d.%02d"}`, 7+i%3, amount/100, amount%100)
		if string(body) != want {
			t.Fatalf("%s, want %s", body, want)
		}
		if amount <= int64(i) {
			low++
		}
	}
	if low != 50 && low != 49 { // the first cannot be
		t.Errorf("%d of 100 are too low", low)
	}
}

// A bid counts as acknowledged when it was answered 201, or 200 after it had been asked to come
// again.
func TestACrowdRemembersWhatItWasTold(t *testing.T) {
	t.Parallel()
	c := &crowd{bids: make([]house.Sent, 4)}
	for i, status := range []int{201, 200, 409, 503} {
		c.read(i, load.Answer{Status: status, Body: []byte(`{"id":5,"seq":7}`)})
	}
	if c.acknowledged != 2 || c.bids[0].Seq != 7 || c.bids[1].Seq != 7 || c.bids[2].Seq != 0 || c.bids[3].Seq != 0 {
		t.Errorf("%+v", c)
	}
}

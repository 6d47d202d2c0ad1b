package web_test

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// masked replaces what differs from run to run: ids and times.
func masked(text string) string {
	text = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z`).ReplaceAllString(strings.TrimSpace(text), "…Z")
	return regexp.MustCompile(`("(?:id|sellerId|leaderId|bidderId|auctionId)":)\d+`).ReplaceAllString(text, "${1}N")
}

func TestShapesAreTheContracts(t *testing.T) {
	t.Parallel()
	h := open(t)
	created := h.post(
		"/auctions", h.seller,
		`{"title":" Vintage <b>watch</b> ","startPrice":1000,"minIncrement":"10.0",`+
			`"endTime":"2030-01-01T01:00:00.1234567+01:00","ignored":[]}`,
	)
	created.status(t, http.StatusCreated)
	id := int64(created.json(t)["id"].(float64))
	path := "/auctions/" + strconv.FormatInt(id, 10)
	if location := created.Header().Get("Location"); location != path {
		t.Errorf("Location is %q, want %q", location, path)
	}
	if end := created.json(t)["endTime"]; end != "2030-01-01T00:00:00.123456Z" {
		t.Errorf("endTime is %q", end)
	}
	fresh := `{"id":N,"sellerId":N,"title":"Vintage \u003cb\u003ewatch\u003c/b\u003e","description":"",` +
		`"currency":"USD",` +
		`"startPrice":"1000.00","currentPrice":"1000.00","minIncrement":"10.00","minimumBid":"1010.00",` +
		`"leaderId":null,"bidCount":0,"status":"OPEN",` +
		`"startTime":"…Z","endTime":"…Z","serverTime":"…Z","softClose":{"windowSeconds":120,"extendSeconds":120},` +
		`"lane":"standard","version":1}`
	bidKey := uuid.NewString()
	bid := func() answer { return h.post(bidsOf(id), h.buyer, `{"amount":1010.0}`, key(bidKey)) }
	first, again := bid(), bid()
	low := h.bid(id, h.other, "1019.99")
	after := strings.NewReplacer(`"leaderId":null`, `"leaderId":N`, `"bidCount":0`, `"bidCount":1`,
		`"currentPrice":"1000.00"`, `"currentPrice":"1010.00"`,
		`"minimumBid":"1010.00"`, `"minimumBid":"1020.00"`, `"version":1`, `"version":2`).Replace(fresh)
	oneBid := `{"id":N,"auctionId":N,"seq":1,"bidderId":N,"amount":"1010.00","acceptedAt":"…Z"}`
	for _, c := range []struct {
		name   string
		answer answer
		status int
		body   string
	}{
		{"create", created, 201, fresh},
		{"bid", first, 201, oneBid},
		{"bid again", again, 200, oneBid},
		{
			"too low", low, 409,
			`{"type":"urn:martelo:problem:bid_too_low","title":"Bid too low","status":409,"detail":"The least ` +
				`bid is 1020.00.","code":"bid_too_low","currentPrice":"1010.00","minimumBid":"1020.00",` +
				`"endTime":"…Z","serverTime":"…Z"}`,
		},
		{"get", h.get(path), 200, after},
		{"list", h.get("/auctions"), 200, `{"auctions":[` + after + `],"nextCursor":null}`},
		{"bids", h.get(path + "/bids"), 200, `{"bids":[` + oneBid + `]}`},
		{"no bids", h.get(path + "/bids?after=1"), 200, `{"bids":[]}`},
		{"user", h.post("/users", h.service, `{"name":"Ana"}`), 201, `{"id":N}`},
		{
			"cancel", h.post(path+"/cancel", h.admin, ""), 200,
			strings.NewReplacer(`"OPEN"`, `"CANCELLED"`, `"version":2`, `"version":3`).Replace(after),
		},
	} {
		if c.answer.Code != c.status || masked(c.answer.Body.String()) != c.body {
			t.Errorf("%s: %d %s\nwant %d %s", c.name, c.answer.Code, masked(c.answer.Body.String()), c.status, c.body)
		}
	}
	if first.Body.String() != again.Body.String() {
		t.Errorf("the earlier bid came back as %s, not %s", again.Body, first.Body)
	}
	if first.Header().Get("Idempotency-Replayed") != "" || again.Header().Get("Idempotency-Replayed") != "true" {
		t.Error("Idempotency-Replayed belongs to the second answer and no other")
	}
}

func TestHeadIsGetWithoutBody(t *testing.T) {
	t.Parallel()
	h := open(t)
	id := h.lot()
	for _, path := range []string{
		"/auctions", "/auctions/" + strconv.FormatInt(id, 10), bidsOf(id), "/healthz", "/readyz",
	} {
		answer := h.send(http.MethodHead, path, nil)
		answer.status(t, http.StatusOK)
		if media := answer.Header().Get("Content-Type"); media != "application/json" {
			t.Errorf("HEAD %s: content type %q", path, media)
		}
	}
}

func TestEachRefusalHasItsCode(t *testing.T) {
	t.Parallel()
	h := open(t)
	id, gone, late := h.lot(), h.endedLot(), h.lot()
	path, gonePath := "/auctions/"+strconv.FormatInt(id, 10), "/auctions/"+strconv.FormatInt(gone, 10)
	scheduled := h.lot(
		func(d map[string]any) { d["startTime"], d["endTime"] = "2029-01-01T00:00:00Z", "2030-01-01T00:00:00Z" },
	)
	used := uuid.NewString()
	h.post(bidsOf(id), h.buyer, `{"amount":"2000"}`, key(used)).status(t, http.StatusCreated)
	h.exec(`ALTER TABLE auctions DISABLE TRIGGER auctions_terms_are_fixed`)
	h.exec(`UPDATE auctions SET start_at = clock_timestamp() - interval '2 hours', end_at = now() - interval '1 hour',
		original_end_at = now() - interval '1 hour', version = version + 1 WHERE id = $1`, late)

	h.bid(id, who{}, 3000).problem(t, 401, "unauthenticated")
	h.bid(id, h.seller, 3000).problem(t, 403, "own_auction")
	h.bid(1, h.buyer, 3000).problem(t, 404, "not_found")
	h.bid(gone, h.buyer, 3000).problem(t, 409, "auction_cancelled")
	if p := h.bid(late, h.buyer, 3000).problem(t, 409, "auction_closed"); p["endTime"] == nil ||
		p["serverTime"] == nil {
		t.Error("auction_closed does not tell by which clock")
	}
	h.bid(scheduled, h.buyer, 3000).problem(t, 409, "auction_not_started")
	h.post(bidsOf(id), h.buyer, `{"amount":"2000.01"}`, key(used)).problem(t, 422, "idempotency_key_reused")
	h.post(
		bidsOf(id), h.other, `{"amount":"2000"}`, key(strings.ToUpper(used)),
	).problem(t, 422, "idempotency_key_reused")
	h.post(path+"/cancel", h.seller, "").problem(t, 409, "has_bids")
	h.post(path+"/cancel", h.buyer, "").problem(t, 403, "forbidden")
	h.post(gonePath+"/cancel", h.admin, "").problem(t, 409, "auction_cancelled")
	if allow := h.send("DELETE", path, nil); allow.Header().Get("Allow") == "" {
		t.Error("405 without Allow")
	} else {
		allow.problem(t, 405, "method_not_allowed")
	}
	h.get("/nothing").problem(t, 404, "not_found")
}

func TestAKeyMakesOneAuctionOfTwoDrafts(t *testing.T) {
	t.Parallel()
	h := open(t)
	draft := `{"title":"Once","startPrice":0,"minIncrement":1,"endTime":"2030-01-01T00:00:00Z"}`
	one := uuid.NewString()
	first, second := h.post("/auctions", h.seller, draft, key(one)), h.post("/auctions", h.seller, draft, key(one))
	if first.json(t)["id"] != second.json(t)["id"] {
		t.Errorf("two auctions: %s %s", first.Body, second.Body)
	}
	third := h.post("/auctions", h.seller, draft)
	third.status(t, http.StatusCreated)
	if third.json(t)["id"] == first.json(t)["id"] {
		t.Error("a draft without a key is one of its own")
	}
}

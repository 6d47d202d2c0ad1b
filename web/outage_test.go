package web_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"martelo/app/account"
	"martelo/db/dbtest"
)

// allWithin asks everything at once, in the background, so that a hang is a failure and not the end
// of the test.
func allWithin(t *testing.T, most time.Duration, asks map[string]func() answer) map[string]answer {
	t.Helper()
	type named struct {
		name   string
		answer answer
	}
	answered := make(chan named, len(asks))
	for name, ask := range asks {
		go func() { answered <- named{name, ask()} }()
	}
	answers, late := map[string]answer{}, time.After(most)
	for range asks {
		select {
		case one := <-answered:
			answers[one.name] = one.answer
		case <-late:
			t.Fatalf("within %v only %d of %d were answered", most, len(answers), len(asks))
		}
	}
	return answers
}

// answersWithin asks one thing so.
func answersWithin(t *testing.T, most time.Duration, ask func() answer) answer {
	t.Helper()
	return allWithin(t, most, map[string]func() answer{"": ask})[""]
}

func TestWithoutPostgreSQL(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	server := dbtest.StartPostgres(t)
	h := openOn(t, server.URL(), dbtest.Redis(t))
	id := h.lot()
	signedIn, _ := h.signedUp("ana@example.com")
	sameKey := uuid.NewString()
	bid := func() answer { return h.post(bidsOf(id), h.buyer, `{"amount":2000}`, key(sameKey)) }
	h.get("/readyz").status(t, 200)
	for name, fault := range map[string]struct{ begin, end func() }{
		"paused": {server.Pause, server.Resume}, "killed": {server.Kill, server.Start},
	} {
		fault.begin()
		answersWithin(t, 3*time.Second, func() answer { // an answer counts for a moment
			ready := h.get("/readyz")
			for ready.Code == 200 {
				ready = h.get("/readyz")
			}
			if ready.Code != 503 || ready.json(t)["away"].([]any)[0] != "postgresql" {
				t.Errorf("%s: readyz says %d %s", name, ready.Code, ready.Body)
			}
			return ready
		})
		h.get("/healthz").status(t, 200)
		asks := map[string]func() answer{
			"bid": bid, "read": func() answer { return h.get(auctionPath(id)) },
			"list": func() answer { return h.get("/auctions") },
			"bids": func() answer { return h.get(bidsOf(id)) }, "create": func() answer {
				return h.post(
					"/auctions", h.seller,
					`{"title":"A","startPrice":1,"minIncrement":1,"endTime":"2030-01-01T00:00:00Z"}`,
				)
			},
			"page for a visitor": func() answer { return h.browser().get("/") },
			"page for a person":  func() answer { return signedIn.get(auctionPath(id)) },
			"own page":           func() answer { return signedIn.get("/me") }, "typed bid": func() answer {
				return signedIn.submit(bidsOf(id), map[string]string{"key": sameKey, "amount": "3000"})
			},
		}
		for what, got := range allWithin(t, 10*time.Second, asks) {
			page := strings.Contains(got.Header().Get("Content-Type"), "text/html")
			if got.Code != 503 || got.Header().Get("Retry-After") == "" ||
				page != (strings.Contains(what, "page") || what == "typed bid") {
				t.Errorf("%s: %s is answered %d %s", name, what, got.Code, got.Body)
			}
		}
		fault.end()
		h.eventually(t, func() bool { return h.get("/readyz").Code == 200 && h.get(auctionPath(id)).Code == 200 })
	}
	h.eventually(t, func() bool { code := bid().Code; return code == 200 || code == 201 })
	if got := bid(); got.Code != http.StatusOK || got.json(t)["seq"] != 1.0 {
		t.Errorf("sent again it is %d %s", got.Code, got.Body)
	}
	signedIn.get("/me").page(t, 200)
}

func (h *house) eventually(t *testing.T, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for !is() {
		if ctx.Err() != nil {
			t.Fatal("it did not come to that")
		}
	}
}

func TestWithoutRedis(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	server := dbtest.StartRedis(t)
	options, err := redis.ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	store := redis.NewClient(options)
	defer store.Close()
	h := openOn(t, dbtest.URL(t), store)
	id := h.lot()
	amount := 1000
	var crowd []int64
	for range 30 {
		crowd = append(crowd, h.somebody(account.RoleUser, false).id)
	}
	for _, c := range []struct {
		name   string
		change func()
	}{{"paused", server.Pause}, {"stopped", func() { server.Resume(); server.Stop() }}} {
		c.change()
		for i := range 30 {
			amount += 10
			bid := map[string]any{"amount": amount, "bidderId": crowd[i%len(crowd)]}
			answersWithin(
				t, 5*time.Second, func() answer { return h.post(bidsOf(id), h.service, bid, key(uuid.NewString())) },
			).status(t, 201)
		}
		// The node counts by itself meanwhile.
		h.untilLimited(h.buyer.id, func() answer { return h.bid(id, h.buyer, 1) })
		ready := answersWithin(t, 3*time.Second, func() answer { return h.get("/readyz") })
		if away := ready.json(t)["away"].([]any); ready.Code != 200 || len(away) != 1 || away[0] != "redis" {
			t.Errorf("%s: readyz says %d %s", c.name, ready.Code, ready.Body)
		}
		h.browser().submit(
			"/signin", map[string]string{"email": "ana@example.com", "password": "wrong password"},
		).page(t, 401)
	}
}

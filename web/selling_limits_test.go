package web_test

import (
	"sync"
	"testing"
	"time"

	"martelo/app/auctioneer"

	"github.com/google/uuid"
)

func draftOf(title string) map[string]any {
	return map[string]any{
		"title": title, "startPrice": "1.00", "minIncrement": "1.00",
		"endTime": time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC).Format(time.RFC3339),
	}
}

// A key opens one auction: the same draft again is that auction, also when its copies race; another
// is refused.
func TestAKeyOpensOneAuction(t *testing.T) {
	t.Parallel()
	h := open(t)
	once := key(uuid.NewString())
	ids := make([]any, 8)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() { ids[i] = h.post("/auctions", h.seller, draftOf("First"), once).json(t)["id"] })
	}
	all.Wait()
	for _, id := range ids {
		if id == nil || id != ids[0] {
			t.Fatalf("one draft opened %v", ids)
		}
	}
	for field, other := range map[string]any{
		"title": "Second", "description": "x", "startPrice": "2.00", "minIncrement": "0.50", "currency": "EUR",
		"endTime": "2030-01-02T00:00:00Z",
		"lane":    "hot", "startTime": "2029-01-01T00:00:00Z",
		"softClose": map[string]int{"windowSeconds": 1, "extendSeconds": 1},
	} {
		draft := draftOf("First")
		draft[field] = other
		h.post("/auctions", h.seller, draft, once).problem(t, 422, "idempotency_key_reused")
	}
	if again := h.post("/auctions", h.seller, draftOf("First"), once); again.Code != 201 ||
		again.json(t)["id"] != ids[0] {
		t.Errorf("the same again is %d %s", again.Code, again.Body)
	}
	h.post("/auctions", h.admin, draftOf("Second"), once).status(t, 201) // keys are each seller's own
}

// One seller opens so many auctions and no more, and is told when to go on.
func TestASellerOpensSoMany(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]auctioneer.SellerLimits{
		"a minute": {OpensPerMinute: 3}, "at a time": {Lasting: 3},
	} {
		h := open(t, func(o *auctioneer.Options) { o.Sellers = limits })
		seller := h.somebody("seller", false)
		for range 3 {
			h.post("/auctions", seller, draftOf("A lot"), key(uuid.NewString())).status(t, 201)
		}
		refused := h.post("/auctions", seller, draftOf("A lot"), key(uuid.NewString()))
		refused.problem(t, 429, "rate_limited")
		if refused.Header().Get("Retry-After") != "60" {
			t.Errorf("%s: come back after %q", name, refused.Header().Get("Retry-After"))
		}
		h.post("/auctions", h.somebody("seller", false), draftOf("A lot")).status(t, 201)
	}
}

package web_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"martelo/app/auction"
	"martelo/app/auctioneer"
	"martelo/db/dbtest"
)

// readOnly makes the house's database one that only reads, as a standby is after a failover.
func (h *house) readOnly() {
	h.Helper()
	h.exec(
		`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', ` +
			`current_database()); END $$`,
	)
	h.pool.Reset()
}

// hold locks what readers of lots need until the test is over.
func (h *house) hold(url string) {
	h.Helper()
	conn, err := pgx.Connect(h.Context(), url)
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { conn.Close(context.Background()) })
	if _, err := conn.Exec(h.Context(), "BEGIN; LOCK TABLE lots"); err != nil {
		h.Fatal(err)
	}
}

// afterBids makes a house in which something happens as soon as the first bid is decided, before it
// is answered.
func afterBids(t *testing.T, url string, happens func(*house)) *house {
	t.Helper()
	var h *house
	var once sync.Once
	h = openOn(t, url, dbtest.Redis(t), func(o *auctioneer.Options) {
		o.Announce = func(auction.Update) { once.Do(func() { happens(h) }) }
	})
	return h
}

// Nothing is answered without a word while a session cannot be written, least of all with a good
// status.
func TestNoAnswerIsEmptyWithAReadOnlyDatabase(t *testing.T) {
	t.Parallel()
	h := open(t)
	id := h.lot()
	b, _ := h.signedUp("ana@example.com") // a message waits to be shown
	h.readOnly()
	signIn := map[string]string{"email": "ana@example.com", "password": "a good long password"}
	typed := map[string]string{"key": uuid.NewString(), "amount": "1010"}
	for name, c := range map[string]struct {
		answer answer
		status int
	}{
		"sign in":         {h.browser().submit("/signin", signIn), 503},
		"sign in, script": {h.browser().submit("/signin", signIn, script), 503},
		"sign up": {
			h.browser().submit(
				"/signup",
				map[string]string{"name": "Ben", "email": "ben@example.com", "password": "a good long password"},
			),
			503,
		},
		"sign out":      {b.submit("/signout", nil), 503},
		"list":          {b.get("/auctions"), 200},
		"lot":           {b.get(auctionPath(id)), 200},
		"lot, script":   {b.get(auctionPath(id), script), 200},
		"nothing":       {b.get("/nowhere"), 404},
		"form":          {b.get("/auctions/new"), 403},
		"account":       {b.get("/me"), 200},
		"bid":           {b.submit(bidsOf(id), typed), 503},
		"bid, script":   {b.submit(bidsOf(id), typed, script), 503},
		"start to sell": {b.submit("/me/selling", nil), 503},
		"make a token":  {b.submit("/me/tokens", map[string]string{"name": "x"}), 503},
		"cancel":        {b.submit(auctionPath(id)+"/cancel", nil), 503},
		"program's bid": {h.bid(id, h.buyer, 1010), 503},
		"program's lot": {
			h.post(
				"/auctions", h.seller,
				map[string]any{
					"title": "A", "startPrice": 1, "minIncrement": 1,
					"endTime": time.Now().Add(time.Hour).Format(time.RFC3339),
				},
			),
			503,
		},
		"program's cancel": {h.post(auctionPath(id)+"/cancel", h.admin, "{}"), 503},
	} {
		if c.answer.Code != c.status || c.answer.Body.Len() == 0 {
			t.Errorf("%s is answered %d, not %d, with %d bytes", name, c.answer.Code, c.status, c.answer.Body.Len())
		}
		if c.answer.Code == http.StatusServiceUnavailable && c.answer.Header().Get("Retry-After") == "" {
			t.Errorf("%s does not say when to come back", name)
		}
	}
}

// Who has bid is told so, also when the message cannot be left for the next page.
func TestAnAcceptedBidIsToldWithoutItsSession(t *testing.T) {
	t.Parallel()
	h := afterBids(t, dbtest.URL(t), (*house).readOnly)
	id := h.lot()
	b, _ := h.signedUp("ana@example.com")
	b.get(auctionPath(id)).page(t, 200)
	told := b.submit(bidsOf(id), map[string]string{"key": uuid.NewString(), "amount": "1010"})
	told.page(t, 200).has(t, "<html", "Your bid of $1,010.00 was accepted", auctionPath(id))
}

// Who has bid is told so at once, also when what stands around the answer cannot be read.
func TestAnAcceptedBidIsToldWhileReadersAreStuck(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	h := afterBids(t, url, func(h *house) { h.hold(url) })
	id := h.lot()
	b, _ := h.signedUp("ana@example.com")
	b.get(auctionPath(id)).page(t, 200)
	sameKey := uuid.NewString()
	for name, asks := range map[string][]ask{"page": nil, "fragment": {script}} {
		begin := time.Now()
		told := b.submit(bidsOf(id), map[string]string{"key": sameKey, "amount": "1010"}, asks...)
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("%s: told after %v", name, took)
		}
		told.page(t, 200).has(t, "Your bid of $1,010.00 was accepted", auctionPath(id))
		if whole := strings.Contains(told.Body.String(), "<html"); whole != (name == "page") {
			t.Errorf("the %s is %s", name, told.Body)
		}
	}
}

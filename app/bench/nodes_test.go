package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"martelo/app/auction"
	"martelo/app/bench/house"
	"martelo/app/money"
	"martelo/db"
	"martelo/db/dbtest"
)

// A house that acknowledges bids and does not keep them is noticed, whichever of a scenario's
// auctions it does that to.
func TestALyingHouseIsNoticed(t *testing.T) {
	t.Parallel()
	dbtest.Long(t)
	if !onLinux(t) {
		return
	}
	// The hot auction is opened last, and the one whose row is held just before it.
	const hot, held, quiet = "id = (SELECT max(id) FROM auctions)",
		"id = (SELECT max(id) - 1 FROM auctions)", "id < (SELECT max(id) - 1 FROM auctions)"
	mixed := []string{"mixed", "--auctions", "20", "--rates", "40", "--quiet", "40", "--lock", "300ms"}
	for name, c := range map[string]struct {
		args  []string
		about string // the auctions that it lies about
	}{
		"hot":                 {[]string{"hot", "--rates", "40"}, hot},
		"mixed, hot":          {mixed, hot},
		"mixed, quiet":        {mixed, quiet},
		"mixed, held":         {mixed, held},
		"burst":               {[]string{"burst", "--bidders", "20", "--rounds", "1", "--span", "100ms"}, hot},
		"cold":                {[]string{"cold", "--auctions", "20", "--rates", "40", "--bidders", "2"}, quiet},
		"viewers, their bids": {[]string{"viewers", "--viewers", "1", "--rates", "40"}, hot},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			databaseURL := dbtest.URL(t)
			pool, err := db.Open(databaseURL, 2)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(pool.Close)
			go forget(t, pool)
			node := serveBids(t, &liar{pool: pool, about: c.about, told: map[int64]int{}})
			given := setup{databaseURL: databaseURL, redisURL: dbtest.RedisURL(t)}
			args := slices.Concat(c.args, []string{"--url", node, "--yes"})
			if c.args[0] != "burst" {
				args = append(args, short...)
			}
			var out strings.Builder
			err = run(t.Context(), given, args, &out)
			if err == nil || !strings.Contains(err.Error(), "is not in the log") ||
				!strings.Contains(out.String(), "NOT VERIFIED") {
				t.Errorf("%v\n%s", err, out.String())
			}
		})
	}
}

// serveBids serves a node that answers nothing but bids.
func serveBids(t *testing.T, bids http.Handler) (address string) {
	mux := http.NewServeMux()
	mux.Handle("POST /auctions/{id}/bids", bids)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// forget removes the events that wait to be told, as a node does, until the test ends.
func forget(t *testing.T, pool *pgxpool.Pool) {
	for {
		_, _ = pool.Exec(t.Context(), `DELETE FROM outbox`) // it fails at the end of the test
		select {
		case <-t.Context().Done():
			return
		case <-time.After(house.LookAgain):
		}
	}
}

// liar is a node that accepts every bid on some auctions and writes none. All other bids it
// refuses.
type liar struct {
	pool  *pgxpool.Pool
	about string // a condition on auctions
	mu    sync.Mutex
	told  map[int64]int
}

// ServeHTTP answers a bid.
func (l *liar) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // what it says does not matter
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var lies bool
	err = l.pool.QueryRow(r.Context(), `SELECT `+l.about+` FROM auctions WHERE id = $1`, id).Scan(&lies)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if !lies {
		w.WriteHeader(http.StatusConflict)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told[id]++
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"seq":%d}`, l.told[id])
}

// Who is asked to come again in a burst sends the same bid with the same key, and waits for as
// long as that takes.
func TestABurstComesAgain(t *testing.T) {
	t.Parallel()
	dbtest.Long(t)
	if !onLinux(t) {
		return
	}
	databaseURL := dbtest.URL(t)
	pool, err := db.Open(databaseURL, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	desk, stop := newDesk(pool)
	t.Cleanup(func() { _ = stop(context.WithoutCancel(t.Context())) })
	node := serveBids(t, &busyNode{placer: desk, asked: map[uuid.UUID]bool{}})
	given := setup{databaseURL: databaseURL, redisURL: dbtest.RedisURL(t)}
	rows := measured(t, given, "burst", "--bidders", "20", "--rounds", "1", "--span", "100ms", "--url", node, "--yes")
	row := rows[0]
	if row.Again != 20 || row.Unanswered != 0 || row.Statuses[201] == 0 || row.Statuses[201]+row.Statuses[409] != 20 {
		t.Errorf("%+v", row)
	}
	if row.P50 < 1000 {
		t.Errorf("their waits are not counted: %g ms", row.P50)
	}
}

// busyNode takes bids as a node does, but asks everybody to come again first.
type busyNode struct {
	placer
	mu    sync.Mutex
	asked map[uuid.UUID]bool
}

// ServeHTTP answers a bid.
func (b *busyNode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		BidderID int64
		Amount   string
	}
	failed := json.NewDecoder(r.Body).Decode(&body)
	key, keyless := uuid.Parse(r.Header.Get("Idempotency-Key"))
	id, wrong := strconv.ParseInt(r.PathValue("id"), 10, 64)
	amount, odd := money.Parse(body.Amount)
	if err := errors.Join(failed, keyless, wrong, odd); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	again := !b.asked[key]
	b.asked[key] = true
	b.mu.Unlock()
	if again {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	bid, _, err := b.Place(r.Context(), auction.Request{
		AuctionID: id, BidderID: body.BidderID, Amount: amount, Key: key,
	})
	if err != nil {
		w.WriteHeader(http.StatusConflict)
		return
	}
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"seq":%d}`, bid.Seq)
}

package main

import (
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

	"github.com/jackc/pgx/v5/pgxpool"

	"martelo/app/bench/house"
	"martelo/db"
	"martelo/db/dbtest"
)

// A house that acknowledges bids and does not keep them is noticed, whichever of a scenario's auctions
// it does that to.
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
			liar := httptest.NewServer(&liar{pool: pool, about: c.about, told: map[string]int{}})
			t.Cleanup(liar.Close)
			given := setup{databaseURL: databaseURL, redisURL: dbtest.RedisURL(t)}
			args := slices.Concat(c.args, []string{"--url", liar.URL, "--yes"})
			if c.args[0] != "burst" {
				args = append(args, short...)
			}
			var out strings.Builder
			err = run(t.Context(), given, args, &out)
			if err == nil || !strings.Contains(err.Error(), "is not in the log") || !strings.Contains(out.String(), "NOT VERIFIED") {
				t.Errorf("%v\n%s", err, out.String())
			}
		})
	}
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

// liar is a node that accepts every bid on some auctions and writes none. All other bids it refuses.
type liar struct {
	pool  *pgxpool.Pool
	about string // a condition on auctions
	mu    sync.Mutex
	told  map[string]int
}

// ServeHTTP answers a bid.
func (l *liar) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // what it says does not matter
	parts := strings.Split(r.URL.Path, "/")
	if r.Method != http.MethodPost || len(parts) != 4 {
		http.NotFound(w, r)
		return
	}
	id, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	var lies bool
	if err := l.pool.QueryRow(r.Context(), `SELECT `+l.about+` FROM auctions WHERE id = $1`, id).Scan(&lies); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if !lies {
		w.WriteHeader(http.StatusConflict)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told[parts[2]]++
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"seq":%d}`, l.told[parts[2]])
}

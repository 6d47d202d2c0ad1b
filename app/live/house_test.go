package live_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"martelo/app/auction"
	"martelo/app/identity"
	"martelo/app/live"
	"martelo/db"
)

func TestMain(m *testing.M) {
	// go-redis looks every second whether a Redis that was away is back, and notices the end of its
	// client only then.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

const (
	// promised is the contract's two seconds (P8).
	promised = 2 * time.Second
	// patience is for what has no promised time: a busy machine is not a fault.
	patience = 20 * time.Second
)

// note is what a viewer in these tests is sent: one line of JSON for each update.
type note struct {
	ID      int64
	Version int64
	Price   string
	Bids    int
	Over    bool
	Clock   bool
}

// notes is the representation of these tests.
func notes() *live.Representation {
	line := func(n note) []byte {
		text, err := json.Marshal(n)
		if err != nil {
			panic(err)
		}
		return append(text, '\n')
	}
	update := func(u auction.Update, _ time.Time) []byte {
		return line(
			note{
				ID: u.State.ID, Version: u.State.Version, Price: u.State.CurrentPrice.String(), Bids: len(u.Recent),
				Over: u.State.Status.Over(),
			},
		)
	}
	return &live.Representation{
		Name: "notes", Price: update, Closed: update,
		Clock: func(time.Time, bool) []byte { return line(note{Clock: true}) },
		Retry: func(after time.Duration) []byte {
			return []byte("retry " + strconv.FormatInt(after.Milliseconds(), 10) + "\n")
		},
	}
}

// house is a database with auctions that are for these tests to move.
type house struct {
	t    testing.TB
	pool *pgxpool.Pool
	ids  []int64
}

func newHouse(t testing.TB, pool *pgxpool.Pool, auctions int) *house {
	t.Helper()
	h := &house{t: t, pool: pool}
	rows, err := pool.Query(t.Context(), `
		WITH seller AS (INSERT INTO users (name) VALUES ('Sela'), ('Bidda') RETURNING id)
		INSERT INTO auctions (seller_id, currency, currency_digits, start_price, min_increment, current_price, status,
		start_at, end_at, original_end_at)
		SELECT (SELECT min(id) FROM seller), 'USD', 2, 100000, 1000, 100000, 'OPEN',
			now() - interval '1 hour', now() + interval '1 hour', now() + interval '1 hour'
		FROM generate_series(1, $1::int) RETURNING id`, auctions)
	if err != nil {
		t.Fatal(err)
	}
	if h.ids, err = pgx.CollectRows(rows, pgx.RowTo[int64]); err != nil {
		t.Fatal(err)
	}
	return h
}

// bid raises an auction's price by one step in the database and returns what should be announced:
// the newest bid only.
func (h *house) bid(id int64) auction.Update {
	h.t.Helper()
	_, err := h.pool.Exec(context.Background(), `
		WITH moved AS (
			UPDATE auctions SET current_price = current_price + min_increment, leader_id = seller_id + 1,
			leader_paddle = 1,
				bid_count = bid_count + 1, bidder_count = 1, version = version + 1
			WHERE id = $1 RETURNING *)
		INSERT INTO bids (auction_id, seq, bidder_id, paddle, amount, request_id, accepted_at)
		SELECT id, bid_count, leader_id, 1, current_price, $2, clock_timestamp() FROM moved`, id, uuid.New())
	if err != nil {
		h.t.Error(err)
		return auction.Update{}
	}
	return h.read(id)
}

// cancel ends an auction in the database.
func (h *house) cancel(id int64) auction.Update {
	h.t.Helper()
	_, err := h.pool.Exec(context.Background(),
		`UPDATE auctions SET status = 'CANCELLED', closed_at = clock_timestamp(), version = version + 1
		WHERE id = $1`, id)
	if err != nil {
		h.t.Error(err)
	}
	return h.read(id)
}

func (h *house) read(id int64) auction.Update {
	h.t.Helper()
	queries := db.New(h.pool)
	rows, err := queries.AuctionsLive(context.Background(), []int64{id})
	if err != nil || len(rows) != 1 {
		h.t.Errorf("auction %d: %d rows, %v", id, len(rows), err)
		return auction.Update{}
	}
	bids, err := queries.BidsLatest(context.Background(), db.BidsLatestParams{AuctionID: id, RowLimit: 1})
	if err != nil {
		h.t.Error(err)
	}
	s := rows[0].Auction.State()
	return auction.Update{State: s, Recent: db.AcceptedMany(bids, s.Currency)}
}

// node is one running node: a hub and an HTTP server whose only page is /?id=1&id=2.
type node struct {
	*live.Hub
	t       testing.TB
	server  *httptest.Server
	metrics *prometheus.Registry
}

// quiet is a log that only counts its lines.
type quiet struct {
	mu    sync.Mutex
	lines []string
}

func (q *quiet) Write(line []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lines = append(q.lines, string(line))
	return len(line), nil
}

func (q *quiet) count() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.lines)
}

func newHub(
	t testing.TB, pool *pgxpool.Pool, client *redis.Client, limits live.Limits, log io.Writer,
) (*live.Hub, *prometheus.Registry) {
	metrics := prometheus.NewRegistry()
	return live.New(live.Options{
		Database: pool, Redis: client, House: whoseHouse(t, pool, client), Metrics: metrics,
		Log: slog.New(slog.NewTextHandler(log, nil)), Limits: limits,
	}), metrics
}

// whoseHouse is the identity of a database's house, known if the stores answer.
func whoseHouse(t testing.TB, pool *pgxpool.Pool, client *redis.Client) *identity.House {
	house := identity.New(pool, client, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { _ = house.Close() })
	_ = house.Find(context.Background()) // a hub that is moved by hand has no stores
	return house
}

// run starts a node; prepare, which may be nil, gets at the hub before anybody else.
func run(t testing.TB, pool *pgxpool.Pool, client *redis.Client, prepare func(*live.Hub)) *node {
	t.Helper()
	n := &node{t: t}
	n.Hub, n.metrics = newHub(t, pool, client, live.Limits{}, io.Discard)
	if prepare != nil {
		prepare(n.Hub)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		n.Run(ctx)
		close(ended)
	}()
	listener, err := live.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n.server = &httptest.Server{Listener: listener, Config: &http.Server{Handler: n}}
	n.server.Start()
	t.Cleanup(func() {
		n.server.Close()
		cancel()
		<-ended
		if left := n.Viewers(); left != 0 {
			t.Errorf("%d viewers are left after the end", left)
		}
	})
	return n
}

func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var ids []int64
	for _, text := range r.URL.Query()["id"] {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		ids = append(ids, id)
	}
	missing, err := n.Known(r.Context(), ids)
	switch {
	case errors.Is(err, auction.ErrUnavailable):
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	case err != nil || len(missing) > 0:
		http.Error(w, fmt.Sprint(missing, err), http.StatusNotFound)
		return
	}
	v, err := n.Admit(live.Viewing{Auctions: ids, As: allNotes, Address: r.Header.Get("Address")})
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		v.Leave()
		n.t.Error(err)
		return
	}
	v.TakeOver(conn, []byte("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"))
}

// allNotes is shared, as representations are.
var allNotes = notes()

// redisReady waits until the node hears Redis.
func (n *node) redisReady() *node {
	n.t.Helper()
	eventually(n.t, patience, func() error {
		if n.Slow() {
			return errors.New("the node does not hear Redis")
		}
		return nil
	})
	return n
}

// eventually tries until it succeeds, and fails the test when that takes longer than it may.
func eventually(t testing.TB, within time.Duration, try func() error) {
	t.Helper()
	for deadline := time.Now().Add(within); ; {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %v: %v", within, err)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// watcher is a viewer that reads, and notes what it is sent.
type watcher struct {
	t    testing.TB
	conn net.Conn
	done chan struct{}

	mu     sync.Mutex
	newest map[int64]note
	count  map[int64]int
	clocks int
	faults []string
	last   string    // the line that is no note
	at     time.Time // when the last note about an auction came
}

func request(ids []int64, header string) string {
	var query []string
	for _, id := range ids {
		query = append(query, "id="+strconv.FormatInt(id, 10))
	}
	return "GET /?" + strings.Join(query, "&") + " HTTP/1.1\r\nHost: h\r\n" + header + "\r\n"
}

func (n *node) dial(ids []int64) net.Conn {
	n.t.Helper()
	conn, err := net.Dial("tcp", n.server.Listener.Addr().String())
	if err != nil {
		n.t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request(ids, "")); err != nil {
		n.t.Fatal(err)
	}
	return conn
}

// watch connects a viewer of the auctions and returns once it is let in.
func (n *node) watch(ids ...int64) *watcher {
	n.t.Helper()
	w := &watcher{
		t: n.t, conn: n.dial(ids), done: make(chan struct{}), newest: map[int64]note{}, count: map[int64]int{},
	}
	reader := bufio.NewReader(w.conn)
	response, err := http.ReadResponse(reader, nil)
	if err != nil || response.StatusCode != http.StatusOK {
		n.t.Fatalf("not let in: %v, %v", response, err)
	}
	go w.read(reader)
	n.t.Cleanup(w.leave)
	return w
}

func (w *watcher) leave() {
	w.conn.Close()
	<-w.done
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, fault := range w.faults {
		w.t.Error(fault)
	}
}

func (w *watcher) read(reader *bufio.Reader) {
	defer close(w.done)
	for {
		line, err := reader.ReadBytes('\n')
		if err != nil {
			return
		}
		w.take(line)
	}
}

func (w *watcher) take(line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var n note
	if err := json.Unmarshal(line, &n); err != nil {
		w.last = string(line)
		return
	}
	if n.Clock {
		w.clocks++
		return
	}
	known := w.newest[n.ID]
	if n.Version < known.Version || known.Over {
		w.faults = append(
			w.faults,
			fmt.Sprintf("auction %d: version %d came after %d (over: %v)", n.ID, n.Version, known.Version, known.Over),
		)
	}
	w.newest[n.ID] = n
	w.count[n.ID]++
	w.at = time.Now()
}

func (w *watcher) seen(id int64) (note, int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.newest[id], w.count[id]
}

// sees waits until the viewer has seen the version.
func (w *watcher) sees(id, version int64, within time.Duration) {
	w.t.Helper()
	eventually(w.t, within, func() error {
		if n, _ := w.seen(id); n.Version < version {
			return fmt.Errorf("auction %d: version %d seen, %d wanted", id, n.Version, version)
		}
		return nil
	})
}

// metric reads a figure: one without labels, or the one whose only label has the value.
func (n *node) metric(name, label string) float64 {
	n.t.Helper()
	families, err := n.metrics.Gather()
	if err != nil {
		n.t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			if len(m.GetLabel()) == 0 || m.GetLabel()[0].GetValue() == label {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return 0
}

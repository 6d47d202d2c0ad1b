package auctioneer_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"martelo/app/auction"
	"martelo/app/auctioneer"
	"martelo/db"
	"martelo/db/dbtest"
)

// hall is a database with auctions that are due.
type hall struct {
	testing.TB
	pool           *pgxpool.Pool
	seller, bidder int64
}

func newHall(t testing.TB) *hall {
	h := &hall{TB: t, pool: dbtest.Pool(t)}
	h.seller, h.bidder = h.user(), h.user()
	return h
}

func (h *hall) user() int64 {
	user, err := db.New(h.pool).UserInsert(h.Context(), db.UserInsertParams{Name: "somebody", Role: "seller"})
	if err != nil {
		h.Fatal(err)
	}
	return user.ID
}

func (h *hall) exec(sql string, args ...any) {
	if _, err := h.pool.Exec(h.Context(), sql, args...); err != nil {
		h.Fatal(err)
	}
}

func (h *hall) count(sql string, args ...any) (n int) {
	if err := h.pool.QueryRow(h.Context(), sql, args...).Scan(&n); err != nil {
		h.Fatal(err)
	}
	return n
}

// fill opens auctions that all end after the given time; every second has two bids.
func (h *hall) fill(auctions int, ends time.Duration) {
	h.exec(`
		INSERT INTO auctions (seller_id, currency, currency_digits, start_price, min_increment, current_price,
		leader_id, leader_paddle,
		    bid_count, bidder_count, status, start_at, end_at, original_end_at)
		SELECT $1, 'USD', 2, 100, 10, CASE WHEN n % 2 = 0 THEN 100 ELSE 150 END, CASE WHEN n % 2 = 1
		THEN $2::bigint END,
		    CASE WHEN n % 2 = 1 THEN 1 END, CASE WHEN n % 2 = 1 THEN 2 ELSE 0 END, n % 2, 'OPEN',
		    now() - interval '1 hour', now() + $4, now() + $4
		FROM generate_series(1, $3) AS n`, h.seller, h.bidder, auctions, ends)
}

func (h *hall) closer(announce func(auction.Update)) *auctioneer.Auctioneer {
	return auctioneer.New(auctioneer.Options{
		Database: h.pool, Announce: announce, Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	})
}

func (h *hall) eventually(within time.Duration, what string, holds func() bool) {
	deadline := time.Now().Add(within)
	for !holds() {
		if time.Now().After(deadline) {
			h.Fatalf("not within %s: %s", within, what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Two thousand auctions end in the same second on two nodes: all are closed within five, each once,
// with one event and one announcement each, and the winner is the leader at the current price.
func TestTwoThousandAtOnce(t *testing.T) {
	t.Parallel()
	const auctions = 2000
	h := newHall(t)
	h.fill(auctions, 300*time.Millisecond)
	var mu sync.Mutex
	announced := map[int64]int{}
	announce := func(u auction.Update) {
		mu.Lock()
		defer mu.Unlock()
		announced[u.State.ID]++
		result := u.State.Result()
		if u.State.Status != auction.Closed || u.State.BidCount > 0 &&
			(result.WinnerID != h.bidder || result.HammerPrice.Minor() != 150) ||
			u.State.BidCount == 0 && result.WinnerID != 0 {
			t.Errorf("announced %+v", u.State)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for range 2 {
		running.Go(func() { h.closer(announce).Run(ctx) })
	}
	h.eventually(5*time.Second, "all are closed", func() bool {
		return h.count(`SELECT count(*) FROM auctions WHERE status = 'CLOSED'`) == auctions
	})
	h.eventually(5*time.Second, "all are announced", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(announced) == auctions
	})
	stop()
	running.Wait()
	if n := h.count(`SELECT count(*) FROM outbox WHERE topic = 'auction-closed'`); n != auctions {
		t.Errorf("%d events", n)
	}
	if n := h.count(`SELECT count(DISTINCT auction_id) FROM outbox`); n != auctions {
		t.Errorf("events of %d auctions", n)
	}
	if n := h.count(`SELECT count(*) FROM auctions WHERE closed_at < end_at OR version <> 2`); n != 0 {
		t.Errorf("%d closed early or twice", n)
	}
	for id, n := range announced {
		if n != 1 {
			t.Errorf("auction %d was announced %d times", id, n)
		}
	}
}

// An auction that cannot close does not stop the others, in its own set neither.
func TestOneThatCannotCloseStopsNobody(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	h.fill(30, -time.Second)
	h.exec(`CREATE FUNCTION stuck() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'stuck'; END $$`)
	h.exec(
		`CREATE TRIGGER stuck BEFORE UPDATE ON auctions FOR EACH ROW WHEN (OLD.id % 10 = 3) EXECUTE FUNCTION stuck()`,
	)
	stuck := h.count(`SELECT count(*) FROM auctions WHERE id % 10 = 3`)
	closer := h.closer(func(auction.Update) {})
	for range 2 {
		if err := closer.Due(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if open := h.count(`SELECT count(*) FROM auctions WHERE status = 'OPEN'`); open != stuck {
		t.Errorf("%d are open, %d cannot close", open, stuck)
	}
	if events := h.count(`SELECT count(*) FROM outbox`); events != 30-stuck {
		t.Errorf("%d events", events)
	}
}

// An auction that somebody holds is passed over without waiting, and closed once it is free, unless
// its end has moved.
func TestALockedAuctionIsLeftForLater(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	h.fill(2, -time.Second)
	holder, err := h.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var held int64
	if err := holder.QueryRow(t.Context(), `UPDATE auctions SET end_at = clock_timestamp() + interval '1 hour',
		version = version + 1
		WHERE id = (SELECT min(id) FROM auctions) RETURNING id`).Scan(&held); err != nil {
		t.Fatal(err)
	}
	closer := h.closer(func(auction.Update) {})
	if err := closer.Due(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := h.count(`SELECT count(*) FROM auctions WHERE status = 'CLOSED'`); n != 1 {
		t.Errorf("%d closed while one was held", n)
	}
	if err := holder.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := closer.Due(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := h.count(`SELECT count(*) FROM auctions WHERE id = $1 AND status = 'OPEN'`, held); n != 1 {
		t.Error("an auction whose end had moved was closed")
	}
}

// However unlucky the plan, a set has no more than its limit. The published statement, an IN over a
// locking subquery, may.
func TestASetKeepsItsLimitUnderAnyPlan(t *testing.T) {
	t.Parallel()
	const limit = 5
	h := newHall(t)
	h.fill(200, -time.Second)
	conn, err := h.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	raw := conn.Hijack()
	defer raw.Close(context.Background())
	for _, off := range []string{
		"hashjoin", "mergejoin", "hashagg", "sort", "material", "memoize", "indexscan", "bitmapscan",
	} {
		if _, err := raw.Exec(t.Context(), "SET enable_"+off+" = off"); err != nil {
			t.Fatal(err)
		}
	}
	q := db.New(raw)
	for range 3 {
		rows, err := q.AuctionsDue(t.Context(), db.AuctionsDueParams{PassedOver: []int64{}, RowLimit: limit})
		if err != nil || len(rows) != limit {
			t.Fatalf("%d locked, %v", len(rows), err)
		}
		arg := db.AuctionsCloseParams{}
		now, err := q.Clock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		arg.ClosedAt = &now
		for _, row := range rows {
			arg.Ids, arg.Versions = append(arg.Ids, row.ID), append(arg.Versions, row.Version+1)
		}
		if closed, err := q.AuctionsClose(t.Context(), arg); err != nil || len(closed) != limit {
			t.Fatalf("%d closed, %v", len(closed), err)
		}
	}
	if n := h.count(`SELECT count(*) FROM auctions WHERE status = 'CLOSED'`); n != 3*limit {
		t.Errorf("%d are closed", n)
	}
}

package auctioneer_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"martelo/app/auction"
	"martelo/app/auctioneer"
	"martelo/app/catalog"
	"martelo/app/hot"
	"martelo/app/listing"
	"martelo/db"
)

// touching is a node that tells a follower of what it decides.
func (h *house) touching(f *listing.Follower) *auctioneer.Auctioneer {
	node := h.desk()
	node.List(f)
	return node
}

// places are the ids of open auctions in the order of a list.
func (h *house) places(sort catalog.Sort) (ids []int64) {
	page, err := catalog.New(h.pool).List(h.Context(), catalog.Filter{Sort: sort})
	if err != nil {
		h.Fatal(err)
	}
	for _, a := range page.Auctions {
		ids = append(ids, a.ID)
	}
	return ids
}

// lots gives auctions words, without which they are in no list.
func (h *house) lots(ids ...int64) {
	for _, id := range ids {
		h.exec(fmt.Sprintf(`INSERT INTO lots (auction_id, title) VALUES (%d, 'Watch') ON CONFLICT DO NOTHING`, id))
	}
}

// The order of a list follows a bid within a second, in either lane. A status is in it at once,
// without anybody following.
func TestListsFollowBids(t *testing.T) { inBothLanes(t, listsFollowBids) }

func listsFollowBids(t *testing.T, lane auction.Lane) {
	h := newHouseIn(t, lane, 1)
	follower := h.follower()
	node := h.touching(follower)
	if lane == auction.Hot {
		settler := hot.New(hot.Options{
			Database: h.pool, Redis: h.redis, House: h.house, Listings: follower, Log: slog.New(slog.DiscardHandler),
		})
		h.Cleanup(func() { _ = settler.Close() })
		h.running(settler.Run)
		node = h.node(auctioneer.Options{Hot: settler})
	}
	h.running(follower.Run)
	first, second := h.open(time.Minute, auction.DefaultSoftClose), h.open(90*time.Second, auction.SoftClose{})
	h.lots(first, second)
	for _, sort := range []catalog.Sort{catalog.SortEnding, catalog.SortPrice} {
		if got := h.places(sort); fmt.Sprint(got) != fmt.Sprint([]int64{first, second}) {
			t.Fatalf("by %s at first %d, want %d before %d", sort, got, first, second)
		}
	}
	h.place(node, request(first, h.bidders[0], 101_000)) // dearer, and ends two minutes from now
	within := listing.Within
	if lane == auction.Hot {
		within += 2 * time.Second // until it is settled
	}
	h.eventually(within, "the order follows", func() bool {
		return fmt.Sprint(h.places(catalog.SortEnding), h.places(catalog.SortPrice)) ==
			fmt.Sprint([]int64{second, first}, []int64{second, first})
	})
	if err := node.Cancel(t.Context(), second, admin); err != nil {
		t.Fatal(err)
	}
	if got := h.places(catalog.SortPrice); fmt.Sprint(got) != fmt.Sprint([]int64{first}) {
		t.Errorf("after one was cancelled %d are open", got)
	}
	third := h.open(hour, auction.SoftClose{})
	h.lots(third)
	if got := h.places(catalog.SortEnding); fmt.Sprint(got) != fmt.Sprint([]int64{first, third}) {
		t.Errorf("after another was opened %d are open", got)
	}
}

// running runs a role until the test ends.
func (h *house) running(role func(context.Context)) {
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { role(ctx) })
	h.Cleanup(func() {
		stop()
		running.Wait()
	})
}

// However bids, moves, cancels and closes of many nodes come together, every listing is in the end
// what its auction is, and has its status at any time. Nobody waits for anybody in a circle.
func TestListingsBecomeWhatTheAuctionsAre(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 3)
	const nodes, steps = 3, 150
	var ids []int64
	for i := range 12 {
		ends := time.Duration(i+1) * 200 * time.Millisecond
		ids = append(ids, h.open(ends, auction.SoftClose{Window: time.Second, Extend: time.Second}))
	}
	h.exec(fmt.Sprintf(`INSERT INTO auctions (seller_id, currency, currency_digits, start_price, min_increment,
		current_price, status, start_at, end_at, original_end_at)
		SELECT %d, 'JPY', 0, 100, 1, 100, 'SCHEDULED', now() + n * interval '50 ms', now() + interval '1 minute',
		    now() + interval '1 minute' FROM generate_series(1, 12) AS n`, h.seller))
	rows, err := h.pool.Query(t.Context(), `SELECT id FROM auctions WHERE status = 'SCHEDULED'`)
	if err != nil {
		t.Fatal(err)
	}
	later, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil || len(later) == 0 {
		t.Fatal(len(later), err)
	}
	ids = append(ids, later...)
	h.exec(`CREATE FUNCTION back() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'went back'; END $$`,
		`CREATE TRIGGER back BEFORE UPDATE ON listings FOR EACH ROW WHEN (NEW.version <= OLD.version)
			EXECUTE FUNCTION back()`)
	complaints := &lockedBuffer{}
	log := slog.New(slog.NewTextHandler(complaints, nil))
	var working sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	var roles sync.WaitGroup
	for n := range nodes {
		follower := listing.New(h.pool, log, nil)
		node := h.node(auctioneer.Options{Log: log, Listings: follower})
		roles.Go(func() { node.Run(ctx) })
		for range 2 {
			roles.Go(func() {
				for ctx.Err() == nil {
					if err := follower.Follow(ctx); err != nil && ctx.Err() == nil {
						t.Errorf("following: %v", err)
					}
					for _, id := range ids {
						follower.Touch(id) // so that every node follows every auction
					}
				}
			})
		}
		working.Go(func() {
			random := rand.New(rand.NewPCG(uint64(n), 1))
			for range steps {
				id := ids[random.IntN(len(ids))]
				if random.IntN(40) == 0 {
					_ = node.Cancel(t.Context(), id, admin)
					continue
				}
				price := h.row(id).CurrentPrice + 1000*int64(1+random.IntN(3))
				_, _, _ = node.Place(t.Context(), request(id, h.bidders[random.IntN(3)], price))
			}
		})
	}
	working.Go(func() {
		for range 100 {
			var wrong int
			err := h.pool.QueryRow(t.Context(), `SELECT count(*) FROM auctions a LEFT
				JOIN listings l ON l.auction_id = a.id
				WHERE a.status IS DISTINCT FROM l.status`).Scan(&wrong)
			if err != nil || wrong > 0 {
				t.Errorf("%d statuses differ, %v", wrong, err)
			}
		}
	})
	working.Wait()
	h.eventually(20*time.Second, "some are open, closed and cancelled", func() bool {
		var kinds int
		if err := h.pool.QueryRow(t.Context(), `SELECT count(DISTINCT status) FROM auctions
			WHERE status <> 'SCHEDULED'`).Scan(&kinds); err != nil {
			t.Fatal(err)
		}
		return kinds == 3
	})
	stop()
	roles.Wait()
	last := h.follower()
	if _, err := last.Look(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	// Followers that were stopped within a statement may hold a listing for a moment still. It
	// stays touched, so that no other look is needed.
	h.eventually(10*time.Second, "all have followed", func() bool {
		if err := last.Follow(t.Context()); err != nil {
			t.Fatal(err)
		}
		return len(h.behind()) == 0
	})
	if said := complaints.String(); strings.Contains(said, "40P01") {
		t.Errorf("a deadlock: %s", said)
	}
}

// A listing that PostgreSQL refuses keeps no other from its place.
func TestARefusedListingKeepsNoOtherBack(t *testing.T) {
	t.Parallel()
	h := newHouse(t, 1)
	follower := h.follower()
	node := h.touching(follower)
	var ids []int64
	for range 5 {
		id := h.open(hour, auction.SoftClose{})
		ids = append(ids, id)
		h.place(node, request(id, h.bidders[0], 101_000))
	}
	h.exec(`CREATE FUNCTION stuck() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'stuck'; END $$`,
		fmt.Sprintf(`CREATE TRIGGER stuck BEFORE UPDATE ON listings FOR EACH ROW WHEN (OLD.auction_id = %d)
			EXECUTE FUNCTION stuck()`, ids[2]))
	if err := follower.Follow(t.Context()); err == nil {
		t.Error("a refused listing is not told")
	}
	if got := h.behind(); len(got) != 1 || !strings.HasPrefix(got[0], fmt.Sprintf("auction %d:", ids[2])) {
		t.Errorf("behind are %s", got)
	}
}

// An auction that bids have extended closes at the end it has then, among many others that are
// being extended. The closer knows when that is.
func TestAnExtendedAuctionClosesAtItsEnd(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	h.fill(1200, -time.Second)
	h.exec(`UPDATE auctions SET end_at = now() + interval '1 hour', version = version + 1
		WHERE id < (SELECT max(id) - 600 FROM auctions)`)
	h.exec(`UPDATE auctions SET end_at = now() + interval '1500 ms', version = version + 1
		WHERE id = (SELECT max(id) FROM auctions)`)
	closed := make(chan auction.State, 1200)
	node := h.closer(func(u auction.Update) { closed <- u.State })
	if err := node.Due(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(closed); n != 600 {
		t.Errorf("%d closed at first", n)
	}
	wait, err := db.New(h.pool).AuctionNextDue(t.Context(), db.AuctionNextDueParams{
		OtherwiseMilliseconds: 5000, PassedOver: []int64{},
	})
	if err != nil || wait <= 0 || wait > 1500 {
		t.Errorf("the next is due in %d ms, %v", wait, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { node.Run(ctx) })
	h.eventually(10*time.Second, "the extended one is closed", func() bool { return len(closed) == 601 })
	stop()
	running.Wait()
	for range 600 {
		<-closed
	}
	if s := <-closed; s.ClosedAt.Before(s.EndAt) || s.ClosedAt.Sub(s.EndAt) > 2*time.Second {
		t.Errorf("it ended at %s and was closed at %s", s.EndAt, s.ClosedAt)
	}
}

package auctioneer_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"martelo/app/auction"
	"martelo/app/auctioneer"
	"martelo/app/hot"
	"martelo/app/identity"
	"martelo/app/money"
	"martelo/db"
	"martelo/db/dbtest"
)

var usd = money.MustCurrency("USD")

func cents(n int64) money.Amount { return money.FromMinor(n, usd) }

func decimal(minor int64) money.Decimal {
	d, err := money.Parse(cents(minor).String())
	if err != nil {
		panic(err)
	}
	return d
}

// placer is what the tests ask of any design that takes bids: ours, and the published one that they
// must catch.
type placer interface {
	Place(context.Context, auction.Request) (auction.Bid, bool, error)
}

// house is a database with a seller, bidders, and auctions of one lane on which desks work.
type house struct {
	testing.TB
	pool    *pgxpool.Pool
	lane    auction.Lane
	redis   *redis.Client // of the hot lane
	house   *identity.House
	reader  *hot.Lane // looks and does not work
	seller  int64
	bidders []int64
}

func newHouse(t testing.TB, bidders int) *house { return newHouseIn(t, auction.Standard, bidders) }

// inBothLanes runs a test of what holds in either lane.
func inBothLanes(t *testing.T, test func(t *testing.T, lane auction.Lane)) {
	t.Parallel()
	for _, lane := range []auction.Lane{auction.Standard, auction.Hot} {
		t.Run(string(lane), func(t *testing.T) {
			t.Parallel()
			test(t, lane)
		})
	}
}

func newHouseIn(t testing.TB, lane auction.Lane, bidders int) *house {
	return newHouseWith(t, lane, dbtest.Pool(t), bidders)
}

// newHouseOnServer is a house on a PostgreSQL of its own.
func newHouseOnServer(t *testing.T, lane auction.Lane, url string, bidders int) *house {
	pool, err := db.Open(url, 10)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return newHouseWith(t, lane, pool, bidders)
}

func newHouseWith(t testing.TB, lane auction.Lane, pool *pgxpool.Pool, bidders int) *house {
	h := &house{TB: t, pool: pool, lane: lane}
	if lane == auction.Hot {
		h.redis = dbtest.Redis(t)
		h.house = dbtest.Identity(t, h.pool, h.redis)
		h.reader = h.hotLane()
	}
	h.seller = h.user()
	for range bidders {
		h.bidders = append(h.bidders, h.user())
	}
	return h
}

func (h *house) user() int64 {
	user, err := db.New(h.pool).UserInsert(h.Context(), db.UserInsertParams{Name: "somebody", Role: "seller"})
	if err != nil {
		h.Fatal(err)
	}
	return user.ID
}

// desk is one node's desk, stopped when the test ends.
func (h *house) desk() *auctioneer.Auctioneer {
	return h.announcing(func(auction.Update) {})
}

// hotLane is one node's hot lane.
func (h *house) hotLane() *hot.Lane {
	lane := hot.New(hot.Options{
		Database: h.pool, Redis: h.redis, House: h.house, Log: slog.New(slog.DiscardHandler),
		Metrics: prometheus.NewRegistry(),
	})
	h.Cleanup(func() { _ = lane.Close() })
	return lane
}

func (h *house) announcing(announce func(auction.Update)) *auctioneer.Auctioneer {
	if h.redis == nil {
		return h.node(auctioneer.Options{Announce: announce})
	}
	lane := h.hotLane()
	node := h.node(auctioneer.Options{Hot: lane, Announce: announce})
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { lane.Run(ctx) })
	running.Go(func() { node.CloseHot(ctx) })
	h.Cleanup(func() {
		stop()
		running.Wait()
	})
	return node
}

// node is a node's auctioneer, stopped when the test ends. It opens and closes nothing by itself.
func (h *house) node(o auctioneer.Options) *auctioneer.Auctioneer {
	o.Database, o.Metrics = h.pool, prometheus.NewRegistry()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	node := auctioneer.New(o)
	h.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := node.Stop(ctx); err != nil {
			h.Error(err)
		}
	})
	return node
}

// open opens an auction at 1000.00 in steps of 10.00 that ends after the given time.
func (h *house) open(ends time.Duration, soft auction.SoftClose) int64 {
	q := db.New(h.pool)
	now, err := q.Clock(h.Context())
	if err != nil {
		h.Fatal(err)
	}
	id, err := q.AuctionInsert(h.Context(), db.AuctionInsertParams{
		SellerID: h.seller, Currency: "USD", CurrencyDigits: 2, StartPrice: 100000, MinIncrement: 1000, Status: "OPEN",
		Lane:                   string(h.lane),
		SoftCloseWindowSeconds: int32(soft.Window.Seconds()), SoftCloseExtendSeconds: int32(soft.Extend.Seconds()),
		StartAt: now, EndAt: now.Add(ends), Title: "Vintage watch",
	})
	if err != nil {
		h.Fatal(err)
	}
	return id
}

// end lets an auction end now, as if its time had passed. The terms are fixed by a trigger, so the
// triggers are put off for it.
func (h *house) end(id int64) {
	h.settled(id)
	h.exec(`SET session_replication_role = replica`,
		fmt.Sprintf(`UPDATE auctions SET (start_at, end_at, original_end_at, version) = (LEAST(start_at,
			now() - interval '1 second'), now(), now(), version + 1) WHERE id = %d AND status = 'OPEN'`, id))
	h.endInRedis(id)
}

func (h *house) endInRedis(id int64) {
	if h.lane != auction.Hot {
		return
	}
	row := h.row(id)
	state := h.stateKey(id)
	if err := h.redis.HSet(
		h.Context(), state, "start", row.StartAt.UnixMicro(), "end", row.EndAt.UnixMicro(),
	).Err(); err != nil {
		h.Fatal(err)
	}
	h.eventually(10*time.Second, "the auction is closed", func() bool {
		if err := h.node(auctioneer.Options{Hot: h.reader}).DueHot(h.Context()); err != nil {
			h.Fatal(err)
		}
		return h.row(id).Status == "CLOSED"
	})
}

func (h *house) eventually(within time.Duration, what string, holds func() bool) {
	h.Helper()
	deadline := time.Now().Add(within)
	for !holds() {
		if time.Now().After(deadline) {
			h.Fatalf("not within %s: %s", within, what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (h *house) row(id int64) db.Auction {
	row, err := db.New(h.pool).AuctionRow(h.Context(), id)
	if err != nil {
		h.Fatal(err)
	}
	return row
}

// settled returns when PostgreSQL has all that Redis has decided for an auction.
func (h *house) settled(id int64) {
	if h.redis == nil {
		return
	}
	h.eventually(10*time.Second, "all is settled", func() bool {
		row := h.row(id)
		if _, err := h.reader.Settle(h.Context(), id, row.LaneEpoch); err != nil {
			h.Fatal(err)
		}
		row = h.row(id)
		newest, _, knows := h.reader.Show(h.Context(), row)
		return !knows || newest.BidCount <= row.BidCount
	})
}

// warm has an auction loaded, by a bid that is refused.
func (h *house) warm(id int64, place placer) {
	if _, _, err := place.Place(h.Context(), request(id, h.bidders[0], 1)); err == nil {
		h.Fatal("a bid of one cent was taken")
	}
}

// exec runs statements on a connection that is thrown away.
func (h *house) exec(statements ...string) {
	conn, err := h.pool.Acquire(h.Context())
	if err != nil {
		h.Fatal(err)
	}
	raw := conn.Hijack()
	defer raw.Close(context.Background())
	for _, statement := range statements {
		if _, err := raw.Exec(h.Context(), statement); err != nil {
			h.Fatal(err)
		}
	}
}

func (h *house) state(id int64) auction.State {
	h.settled(id)
	rows, err := db.New(h.pool).AuctionsLive(h.Context(), []int64{id})
	if err != nil || len(rows) != 1 {
		h.Fatalf("%d rows, %v", len(rows), err)
	}
	return rows[0].Auction.State()
}

// clock is the database's.
func (h *house) clock() (time.Time, error) { return db.New(h.pool).Clock(h.Context()) }

func (h *house) log(id int64) []auction.Bid {
	rows, err := db.New(h.pool).BidsAfter(h.Context(), db.BidsAfterParams{AuctionID: id, RowLimit: 1 << 20})
	if err != nil {
		h.Fatal(err)
	}
	return db.AcceptedMany(rows, usd)
}

func request(id, bidder, minor int64) auction.Request {
	return auction.Request{AuctionID: id, BidderID: bidder, Amount: decimal(minor), Key: uuid.New()}
}

// outcome is what one request was told.
type outcome struct {
	request  auction.Request
	bid      auction.Bid
	replayed bool
	err      error
}

// race sends all requests at once, spread over the placers, and returns what each was told.
func race(ctx context.Context, requests []auction.Request, placers ...placer) []outcome {
	outcomes := make([]outcome, len(requests))
	var ready, done sync.WaitGroup
	gate := make(chan struct{})
	for i, r := range requests {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-gate
			bid, replayed, err := placers[i%len(placers)].Place(ctx, r)
			outcomes[i] = outcome{r, bid, replayed, err}
		})
	}
	ready.Wait()
	close(gate)
	done.Wait()
	return outcomes
}

// faults checks an auction against its log: P3 and P4, and that everything acknowledged is in it
// exactly once (P2, P5).
func (h *house) faults(id int64, outcomes []outcome) error {
	state, log := h.state(id), h.log(id)
	var all []error
	fault := func(format string, arg ...any) { all = append(all, fmt.Errorf(format, arg...)) }
	price, keys := state.StartPrice, map[uuid.UUID]auction.Bid{}
	for i, b := range log {
		if b.Seq != int64(i+1) {
			fault("bid %d has seq %d", i+1, b.Seq)
		}
		if b.Amount.Less(price.Add(state.MinIncrement)) {
			fault("bid %d of %s follows %s", b.Seq, b.Amount, price)
		}
		if _, twice := keys[b.Key]; twice {
			fault("key %s is in the log twice", b.Key)
		}
		price, keys[b.Key] = b.Amount, b
	}
	if !state.CurrentPrice.Equal(price) || state.BidCount != int64(len(log)) {
		fault(
			"price %s and count %d, but the log ends at %s with %d", state.CurrentPrice, state.BidCount, price,
			len(log),
		)
	}
	if len(log) > 0 && state.LeaderID != log[len(log)-1].BidderID {
		fault("leader %d, but the last bid is %d's", state.LeaderID, log[len(log)-1].BidderID)
	}
	for _, o := range outcomes {
		logged, found := keys[o.request.Key]
		switch {
		case o.err == nil && !found:
			fault("acknowledged and not in the log: %+v", o.bid)
		case o.err == nil &&
			(logged.BidderID != o.request.BidderID || logged.Seq != o.bid.Seq || logged.ID != o.bid.ID ||
				!logged.Amount.Equal(o.bid.Amount)):
			fault("answered %+v, logged %+v", o.bid, logged)
		}
	}
	return errors.Join(all...)
}

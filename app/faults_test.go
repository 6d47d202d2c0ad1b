package main_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"martelo/db/dbtest"
)

// attempt is one bid that somebody sent, with all its answers.
type attempt struct {
	bidder, amount int64
	key            uuid.UUID
	accepted       *bidReply // what the first 201 or 200 said
	unknown        bool      // no answer said what became of it
}

// crowd bids on one auction through several nodes for as long as it is let, each bidder with a few
// bids a second, so that no limit is met. A bid without a clear answer is sent again, with the same
// key, to the next node.
type crowd struct {
	town     *town
	nodes    []*node
	auction  int64
	bidders  []int64
	price    atomic.Int64 // the next amount somebody tries
	mu       sync.Mutex
	attempts []*attempt
	slowest  time.Duration
	statuses map[int]int
	faults   []string
}

func (c *crowd) run(ctx context.Context) {
	var bidding sync.WaitGroup
	for i, bidder := range c.bidders {
		bidding.Go(func() {
			pace := time.NewTicker(250 * time.Millisecond)
			defer pace.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-pace.C:
				}
				a := &attempt{bidder: bidder, amount: c.price.Add(10), key: uuid.New()}
				c.place(ctx, a, i)
			}
		})
	}
	bidding.Wait()
}

// place sends one bid until an answer says what became of it, or the crowd goes home.
func (c *crowd) place(ctx context.Context, a *attempt, first int) {
	c.mu.Lock()
	c.attempts = append(c.attempts, a)
	c.mu.Unlock()
	a.unknown = true
	for try := 0; a.unknown; try++ {
		// The crowd going home does not cut an answer short: what it was told must be known.
		r := c.nodes[(first+try)%len(c.nodes)].bid(context.WithoutCancel(ctx), c.auction, a.bidder, a.amount, a.key)
		c.note(r)
		switch {
		case r.err == nil && (r.status == http.StatusCreated || r.status == http.StatusOK):
			bid := must[bidReply](c.town, r, r.status)
			a.accepted, a.unknown = &bid, false
		case r.err == nil && r.status == http.StatusConflict:
			a.unknown = false
		case ctx.Err() != nil && try > 20:
			return
		default:
			time.Sleep(50 * time.Millisecond) // a client's pause before it tries again
		}
	}
}

func (c *crowd) note(r reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slowest = max(c.slowest, r.took)
	if r.err == nil {
		c.statuses[r.status]++
	}
	if r.err == nil && r.status >= 500 &&
		(r.status != http.StatusServiceUnavailable || r.code() != "unavailable" || r.header.Get("Retry-After") == "") {
		c.faults = append(c.faults, fmt.Sprintf("%d %s", r.status, r.body))
	}
}

// check holds what everybody was told against the log, as a surviving node shows it.
func (c *crowd) check(survivor *node) {
	t := c.town
	t.Helper()
	for _, fault := range c.faults {
		t.Errorf("an answer was %s", fault)
	}
	if c.slowest >= answerWithin {
		t.Errorf("an answer took %s", c.slowest)
	}
	log := survivor.bidLog(c.auction)
	byKey, price := map[int64]bidReply{}, int64(1000)
	for i, b := range log {
		var amount int64
		_, _ = fmt.Sscan(strings.TrimSuffix(b.Amount, ".00"), &amount)
		if b.Seq != int64(i+1) || amount < price+10 {
			t.Errorf("bid %d: seq %d of %s after %d", i+1, b.Seq, b.Amount, price)
		}
		price, byKey[b.ID] = amount, b
	}
	told, last := map[int64]bool{}, map[int64]*attempt{}
	for _, a := range c.attempts {
		if a.accepted == nil {
			continue
		}
		if logged, ok := byKey[a.accepted.ID]; !ok || logged != *a.accepted {
			t.Errorf("acknowledged %+v, logged %+v", *a.accepted, logged)
		}
		if told[a.accepted.ID] {
			t.Errorf("bid %d was given to two keys", a.accepted.ID)
		}
		told[a.accepted.ID] = true
		last[a.bidder] = a
	}
	for _, a := range last {
		var again reply
		eventually(t, 10*time.Second, "the limit lets a bidder ask again", func() bool {
			again = survivor.bid(t.Context(), c.auction, a.bidder, a.amount, a.key)
			return again.status != http.StatusTooManyRequests
		})
		if bid := must[bidReply](t, again, http.StatusOK); !again.replayed || bid != *a.accepted {
			t.Errorf("the key of bid %d was answered with %+v", a.accepted.Seq, bid)
		}
	}
	if final := survivor.auction(c.auction); final.BidCount != int64(len(log)) || len(log) > 0 &&
		*final.LeaderID != log[len(log)-1].BidderID {
		t.Errorf("%+v after %d bids", final, len(log))
	}
	if len(told) < 20 {
		t.Errorf("only %d bids were acknowledged: %v", len(told), c.statuses)
	}
	t.Logf(
		"%d bids logged, %d acknowledged, slowest answer %s, statuses %v", len(log), len(told), c.slowest, c.statuses,
	)
}

func (c *town) crowd(auction int64, bidders []int64, nodes ...*node) *crowd {
	crowd := &crowd{town: c, nodes: nodes, auction: auction, bidders: bidders, statuses: map[int]int{}}
	crowd.price.Store(1000)
	return crowd
}

func (c *crowd) acknowledged() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.statuses[http.StatusCreated]
}

// during runs the crowd, does the harm once bids are flowing, lets it go on for a while after, and
// sends it home.
func (c *crowd) during(harm func()) {
	ctx, home := context.WithCancel(c.town.Context())
	var bidding sync.WaitGroup
	bidding.Go(func() { c.run(ctx) })
	eventually(c.town, 15*time.Second, "bids are flowing", func() bool { return c.acknowledged() > 40 })
	harm()
	before := c.acknowledged()
	eventually(c.town, 20*time.Second, "bids are flowing again", func() bool { return c.acknowledged() > before+40 })
	home()
	bidding.Wait()
}

// P2: kill -9 of a node in the middle of load loses no bid that was answered, and the survivors
// give the same keys the same answers.
func TestANodeIsKilledUnderLoad(t *testing.T) {
	dbtest.Long(t)
	town := newDefaultTown(t)
	doomed, survivor := town.start(), town.start()
	auction := survivor.open(time.Hour)
	crowd := town.crowd(auction.ID, survivor.bidders(40), doomed, survivor)
	crowd.during(doomed.kill)
	crowd.check(survivor)
}

// P2: PostgreSQL is killed and started again under load. Answers in between are 503, none takes too
// long, nothing that was acknowledged is lost, and no node needs a restart.
func TestPostgreSQLCrashesUnderLoad(t *testing.T) {
	dbtest.Long(t)
	postgres := dbtest.StartPostgres(t)
	town := newTown(t, postgres.URL(), dbtest.RedisURL(t))
	here, there := town.start(), town.start()
	auction := here.open(time.Hour)
	crowd := town.crowd(auction.ID, here.bidders(40), here, there)
	crowd.during(func() {
		postgres.Kill()
		eventually(t, 15*time.Second, "somebody is told to come back", func() bool {
			crowd.mu.Lock()
			defer crowd.mu.Unlock()
			return crowd.statuses[http.StatusServiceUnavailable] > 10
		})
		if r := here.do(t.Context(), "GET", "/readyz", "", nil); r.status != http.StatusServiceUnavailable ||
			!strings.Contains(string(r.body), "postgresql") {
			t.Errorf("readiness without PostgreSQL: %d %s", r.status, r.body)
		}
		if r := here.do(t.Context(), "GET", "/healthz", "", nil); r.status != http.StatusOK {
			t.Errorf("liveness without PostgreSQL: %d", r.status)
		}
		postgres.Start()
	})
	crowd.check(there)
	eventually(t, 10*time.Second, "the nodes are ready again", func() bool {
		return here.do(t.Context(), "GET", "/readyz", "", nil).status == http.StatusOK
	})
}

// A PostgreSQL that hangs, with its connections open, makes nobody wait longer than the contract
// says.
func TestPostgreSQLHangs(t *testing.T) {
	dbtest.Long(t)
	postgres := dbtest.StartPostgres(t)
	town := newTown(t, postgres.URL(), dbtest.RedisURL(t))
	node := town.start()
	auction := node.open(time.Hour)
	bidders := node.bidders(30)
	postgres.Pause()
	var waiting sync.WaitGroup
	keys := make([]uuid.UUID, len(bidders))
	for i, bidder := range bidders {
		keys[i] = uuid.New()
		waiting.Go(func() {
			r := node.bid(t.Context(), auction.ID, bidder, 1010+10*int64(i), keys[i])
			if r.err != nil || r.status != http.StatusServiceUnavailable || r.took >= answerWithin {
				t.Errorf("%d %v after %s: %s", r.status, r.err, r.took, r.body)
			}
		})
	}
	waiting.Wait()
	postgres.Resume()
	eventually(t, 15*time.Second, "bids are taken again", func() bool {
		r := node.bid(t.Context(), auction.ID, bidders[0], 5000, keys[0])
		return r.status == http.StatusCreated || r.status == http.StatusUnprocessableEntity
	})
}

// A node that is told to stop while PostgreSQL hangs is gone in time all the same.
func TestANodeLeavesWhilePostgreSQLHangs(t *testing.T) {
	dbtest.Long(t)
	postgres := dbtest.StartPostgres(t)
	town := newTown(t, postgres.URL(), dbtest.RedisURL(t))
	node := town.start()
	auction, bidders := node.open(time.Hour), node.bidders(5)
	postgres.Pause()
	defer postgres.Resume()
	var waiting sync.WaitGroup
	for i, bidder := range bidders {
		waiting.Go(func() {
			r := node.bid(t.Context(), auction.ID, bidder, 1010+10*int64(i), uuid.New())
			if r.err == nil && r.status == http.StatusCreated {
				t.Errorf("a bid was taken by a database that hangs: %s", r.body)
			}
		})
	}
	if err := node.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-node.left:
	case <-time.After(leaveWithin):
		t.Error("it did not leave in time")
		node.kill()
	}
	waiting.Wait()
}

// Redis is killed under load: bids go on as before.
func TestRedisIsKilledUnderLoad(t *testing.T) {
	dbtest.Long(t)
	redis := dbtest.StartRedis(t)
	town := newTown(t, dbtest.URL(t), redis.URL())
	here, there := town.start(), town.start()
	auction := here.open(time.Hour)
	crowd := town.crowd(auction.ID, here.bidders(40), here, there)
	crowd.during(func() {
		redis.Kill()
		before := crowd.acknowledged()
		eventually(
			t, 10*time.Second, "bids go on without Redis", func() bool { return crowd.acknowledged() > before+40 },
		)
		r := here.do(t.Context(), "GET", "/readyz", "", nil)
		if r.status != http.StatusOK || !strings.Contains(string(r.body), `"redis"`) {
			t.Errorf("readiness without Redis: %d %s", r.status, r.body)
		}
		redis.Start()
	})
	crowd.check(here)
	for status := range crowd.statuses {
		if status >= 500 {
			t.Errorf("%d answers of %d while only Redis was away", crowd.statuses[status], status)
		}
	}
}

// The same key twenty times at once over two nodes: one 201, the others 200 with the same bid;
// again after being outbid and after the close.
func TestTwinsOverTwoNodes(t *testing.T) {
	dbtest.Long(t)
	const copies = 20
	town := newDefaultTown(t)
	nodes := []*node{town.start(), town.start()}
	auction := nodes[0].open(4 * time.Second)
	bidders := nodes[0].bidders(2)
	key := uuid.New()
	var first bidReply
	burst := func(name string, fresh int) {
		replies := make([]reply, copies)
		var sending sync.WaitGroup
		for i := range copies {
			sending.Go(func() { replies[i] = nodes[i%2].bid(t.Context(), auction.ID, bidders[0], 1010, key) })
		}
		sending.Wait()
		created := 0
		for _, r := range replies {
			status := http.StatusOK
			if r.status == http.StatusCreated {
				created++
				status = http.StatusCreated
			}
			bid := must[bidReply](t, r, status)
			if first.ID == 0 {
				first = bid
			}
			if bid != first || r.replayed != (r.status == http.StatusOK) {
				t.Errorf("%s: %d %+v, replayed %v; the first was %+v", name, r.status, bid, r.replayed, first)
			}
		}
		if created != fresh {
			t.Errorf("%s: %d were created", name, created)
		}
	}
	burst("at once", 1)
	must[bidReply](t, nodes[1].bid(t.Context(), auction.ID, bidders[1], 2000, uuid.New()), http.StatusCreated)
	burst("after being outbid", 0)
	eventually(
		t, 8*time.Second, "the auction is closed",
		func() bool { return nodes[1].auction(auction.ID).Status == "CLOSED" },
	)
	burst("after the close", 0)
}

// A node that is asked to leave finishes the bids it has taken, says goodbye in time, and the
// others go on.
func TestANodeLeavesUnderLoad(t *testing.T) {
	dbtest.Long(t)
	town := newDefaultTown(t)
	leaver, stayer := town.start(), town.start()
	auction := stayer.open(time.Hour)
	crowd := town.crowd(auction.ID, stayer.bidders(40), leaver, stayer)
	crowd.during(leaver.leave)
	crowd.check(stayer)
	for _, line := range leaver.lines() {
		if strings.Contains(line, `"level":"ERROR"`) {
			t.Errorf("the node left with %s", line)
		}
	}
}

// The whole life of an auction through the API, from creation to hammer, with its event told by the
// log.
func TestFromCreationToHammer(t *testing.T) {
	dbtest.Long(t)
	town := newDefaultTown(t)
	node := town.start()
	auction := node.open(3 * time.Second)
	bidders := node.bidders(2)
	for i, amount := range []int64{1010, 1050, 1100} {
		must[bidReply](t, node.bid(t.Context(), auction.ID, bidders[i%2], amount, uuid.New()), http.StatusCreated)
	}
	low := node.bid(t.Context(), auction.ID, bidders[0], 1105, uuid.New())
	if low.status != http.StatusConflict || low.code() != "bid_too_low" ||
		!strings.Contains(string(low.body), `"minimumBid":"1110.00"`) {
		t.Errorf("%d %s", low.status, low.body)
	}
	eventually(
		t, 6*time.Second, "the auction is closed", func() bool { return node.auction(auction.ID).Status == "CLOSED" },
	)
	late := node.bid(t.Context(), auction.ID, bidders[0], 2000, uuid.New())
	if late.status != http.StatusConflict || late.code() != "auction_closed" {
		t.Errorf("%d %s", late.status, late.body)
	}
	final := node.auction(auction.ID)
	if final.CurrentPrice != "1100.00" || *final.LeaderID != bidders[0] || final.BidCount != 3 {
		t.Errorf("%+v", final)
	}
	id := fmt.Sprintf("auction-closed:%d", auction.ID)
	eventually(
		t, 5*time.Second, "the event is told",
		func() bool { return strings.Contains(strings.Join(node.lines(), "\n"), id) },
	)
}

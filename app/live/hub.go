// Package live carries what changed from whoever committed it to everybody who watches.
//
// The [Hub] of a node holds the newest state of each auction that somebody watches there. States
// come in from this node's own commits, from Redis and from PostgreSQL, and the version that the
// database gave them decides which is newer. PostgreSQL has the last word: a state that it does not
// know is taken back (truth.go). On the way out a viewer has no queue: it is sent the newest state
// whenever it can take one.
package live

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"martelo/app/auction"
	"martelo/app/hot"
	"martelo/app/identity"
	"martelo/app/loop"
)

const (
	// lingerFor is how long an auction stays watched after its last viewer left: a reload or a
	// changed list finds it ready.
	lingerFor = time.Minute
	// lingerMax is how many stay so: some 10 MB, and as many channels in Redis. Whoever opens
	// streams and leaves again cannot make a node watch everything.
	lingerMax = 5000
	// sweepEvery is how often what lingers, and frames that nobody needs any more, are looked
	// through.
	sweepEvery = time.Second
	// A crowd is crowdMin arrivals; it is over when fewer than crowdTail come between two sweeps.
	crowdMin, crowdTail = 1000, 100
)

// Options are what a hub is made of. All but Limits and Hot are needed.
type Options struct {
	Database *pgxpool.Pool
	Redis    *redis.Client // only its options are used: the hub has connections of its own
	House    *identity.House
	Metrics  prometheus.Registerer
	Log      *slog.Logger
	Limits   Limits
	// Hot knows the newest state of an auction that Redis decides, whose row PostgreSQL may have a
	// little later. It may be nil.
	Hot *hot.Lane
}

// Hub is the live side of one node. Announce, Known and Admit may be called from anywhere at any
// time, also before Run.
type Hub struct {
	log      *slog.Logger
	limits   Limits
	metrics  *metrics
	viewers  *loop.Loop // what ends a viewer's connection
	registry prometheus.Registerer
	clock    *Clock
	store    *store
	publish  *publisher
	bus      *bus
	timing   timing
	numbers  atomic.Int64 // how many states have come in

	mu     sync.RWMutex // taken before a topic's lock
	topics map[int64]*topic
	idle   []idleTopic // topics that had no viewer, oldest first

	door door          // who is in
	news chan struct{} // holds one: some topic is dirty
	slow atomic.Bool   // Redis is away, so news may be a second late

	backOnce, foreignOnce sync.Once // what is said once

	round round

	dirtyMu sync.Mutex
	dirty   []*topic

	framedMu sync.Mutex
	framed   []*feed // feeds that hold a frame

	background sync.WaitGroup // goroutines of viewers that the hub started itself
}

type idleTopic struct {
	topic *topic
	since time.Time
}

// New makes a hub. It connects to nothing before Run.
func New(o Options) *Hub {
	h := &Hub{
		log: o.Log, registry: o.Metrics, limits: o.Limits.orDefault(), timing: defaultTiming,
		topics: map[int64]*topic{}, news: make(chan struct{}, 1),
	}
	h.metrics = newMetrics(o.Metrics, h)
	h.viewers = loop.New("viewers", o.Log, o.Metrics)
	h.clock = newClock(o.Database)
	h.store = newStore(o.Database, h)
	h.store.hot = o.Hot
	client := ownClient(o.Redis)
	client.AddHook(o.House)
	h.publish = newPublisher(client, o.House, h)
	h.bus = newBus(client, o.House, h)
	h.slow.Store(true)
	return h
}

// Run keeps the hub going until ctx ends; then it cuts whoever still watches. Redis and PostgreSQL
// may be away at any time.
func (h *Hub) Run(ctx context.Context) {
	var running sync.WaitGroup
	for name, role := range map[string]func(context.Context){
		"clock": h.clock.run, "first states": h.store.serve, "doubts": h.store.settle, "reconciler": h.store.reconcile,
		"publisher": h.publish.run, "subscriber": h.bus.run, "fan-out": h.fanOut, "live sweeper": h.sweep,
	} {
		running.Go(func() { loop.New(name, h.log, h.registry).Keep(ctx, role) })
	}
	running.Wait()
	h.cutAll()
	h.background.Wait()
	h.bus.close()
}

// Announce tells everybody what a commit led to: this node's viewers through the hub, the other
// nodes through Redis. It is called on the way of a bid's answer, so it never waits for anything
// but a short lock and never fails; what gets lost on the way is found by comparing with the
// database.
func (h *Hub) Announce(u auction.Update) {
	h.apply(&u)
	h.publish.put(&u)
}

// Clock is the node's estimate of PostgreSQL's clock.
func (h *Hub) Clock() *Clock { return h.clock }

// Known tells which of the auctions do not exist. If all do, it has the newest state of each at
// hand when it returns, so that a viewer admitted next sees it at once: whatever was committed
// before the call, on any node. Those who come together share a query. While PostgreSQL cannot be
// reached, auctions that are watched here are known by their last state; about others the error
// wraps auction.ErrUnavailable.
func (h *Hub) Known(ctx context.Context, ids []int64) (missing []int64, err error) {
	missing, err = h.store.load(ctx, ids)
	if err != nil && h.loaded(ids) {
		return nil, nil
	}
	return missing, err
}

// loaded tells whether a state of each of the auctions is at hand.
func (h *Hub) loaded(ids []int64) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, id := range ids {
		if t := h.topics[id]; t == nil || !t.loaded() {
			return false
		}
	}
	return true
}

// apply takes in what was announced, if its auction is watched and it is newer than what is known.
func (h *Hub) apply(u *auction.Update) {
	t := h.watched(u.State.ID)
	if t == nil {
		return
	}
	o := t.take(u, &h.numbers, h.clock.Now())
	if o.other {
		h.metrics.nonsense.Inc()
	}
	h.settle(t, o)
}

// learn takes in what was found in PostgreSQL, if its auction is watched.
func (h *Hub) learn(l look) {
	t := h.watched(l.State.ID)
	if t == nil {
		return
	}
	o := t.learn(l, &h.numbers, h.clock.Now())
	h.settle(t, o)
	if !o.fixed {
		return
	}
	h.metrics.takenBack.Inc()
	h.backOnce.Do(func() {
		h.log.Warn("live: viewers were shown what PostgreSQL does not have, and are shown again what it has; said "+
			"once, counted in martelo_live_taken_back_total",
			"auctionId", t.id, "version", l.State.Version)
	})
}

// settle sees to what a state has led to.
func (h *Hub) settle(t *topic, o outcome) {
	if o.mark {
		h.mark(t)
	}
	if !o.whole || o.again {
		h.store.doubt(true, t.id)
	}
}

func (h *Hub) watched(id int64) *topic {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.topics[id]
}

// inBackground serves a viewer on a goroutine of its own. A panic ends that viewer only.
func (h *Hub) inBackground(work func()) {
	h.background.Go(func() {
		defer func() {
			if value := recover(); value != nil {
				h.panicked(value)
			}
		}()
		work()
	})
}

// panicked counts a panic that ended one viewer's connection, and logs the first.
func (h *Hub) panicked(value any) {
	h.viewers.Note(context.Background(), &loop.PanicError{Value: value, Stack: string(debug.Stack())})
}

// mark puts a topic on the list of the next tick. The caller has found that it was not on it.
func (h *Hub) mark(t *topic) {
	h.dirtyMu.Lock()
	h.dirty = append(h.dirty, t)
	h.dirtyMu.Unlock()
	wake(h.news)
}

// wake leaves a token in a channel that holds one.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// watch makes the topics of auctions that exist. Each is forgotten again unless a viewer comes.
func (h *Hub) watch(looks []look) {
	h.mu.Lock()
	for _, l := range looks {
		h.topic(l.State.ID)
	}
	h.mu.Unlock()
	for _, l := range looks {
		h.learn(l)
	}
}

// topic finds or makes a topic. The caller holds h.mu.
func (h *Hub) topic(id int64) *topic {
	t := h.topics[id]
	if t == nil {
		t = &topic{id: id}
		h.topics[id] = t
		h.linger(t)
		h.bus.watch(id)
	}
	return t
}

// linger puts a topic that nobody watches on the list of those that may be forgotten, and the
// oldest off it when they are too many. The caller holds h.mu.
func (h *Hub) linger(t *topic) {
	h.idle = append(h.idle, idleTopic{t, time.Now()})
	if tooMany := len(h.idle) - h.timing.lingerMax; tooMany > 0 {
		h.forget(tooMany)
	}
}

// forget forgets the first topics of the list, unless somebody watches them again. The caller holds
// h.mu.
func (h *Hub) forget(n int) {
	for _, idle := range h.idle[:n] {
		if t := idle.topic; h.topics[t.id] == t && t.unwatchedSince(idle.since) {
			delete(h.topics, t.id)
			h.bus.unwatch(t.id)
		}
	}
	clear(h.idle[:n])
	h.idle = h.idle[n:]
}

// sweep forgets what nobody has watched for a while.
func (h *Hub) sweep(ctx context.Context) {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	var before, tidied int
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			h.forgetTopics(now)
			h.forgetFrames(now)
		}
		arrived := h.door.arrivals()
		if arrived-before < crowdTail && arrived-tidied >= crowdMin {
			tidied = arrived
			// Ten times what a viewer costs was needed to let it in, and is garbage now. An idle
			// program would keep it for minutes.
			debug.FreeOSMemory()
		}
		before = arrived
	}
}

func (h *Hub) forgetTopics(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for n < len(h.idle) && now.Sub(h.idle[n].since) >= h.timing.linger {
		n++
	}
	h.forget(n)
}

// watchedIDs lists the auctions that have viewers. Also one that is over is compared with
// PostgreSQL, which may have lost its end. One that only lingers is read anew for the next who
// comes.
func (h *Hub) watchedIDs() []int64 {
	h.mu.RLock()
	defer h.mu.RUnlock()
	ids := make([]int64, 0, len(h.topics))
	for id, t := range h.topics {
		if t.watched() {
			ids = append(ids, id)
		}
	}
	return ids
}

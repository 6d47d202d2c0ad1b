package live

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"martelo/app/identity"
	"martelo/app/loop"
)

const (
	// subscribeMax is how many channels one SUBSCRIBE names, and subscribeEvery the pause after it:
	// Redis serves others in between.
	subscribeMax   = 500
	subscribeEvery = 10 * time.Millisecond
	// probeEvery is how often a node publishes to its own channel. That the message comes back
	// proves what an answer to PING does not: that messages are delivered on the connection that
	// waits for them.
	probeEvery = time.Second
	// silentMax is how long nothing may come; then the connection is given up. Down is known within
	// three seconds.
	silentMax = 2500 * time.Millisecond
	// connectAgain and connectAgainMax are between which the pause before the next connection
	// grows; each is cut by up to half at random.
	connectAgain    = 100 * time.Millisecond
	connectAgainMax = time.Second
)

// errSilent says that nothing came for silentMax, not even what the node sent itself.
var errSilent = errors.New("live: Redis is silent")

// bus brings in what other nodes announce: one subscription for each watched auction, all on one
// connection. The set that is wanted is kept here; each new connection subscribes to all of it.
type bus struct {
	client *redis.Client
	house  *identity.House
	hub    *Hub
	probe  string // this node's own channel

	mu      sync.Mutex
	wanted  map[int64]time.Time // since when, until it was confirmed for the first time
	changes map[int64]struct{}  // auctions that came or went since the connection was told
	work    chan struct{}

	told bool // that Redis is away, so that each change is logged once; run's and its connection's
}

func newBus(client *redis.Client, house *identity.House, h *Hub) *bus {
	return &bus{
		client: client, house: house, hub: h, probe: nodeChannel + uuid.NewString(),
		wanted: map[int64]time.Time{}, changes: map[int64]struct{}{}, work: make(chan struct{}, 1),
	}
}

// watch and unwatch do not wait: the connection is told soon.
func (b *bus) watch(id int64) {
	b.mu.Lock()
	b.wanted[id] = time.Now()
	b.changes[id] = struct{}{}
	b.mu.Unlock()
	wake(b.work)
}

func (b *bus) unwatch(id int64) {
	b.mu.Lock()
	delete(b.wanted, id)
	b.changes[id] = struct{}{}
	b.mu.Unlock()
	wake(b.work)
}

func (b *bus) close() { _ = b.client.Close() }

// run keeps one connection after the other until ctx ends.
func (b *bus) run(ctx context.Context) {
	pause := connectAgain
	for ctx.Err() == nil {
		if err := b.house.Ready(); err != nil {
			b.note(err)
			if !sleep(ctx, connectAgain) {
				return
			}
			continue
		}
		c := &connection{bus: b, pubsub: b.client.Subscribe(ctx), began: time.Now()}
		err := c.run(ctx)
		if ctx.Err() != nil {
			return
		}
		if c.up {
			pause = connectAgain
		}
		b.note(err)
		if !sleep(ctx, pause-rand.N(pause/2)) {
			return
		}
		pause = min(2*pause, connectAgainMax)
	}
}

// note tells of Redis's going and coming.
func (b *bus) note(err error) {
	b.hub.metrics.away("redis", err != nil)
	b.hub.setSlow(err != nil)
	switch {
	case err != nil && !b.told:
		b.hub.log.Warn("live: Redis is away, news come from PostgreSQL", "error", err)
	case err == nil && b.told:
		b.hub.log.Info("live: Redis is back")
	}
	b.told = err != nil
}

// connection is one subscribed connection to Redis, from its making to its end.
type connection struct {
	bus    *bus
	pubsub *redis.PubSub
	began  time.Time
	heard  atomic.Int64 // when something came last, in nanoseconds since it began
	up     bool         // something came; receive's
}

func (c *connection) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var helpers sync.WaitGroup
	failed := make(chan error, 2)
	for _, help := range []func(context.Context) error{c.subscribe, c.prove} {
		helpers.Go(func() {
			failed <- loop.Safely(func() error { return help(ctx) })
			_ = c.pubsub.Close() // receive stops
		})
	}
	err := c.receive(ctx)
	cancel()
	_ = c.pubsub.Close()
	helpers.Wait()
	if first := <-failed; !errors.Is(first, context.Canceled) {
		return first
	}
	return err
}

// receive takes in messages until the connection fails or is closed. It waits without a time limit,
// since one that struck in the middle of a message would lose its place in the stream; prove
// notices silence instead.
func (c *connection) receive(ctx context.Context) error {
	for {
		received, err := c.pubsub.Receive(ctx)
		if err != nil {
			return err
		}
		c.heard.Store(int64(time.Since(c.began)))
		if !c.up {
			c.up = true
			c.bus.note(nil)
		}
		switch m := received.(type) {
		case *redis.Subscription:
			if id, ok := auctionOf(m.Channel); ok && m.Kind == "subscribe" {
				c.bus.confirmed(id)
			}
		case *redis.Message:
			if fault := loop.Safely(func() error {
				c.bus.message(m)
				return nil
			}); fault != nil {
				return fault
			}
		}
	}
}

func (b *bus) message(m *redis.Message) {
	id, ok := auctionOf(m.Channel)
	if !ok {
		return // the probe
	}
	u, err := decodeWire(b.house.ID(), id, m.Payload)
	switch {
	case errors.Is(err, errForeign):
		b.hub.metrics.foreign.Inc()
		b.hub.foreignOnce.Do(func() {
			b.hub.log.Warn("live: another house uses this Redis, or a node of an older release; its messages are "+
				"dropped; said once, counted in martelo_live_foreign_messages_total",
				"channel", m.Channel)
		})
	case err != nil:
		b.hub.metrics.nonsense.Inc()
	default:
		b.hub.apply(u)
	}
}

// confirmed has the auction's state read: what was announced before the subscription held went by
// unheard.
func (b *bus) confirmed(id int64) {
	b.mu.Lock()
	since, wanted := b.wanted[id]
	if wanted && !since.IsZero() {
		b.wanted[id] = time.Time{}
	}
	b.mu.Unlock()
	if !since.IsZero() {
		b.hub.metrics.subscribe.Observe(time.Since(since).Seconds())
	}
	if wanted {
		b.hub.store.doubt(false, id)
	}
}

// subscribe keeps the connection's subscriptions in step with what is wanted.
func (c *connection) subscribe(ctx context.Context) error {
	if err := c.pubsub.Subscribe(ctx, c.bus.probe); err != nil {
		return err
	}
	b := c.bus
	b.mu.Lock()
	clear(b.changes)
	for id := range b.wanted {
		b.changes[id] = struct{}{}
	}
	b.mu.Unlock()
	wake(b.work)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-b.work:
		}
		for {
			come, left := b.takeChanges()
			if len(come)+len(left) == 0 {
				break
			}
			if err := c.tell(ctx, come, left); err != nil {
				return err
			}
			if !sleep(ctx, subscribeEvery) {
				return ctx.Err()
			}
		}
	}
}

func (c *connection) tell(ctx context.Context, come, left []string) error {
	if len(come) > 0 {
		if err := c.pubsub.Subscribe(ctx, come...); err != nil {
			return err
		}
	}
	if len(left) > 0 {
		return c.pubsub.Unsubscribe(ctx, left...)
	}
	return nil
}

// takeChanges takes up to subscribeMax channels to subscribe to, or to leave.
func (b *bus) takeChanges() (come, left []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id := range b.changes {
		if len(come)+len(left) == subscribeMax {
			break
		}
		if _, wanted := b.wanted[id]; wanted {
			come = append(come, channelOf(id))
		} else {
			left = append(left, channelOf(id))
		}
		delete(b.changes, id)
	}
	return come, left
}

// prove sends the node messages of its own and returns errSilent when nothing comes any more.
func (c *connection) prove(ctx context.Context) error {
	ticker := time.NewTicker(probeEvery / 2)
	defer ticker.Stop()
	for {
		if err := c.bus.house.Ready(); err != nil {
			return err // the Redis has proved to be another house's
		}
		within, cancel := context.WithTimeout(ctx, probeEvery/2)
		_ = c.bus.client.Publish(within, c.bus.probe, "").Err() // whether it arrives is what counts
		cancel()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		if time.Since(c.began)-time.Duration(c.heard.Load()) > silentMax {
			return errSilent
		}
	}
}

package live

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"martelo/app/auction"
	"martelo/app/identity"
)

const (
	// unpublishedMax is how many auctions' newest states may wait for Redis; what comes on top is
	// dropped and found by reconciling. At 2 KB each it is 16 MB.
	unpublishedMax = 8192
	// pipelineMax is how many messages go to Redis in one go.
	pipelineMax = 500
	// redisWithin bounds every word with Redis: a healthy one answers in a millisecond.
	redisWithin = time.Second
	// publishAgain is the pause after Redis failed, so that nobody spins while it is away.
	publishAgain = 100 * time.Millisecond
)

// publisher tells other nodes what this one committed. It holds the newest state of each auction
// that has not been sent yet, never a queue.
type publisher struct {
	client *redis.Client
	house  *identity.House
	hub    *Hub

	mu      sync.Mutex
	pending map[int64]*auction.Update
	work    chan struct{}
}

func newPublisher(client *redis.Client, house *identity.House, h *Hub) *publisher {
	return &publisher{
		client: client, house: house, hub: h, pending: map[int64]*auction.Update{}, work: make(chan struct{}, 1),
	}
}

// ownClient makes a client like the given one that gives up soon and never repeats a command: what
// is repeated late is stale.
func ownClient(client *redis.Client) *redis.Client {
	options := *client.Options()
	options.Dialer = nil // it holds on to the old options' time-outs
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout = redisWithin, redisWithin, redisWithin
	options.ContextTimeoutEnabled = true
	options.MaxRetries, options.DialerRetries = -1, 1
	options.PushNotificationProcessor = nil // it belongs to the given client
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	options.PoolSize, options.MinIdleConns, options.MaxActiveConns = 2, 0, 0 // one publishes, one probes
	return redis.NewClient(&options)
}

// put notes an update to be published. It does not wait.
func (p *publisher) put(u *auction.Update) {
	p.mu.Lock()
	id := u.State.ID
	known, waits := p.pending[id]
	if waits {
		u, _ = auction.Newer(known, u)
	}
	full := !waits && len(p.pending) >= unpublishedMax
	if !full {
		p.pending[id] = u
	}
	p.mu.Unlock()
	if full {
		p.hub.metrics.published.WithLabelValues("dropped").Inc()
		return
	}
	wake(p.work)
}

// run publishes what waits; while it does so the next collects. What waits at the end is sent
// before it returns.
func (p *publisher) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			p.flush(context.WithoutCancel(ctx))
			return
		case <-p.work:
		}
		if !p.flush(ctx) && !sleep(ctx, publishAgain) {
			return
		}
	}
}

// flush sends what waits, or drops it when Redis does not take it.
func (p *publisher) flush(ctx context.Context) bool {
	updates := p.take()
	for len(updates) > 0 {
		part := updates[:min(pipelineMax, len(updates))]
		if err := p.publish(ctx, part); err != nil {
			p.hub.metrics.published.WithLabelValues("dropped").Add(float64(len(updates)))
			return false
		}
		p.hub.metrics.published.WithLabelValues("published").Add(float64(len(part)))
		updates = updates[len(part):]
	}
	return true
}

func (p *publisher) take() []*auction.Update {
	p.mu.Lock()
	defer p.mu.Unlock()
	updates := make([]*auction.Update, 0, len(p.pending))
	for _, u := range p.pending {
		updates = append(updates, u)
	}
	clear(p.pending)
	return updates
}

func (p *publisher) publish(ctx context.Context, updates []*auction.Update) error {
	ctx, cancel := context.WithTimeout(ctx, redisWithin)
	defer cancel()
	house := p.house.ID()
	pipeline := p.client.Pipeline()
	for _, u := range updates {
		message, err := encodeWire(house, u)
		if err != nil {
			return err
		}
		pipeline.Publish(ctx, channelOf(u.State.ID), message)
	}
	_, err := pipeline.Exec(ctx)
	return err
}

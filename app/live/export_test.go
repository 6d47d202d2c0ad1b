package live

import (
	"io"
	"log/slog"
	"time"

	"martelo/app/auction"
)

// Hurry shortens what tests would otherwise wait for. It is called before Run and before the first
// viewer.
func (h *Hub) Hurry(linger, writeWithin time.Duration) {
	h.timing.linger, h.timing.writeWithin = linger, writeWithin
}

// Pace sets the time between ticks.
func (h *Hub) Pace(tick time.Duration) { h.timing.tick = tick }

// LingerAtMost sets how many auctions stay watched with nobody watching.
func (h *Hub) LingerAtMost(n int) { h.timing.lingerMax = n }

// Step does by hand what Run does by the clock: one tick.
func (h *Hub) Step() { h.tick() }

// ReconcileEvery sets how often the database is asked about all that is watched.
func (h *Hub) ReconcileEvery(d time.Duration) { h.timing.reconcile = d }

// Take takes in an update whose auction is watched from now on, as if it came from Redis.
func (h *Hub) Take(u auction.Update) { h.apply(&u) }

// Watch watches an auction, of which PostgreSQL says so.
func (h *Hub) Watch(u auction.Update) { h.Begin(true, 0).Finds(u) }

// Looking is a look that has begun.
type Looking struct {
	h *Hub
	l look
}

// Begin begins a look at what PostgreSQL has.
func (h *Hub) Begin(exact bool, epoch int64) *Looking {
	return &Looking{h, look{since: h.numbers.Load(), at: h.clock.Now(), exact: exact, epoch: epoch}}
}

// Finds ends the look. The auction is watched from now on.
func (l *Looking) Finds(u auction.Update) {
	l.l.Update = &u
	l.h.watch([]look{l.l})
}

// State is what viewers are shown of an auction.
func (h *Hub) State(id int64) auction.State {
	u, _, _, _ := h.watched(id).latest()
	return u.State
}

// Shown is the version that viewers are shown of an auction.
func (h *Hub) Shown(id int64) int64 {
	u, _, _, _ := h.watched(id).latest()
	return u.State.Version
}

// Viewers is how many viewers are in.
func (h *Hub) Viewers() int { return h.door.count() }

// Topics is how many auctions are watched.
func (h *Hub) Topics() int {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return len(h.topics)
}

// Slow tells whether Redis is away.
func (h *Hub) Slow() bool { return h.slow.Load() }

// House is the id of the hub's house.
func (h *Hub) House() string { return h.bus.house.ID() }

// Unpublished is how many announcements wait for Redis.
func (h *Hub) Unpublished() int {
	h.publish.mu.Lock()
	defer h.publish.mu.Unlock()
	return len(h.publish.pending)
}

// Beat sends everybody the clock now, as the heartbeat would within beatEvery.
func (h *Hub) Beat() {
	h.door.beatAll.Store(true)
	h.send(h.door.beat(0, nil))
}

// History is what is known of an auction's newest bids.
func (h *Hub) History(id int64) (version int64, bids int, complete bool) {
	h.mu.RLock()
	t := h.topics[id]
	h.mu.RUnlock()
	if t == nil {
		return 0, 0, false
	}
	u, loaded, _, _ := t.latest()
	if !loaded {
		return 0, 0, false
	}
	return u.State.Version, len(u.Recent), u.Complete()
}

var (
	EncodeWire = encodeWire
	DecodeWire = decodeWire
	ChannelOf  = channelOf
	ErrForeign = errForeign
)

const UnpublishedMax = unpublishedMax

// Forget forgets all auctions.
func (h *Hub) Forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.topics)
	h.idle = nil
}

// Limit sets the limits of a hub that nobody has entered.
func (h *Hub) Limit(viewers, perAddress int) {
	h.limits = Limits{Viewers: viewers, ViewersPerAddress: perAddress}
}

// LogTo has the hub's log written somewhere else.
func (h *Hub) LogTo(w io.Writer) { h.log = slog.New(slog.NewTextHandler(w, nil)) }

// Cut ends all viewers.
func (h *Hub) Cut() { h.cutAll() }

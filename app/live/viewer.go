package live

import (
	"context"
	"math"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"time"

	"martelo/app/auction"
)

// Representation is one way to write updates down, for all viewers alike: nothing in it may depend
// on who looks. The hub renders an update once for each representation that somebody watches it in.
// The functions are pure; their bytes go out as they are, and empty ones not at all.
type Representation struct {
	Name string // for the metrics
	// Price is an auction's state while it lasts, Closed its last one. Now is the node's estimate
	// of PostgreSQL's time.
	Price  func(u auction.Update, now time.Time) []byte
	Closed func(u auction.Update, now time.Time) []byte
	// Clock is the heartbeat. Slow says that news may be a second late because Redis is away.
	Clock func(now time.Time, slow bool) []byte
	// ClockFirst puts a first heartbeat before the first states, instead of behind them.
	ClockFirst bool
	// Retry is the last word to a viewer who is to come back after about so long. It may be nil.
	Retry func(after time.Duration) []byte
	// Bye ends the connection of a viewer whose auctions are all over. Empty: it stays, with
	// nothing but the heartbeat.
	Bye []byte
}

// Viewing is what somebody wants to watch.
type Viewing struct {
	Auctions []int64 // each once
	As       *Representation
	Address  string // whose limit it counts against; "" counts against nobody's
	Places   int    // how many viewers it costs the node as much as; 0 is one
}

// A viewer belongs to one goroutine at a time, the one that moved it from idle to busy.
const (
	idle  uint32 = iota // nobody is sending to it
	busy                // its owner is sending
	again               // its owner is sending and must look once more: something new came meanwhile
	gone                // for good
)

// What the owner is asked to send beside states.
const (
	wantHello uint32 = 1 << iota // the first states, fresh, and the clock
	wantClock
	wantRetry // and then to end it
	wantEnd   // at once, without a word
)

// Viewer is one connection that watches. It has no queue: what it is sent is worked out when it can
// be sent.
type Viewer struct {
	hub           *Hub
	as            *Representation
	state         atomic.Uint32
	wants         atomic.Uint32
	over          int32 // how many of its auctions are; owner's
	slot          uint8 // of the heartbeat
	joined        time.Time
	subscriptions []subscription
	address       string
	places        int
	head          []byte // still to be sent before anything else; owner's

	socket *socket       // where writes that do not block are possible
	conn   net.Conn      // nil for viewers in Serve
	wake   chan struct{} // of viewers with a goroutine of their own
}

type subscription struct {
	feed   *feed
	viewer *Viewer
	sent   int64 // the revision it was sent last; owner's
	index  int32 // in feed.subscriptions; guarded by the topic
	// 1 + the generation in which it was told of the end, negative once that is final; 0: not told;
	// owner's.
	ended int32
}

// Admit lets somebody in, who is then served with either TakeOver or Serve, or with Watch and
// Leave. It returns ErrDraining or ErrFull.
func (h *Hub) Admit(w Viewing) (*Viewer, error) {
	v := &Viewer{
		hub: h, as: w.As, address: w.Address, places: max(1, w.Places),
		subscriptions: make([]subscription, len(w.Auctions)),
	}
	v.state.Store(busy) // the caller's until it is served
	v.wants.Store(wantHello)
	if err := h.enter(v); err != nil {
		h.metrics.refused.Inc()
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, id := range w.Auctions {
		s := &v.subscriptions[i]
		s.viewer = v
		h.topic(id).join(s, w.As)
	}
	return v, nil
}

// Leave gives the place of a viewer back who was admitted but could not be served, or whose Watch
// has ended.
func (v *Viewer) Leave() { v.drop() }

// TakeOver serves the viewer on a connection that is the hub's from now on; head is sent before
// anything else. It does not wait. A plain TCP connection costs no goroutine where the system
// allows writes that do not block.
func (v *Viewer) TakeOver(conn net.Conn, head []byte) {
	v.hub.door.owns(v, conn)
	v.head = head
	if v.socket = newSocket(conn); v.socket != nil {
		v.deliver()
		return
	}
	v.hub.inBackground(func() {
		// A peer that went away is noticed when writing to it fails.
		_ = v.Serve(context.Background(), func(frames [][]byte) error {
			if err := conn.SetWriteDeadline(time.Now().Add(v.hub.timing.writeWithin)); err != nil {
				return err
			}
			buffers := net.Buffers(frames)
			_, err := buffers.WriteTo(conn)
			return err
		})
	})
}

// Serve serves the viewer on the caller's goroutine, for connections that the hub cannot write to
// itself, until ctx ends or write fails, which it must within a bounded time. It returns
// ErrDraining when the viewer was asked to come back, and nil when all its auctions are over and it
// was said goodbye.
func (v *Viewer) Serve(ctx context.Context, write func(frames [][]byte) error) error {
	defer v.drop()
	return v.Watch(ctx, write)
}

// Watch is Serve for a caller who has to close the connection before the viewer's place is free:
// Leave gives it back.
func (v *Viewer) Watch(ctx context.Context, write func(frames [][]byte) error) error {
	v.wake = make(chan struct{}, 1)
	for {
		frames, end := v.collect(nil)
		if len(frames) > 0 {
			if err := write(frames); err != nil {
				v.hub.metrics.cuts.WithLabelValues("write").Inc()
				return err
			}
			v.hub.metrics.writes.Inc()
		}
		if end != nil {
			return end.reason
		}
		if !v.rest() {
			continue
		}
		select {
		case <-v.wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// poke makes sure that whatever is new to the viewer gets sent, by this goroutine or by the one
// that is sending to it already.
func (v *Viewer) poke() {
	for {
		switch v.state.Load() {
		case idle:
			if !v.state.CompareAndSwap(idle, busy) {
				continue
			}
			if v.wake != nil {
				v.wake <- struct{}{} // it has room: only who makes the viewer busy fills it
				return
			}
			v.deliver()
			return
		case busy:
			if v.state.CompareAndSwap(busy, again) {
				return
			}
		default:
			return
		}
	}
}

// rest ends the owner's turn. It returns false, and the turn goes on, when something new came
// meanwhile.
func (v *Viewer) rest() bool {
	if v.state.CompareAndSwap(busy, idle) {
		return true
	}
	v.state.Store(busy) // it was again, and only the owner leaves that
	return false
}

// ending says why a viewer is finished once it has been sent the rest.
type ending struct{ reason error }

// collect works out what to send: for each auction the newest state if the viewer has not had it,
// and what it is asked for. The frames are added to into. The caller owns the viewer.
func (v *Viewer) collect(into [][]byte) (frames [][]byte, end *ending) {
	wants := v.wants.Swap(0)
	if wants&wantEnd != 0 {
		return nil, &ending{ErrDraining}
	}
	hello := wants&wantHello != 0
	if v.head != nil {
		into, v.head = append(into, v.head), nil
	}
	if hello && v.as.ClockFirst {
		into = v.clock(into)
	}
	for i := range v.subscriptions {
		if bytes := v.subscriptions[i].next(v.hub, hello); len(bytes) > 0 {
			into = append(into, bytes)
		}
	}
	if hello && !v.as.ClockFirst || wants&wantClock != 0 {
		into = v.clock(into)
	}
	switch {
	case wants&wantRetry != 0:
		if v.as.Retry != nil {
			into = append(into, v.as.Retry(comeBackSoonest+rand.N(comeBackLatest-comeBackSoonest)))
		}
		return into, &ending{ErrDraining}
	case len(v.as.Bye) > 0 && int(v.over) == len(v.subscriptions):
		return append(into, v.as.Bye), &ending{}
	}
	return into, nil
}

func (v *Viewer) clock(into [][]byte) [][]byte {
	return append(into, v.as.Clock(v.hub.clock.Now(), v.hub.slow.Load()))
}

// next returns what is new to the subscription, or nothing.
func (s *subscription) next(h *Hub, hello bool) []byte {
	shown := s.feed.topic.shown.Load()
	if s.sent >= shown && !hello {
		return nil
	}
	maxAge := time.Duration(math.MaxInt64)
	if hello {
		// Who comes in sees the newest there is, not what the last tick showed: a bid may have been
		// answered since. And the first states tell the time of day.
		shown = s.feed.topic.newest()
		maxAge = h.timing.tick
	}
	f := s.feed.frame(h, shown, maxAge)
	if f == nil {
		return nil
	}
	s.sent = f.revision
	if !f.over {
		if s.ended < 0 {
			s.viewer.over--
		}
		s.ended = 0
		return f.bytes
	}
	told := max(s.ended, -s.ended) == f.generation+1
	if s.ended >= 0 && f.final {
		s.viewer.over++
	}
	if s.ended < 0 && !f.final {
		s.viewer.over--
	}
	if s.ended = f.generation + 1; f.final {
		s.ended = -s.ended
	}
	if told {
		return nil // of an auction's end somebody hears once, unless it was another end
	}
	return f.bytes
}

// drop lets go of everything the viewer holds. The caller owns it, and nobody does afterwards.
func (v *Viewer) drop() {
	v.state.Store(gone)
	if v.conn != nil {
		v.conn.Close()
	}
	for i := range v.subscriptions {
		s := &v.subscriptions[i]
		if t := s.feed.topic; t.leave(s) {
			v.hub.leaveIdle(t)
		}
	}
	v.hub.exit(v)
}

package live

import (
	"context"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// tickEvery is the contract's bound: at most one update per auction and viewer in this time.
	tickEvery = 150 * time.Millisecond
	// beatEvery is how often each viewer gets the clock, with room to the contract's 15 s. Viewers
	// are spread over beatSlots.
	beatEvery = 12 * time.Second
	beatSlots = 12
	// secondBeatAfter is how soon after its first clock a viewer is sent another, give or take as
	// much again. A proxy that holds a stream back often lets its beginning through: only what
	// comes later shows the client that it is watching live.
	secondBeatAfter = 250 * time.Millisecond
	// writeWithin is how long a viewer whose socket is full may take before it is cut.
	writeWithin = 10 * time.Second
	// acknowledgedWithin is how long sent data may stay unacknowledged before the system ends the
	// connection.
	acknowledgedWithin = 20 * time.Second
	// sendBuffer, in bytes, bounds what a stalled viewer holds in the system, and how stale what it
	// reads later is.
	sendBuffer = 16 << 10
	// frameKept is how long a rendered frame is kept for viewers that are a little behind.
	frameKept = 2 * time.Second
	// comeBackSoonest and comeBackLatest are between which a viewer that is sent away is asked to
	// come back, so that a restart does not bring all of them in one instant and yet nobody misses
	// three seconds.
	comeBackSoonest = 300 * time.Millisecond
	comeBackLatest  = 1500 * time.Millisecond
	// drainStep is how finely a drain is spread out.
	drainStep = 10 * time.Millisecond
)

// timing is what tests shorten.
type timing struct {
	tick, linger, writeWithin, reconcile time.Duration
	lingerMax                            int
}

var defaultTiming = timing{
	tick: tickEvery, linger: lingerFor, writeWithin: writeWithin, reconcile: reconcileEvery, lingerMax: lingerMax,
}

// Limits bound how many viewers a node lets in. Zero fields mean the defaults: 50,000 in all, 1000
// from one address. However many are allowed, an eighth of the files that the process may open is
// left for those who bid.
type Limits struct {
	Viewers           int
	ViewersPerAddress int
}

const (
	// viewersMax at some 4 KiB each in Go and 4 in the kernel is 400 MB; beyond it another node is
	// due.
	viewersMax = 50_000
	// viewersPerAddressMax is generous: a campus or a mobile network shares one address.
	viewersPerAddressMax = 1000
)

func (l Limits) orDefault() Limits {
	if l.Viewers <= 0 {
		l.Viewers = viewersMax
	}
	l.Viewers = min(l.Viewers, filesMax()/8*7)
	if l.ViewersPerAddress <= 0 {
		l.ViewersPerAddress = viewersPerAddressMax
	}
	return l
}

// Refusal is why somebody was not let in, with how long to wait before the next try.
type Refusal struct {
	reason     string
	retryAfter time.Duration
}

func (r *Refusal) Error() string { return r.reason }

// RetryAfter is at least one second, the least that the HTTP header can say.
func (r *Refusal) RetryAfter() time.Duration { return r.retryAfter }

// Refusals of Admit.
var (
	ErrFull     = &Refusal{"live: too many viewers", 10 * time.Second}
	ErrDraining = &Refusal{"live: this node is about to stop", time.Second}
)

// door knows who is in.
type door struct {
	beatAll atomic.Bool // the next heartbeat goes to everybody

	mu        sync.Mutex
	closed    bool // nobody is let in any more
	viewers   int
	places    int // what the viewers cost: as many as they are, or more
	arrived   int // ever
	last      uint8
	slots     [beatSlots]map[*Viewer]struct{}
	fresh     []*Viewer // who has not had a second clock
	addresses map[string]int
}

// enter counts a viewer in. It returns ErrDraining, or ErrFull when a limit is reached.
func (h *Hub) enter(v *Viewer) error {
	d := &h.door
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return ErrDraining
	case d.places >= h.limits.Viewers || v.address != "" && d.addresses[v.address] >= h.limits.ViewersPerAddress:
		return ErrFull
	}
	if d.addresses == nil {
		d.addresses = map[string]int{}
	}
	d.viewers++
	d.places += v.places
	d.arrived++
	if v.address != "" {
		d.addresses[v.address]++
	}
	d.last = (d.last + 1) % beatSlots
	v.slot, v.joined = d.last, time.Now()
	if d.slots[v.slot] == nil {
		d.slots[v.slot] = map[*Viewer]struct{}{}
	}
	d.slots[v.slot][v] = struct{}{}
	d.fresh = append(d.fresh, v)
	return nil
}

func (h *Hub) exit(v *Viewer) {
	d := &h.door
	d.mu.Lock()
	defer d.mu.Unlock()
	d.viewers--
	d.places -= v.places
	delete(d.slots[v.slot], v)
	if v.address == "" {
		return
	}
	if d.addresses[v.address]--; d.addresses[v.address] == 0 {
		delete(d.addresses, v.address)
	}
}

// owns notes the connection that a viewer is served on.
func (d *door) owns(v *Viewer, conn net.Conn) {
	d.mu.Lock()
	v.conn = conn
	d.mu.Unlock()
}

// arrivals is how many were ever let in.
func (d *door) arrivals() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.arrived
}

func (d *door) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.viewers
}

// close lets nobody in any more and returns who is.
func (d *door) close() []*Viewer {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	viewers := make([]*Viewer, 0, d.viewers)
	for _, slot := range d.slots {
		for v := range slot {
			viewers = append(viewers, v)
		}
	}
	return viewers
}

// beat asks for the clock for one slot's viewers and adds them to the list.
func (d *door) beat(slot int, viewers []*Viewer) []*Viewer {
	all := d.beatAll.Swap(false)
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.slots {
		if i != slot && !all {
			continue
		}
		for v := range d.slots[i] {
			v.wants.Or(wantClock)
			viewers = append(viewers, v)
		}
	}
	return viewers
}

// secondBeat asks for the clock for those who came a moment ago, once, and adds them to the list.
func (d *door) secondBeat(viewers []*Viewer) []*Viewer {
	d.mu.Lock()
	defer d.mu.Unlock()
	latest := time.Now().Add(-secondBeatAfter)
	d.fresh = slices.DeleteFunc(d.fresh, func(v *Viewer) bool {
		if v.joined.After(latest) {
			return false
		}
		v.wants.Or(wantClock)
		viewers = append(viewers, v)
		return true
	})
	return viewers
}

// Drain lets nobody in any more and asks all viewers, evenly over d, to come back after a short
// random while: to another node. It returns when all are gone or ctx ends. Run goes on meanwhile,
// and the last prices still go out.
func (h *Hub) Drain(ctx context.Context, d time.Duration) {
	viewers := h.door.close()
	started := time.Now()
	for i, v := range viewers {
		due := started.Add(d * time.Duration(i) / time.Duration(len(viewers)))
		if wait := time.Until(due); wait >= drainStep && !sleep(ctx, wait) {
			return
		}
		v.wants.Or(wantRetry)
		v.poke()
	}
	for h.door.count() > 0 && sleep(ctx, drainStep) {
	}
}

// cutAll ends all viewers at once, and lets nobody in any more.
func (h *Hub) cutAll() {
	for _, v := range h.door.close() {
		v.wants.Or(wantEnd)
		v.poke()
		h.door.mu.Lock()
		conn := v.conn
		h.door.mu.Unlock()
		if conn != nil {
			conn.Close() // whoever waits for it stops
		}
	}
}

// leaveIdle puts a topic on the list of those that may be forgotten.
func (h *Hub) leaveIdle(t *topic) {
	h.mu.Lock()
	h.linger(t)
	h.mu.Unlock()
}

package live

import (
	"context"
	"runtime"
	"sync"
	"time"
)

const (
	// writeAtOnce is how long a writer writes before it rests for as long as it wrote. Ten thousand
	// writes in one go would hold up the many small steps of each bid: resting in between halved
	// the bids' p99.
	writeAtOnce = 2 * time.Millisecond
	// pokesBetweenLooks is after how many viewers a writer looks at the time.
	pokesBetweenLooks = 32
	// viewersPerWriterMin is how many viewers make another writer worth its while.
	viewersPerWriterMin = 256
)

// fanOut is the one loop that sends: a tick whenever something is new, at most one in timing.tick,
// and the heartbeat. When sending takes long the ticks stretch, and each then carries more changes
// to an auction as one.
func (h *Hub) fanOut(ctx context.Context) {
	heart := time.NewTicker(beatEvery / beatSlots)
	defer heart.Stop()
	second := time.NewTicker(secondBeatAfter)
	defer second.Stop()
	next := time.Now()
	for slot := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-heart.C:
			slot = (slot + 1) % beatSlots
			h.beat(h.door.beat(slot, h.round.viewers[:0]))
		case <-second.C:
			h.beat(h.door.secondBeat(h.round.viewers[:0]))
		case <-h.news:
			if !sleep(ctx, time.Until(next)) {
				return
			}
			started := time.Now()
			h.tick()
			took := time.Since(started)
			h.metrics.tick.Observe(took.Seconds())
			next = started.Add(max(h.timing.tick, took))
		}
	}
}

// round is the memory of a tick, kept for the next one; it belongs to fanOut.
type round struct {
	topics  []*topic
	viewers []*Viewer
	late    []*Viewer // who came so shortly before a tick that this change waits for the next
}

// tick shows what has changed since the last tick to everybody who watches it.
func (h *Hub) tick() {
	r := &h.round
	h.dirtyMu.Lock()
	r.topics, h.dirty = h.dirty, r.topics[:0]
	h.dirtyMu.Unlock()
	r.viewers = append(r.viewers[:0], r.late...)
	r.late = r.late[:0]
	sure := len(r.viewers)
	for _, t := range r.topics {
		r.viewers = t.show(r.viewers)
	}
	latest := time.Now().Add(-h.timing.tick)
	send := r.viewers[:sure]
	for _, v := range r.viewers[sure:] {
		if v.joined.After(latest) {
			r.late = append(r.late, v)
		} else {
			send = append(send, v)
		}
	}
	h.send(send)
	if len(r.late) > 0 {
		wake(h.news)
	}
	clear(r.topics)
	clear(r.viewers)
}

// beat sends the clock to viewers for whom it was asked.
func (h *Hub) beat(viewers []*Viewer) {
	h.send(viewers)
	clear(viewers)
	h.round.viewers = viewers
}

// show makes what was taken in visible, and adds the topic's viewers to the list.
func (t *topic) show(viewers []*Viewer) []*Viewer {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dirty = false
	t.shown.Store(t.revision)
	for _, f := range t.feeds {
		for _, s := range f.subscriptions {
			viewers = append(viewers, s.viewer)
		}
	}
	return viewers
}

// send pokes the viewers, shared out among a fixed few writers, and returns when each was written
// to or has somebody who will.
func (h *Hub) send(viewers []*Viewer) {
	writers := max(1, runtime.GOMAXPROCS(0)/2)
	share := max(viewersPerWriterMin, (len(viewers)+writers-1)/writers)
	var others sync.WaitGroup
	for len(viewers) > share {
		part := viewers[:share]
		viewers = viewers[share:]
		others.Go(func() { pokeAll(part) })
	}
	pokeAll(viewers)
	others.Wait()
}

// pokeAll pokes one after the other, with rests in between.
func pokeAll(viewers []*Viewer) {
	began := time.Now()
	for i, v := range viewers {
		v.poke()
		if i%pokesBetweenLooks != pokesBetweenLooks-1 {
			continue
		}
		if wrote := time.Since(began); wrote >= writeAtOnce {
			time.Sleep(wrote)
			began = time.Now()
		}
	}
}

// setSlow notes whether Redis is away, and lets the next heartbeats tell everybody soon.
func (h *Hub) setSlow(slow bool) {
	if h.slow.Swap(slow) != slow {
		h.door.beatAll.Store(true)
	}
}

// sleep returns false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

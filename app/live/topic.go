package live

import (
	"sync"
	"sync/atomic"
	"time"
)

// topic is one watched auction.
//
// Its revision counts what was taken in, on this node only: it rises with the version, and also when only history was filled
// in. The tick moves shown up to it; viewers are sent what is shown, so that changes between two ticks are one.
type topic struct {
	id    int64
	shown atomic.Int64
	over  atomic.Bool // the last state is known

	mu       sync.Mutex
	update   *Update // nil until one is known
	revision int64
	dirty    bool // is on the hub's list for the next tick
	feeds    []*feed
	viewers  int
	leftAt   time.Time // when the last viewer left
}

// take takes in an update unless the topic knows a newer one. It tells whether the topic must be put on the list of the
// next tick, and whether its history is whole.
func (t *topic) take(u *Update) (mark, whole bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	next, news := newer(t.update, u)
	if !news {
		return false, true
	}
	t.update = next
	t.revision++
	t.over.Store(next.State.Status.Over())
	mark = !t.dirty
	t.dirty = true
	return mark, next.complete()
}

func (t *topic) latest() (*Update, int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.update, t.revision
}

func (t *topic) loaded() bool {
	u, _ := t.latest()
	return u != nil
}

func (t *topic) version() int64 {
	if u, _ := t.latest(); u != nil {
		return u.State.Version
	}
	return 0
}

// unwatchedSince tells whether nobody watches, and nobody has since the moment.
func (t *topic) unwatchedSince(moment time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.viewers == 0 && !t.leftAt.After(moment)
}

// watched tells whether somebody watches.
func (t *topic) watched() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.viewers > 0
}

// join adds a viewer's subscription to the feed of its representation.
func (t *topic) join(s *subscription, as *Representation) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.feeds {
		if f.as == as {
			s.feed = f
		}
	}
	if s.feed == nil {
		s.feed = &feed{topic: t, as: as}
		t.feeds = append(t.feeds, s.feed)
	}
	s.index = int32(len(s.feed.subscriptions))
	s.feed.subscriptions = append(s.feed.subscriptions, s)
	t.viewers++
}

// leave is the opposite of join. It tells whether that was the last viewer of the topic.
func (t *topic) leave(s *subscription) (last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := s.feed.subscriptions
	end := len(all) - 1
	all[s.index] = all[end]
	all[s.index].index = s.index
	all[end] = nil
	s.feed.subscriptions = all[:end]
	if end == 0 {
		for i, f := range t.feeds {
			if f == s.feed {
				t.feeds = append(t.feeds[:i], t.feeds[i+1:]...)
				break
			}
		}
	}
	t.viewers--
	if t.viewers == 0 {
		t.leftAt = time.Now()
	}
	return t.viewers == 0
}

// feed is one auction in one representation that somebody watches.
type feed struct {
	topic         *topic
	as            *Representation
	subscriptions []*subscription // guarded by topic.mu

	mu     sync.Mutex // held while rendering, so that it is done once
	cached atomic.Pointer[frame]
}

// frame is a state as bytes, the same for every viewer of a feed. It is never changed.
type frame struct {
	revision int64
	bytes    []byte // empty: nothing to send
	last     bool   // nothing follows it
	at       time.Time
}

// frame returns the state of at least the given revision as bytes, rendered at most maxAge ago, or nil when none is known.
func (f *feed) frame(h *Hub, revision int64, maxAge time.Duration) *frame {
	if c := f.fitting(revision, maxAge); c != nil {
		return c
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.fitting(revision, maxAge); c != nil {
		return c
	}
	update, revision := f.topic.latest()
	if update == nil {
		return nil
	}
	c := &frame{revision: revision, last: update.State.Status.Over(), at: time.Now()}
	if c.last {
		c.bytes = f.as.Closed(*update, h.clock.Now())
	} else {
		c.bytes = f.as.Price(*update, h.clock.Now())
	}
	h.metrics.renders.WithLabelValues(f.as.Name).Inc()
	if f.cached.Swap(c) == nil {
		h.framedMu.Lock()
		h.framed = append(h.framed, f)
		h.framedMu.Unlock()
	}
	return c
}

func (f *feed) fitting(revision int64, maxAge time.Duration) *frame {
	c := f.cached.Load()
	if c == nil || c.revision < revision || time.Since(c.at) > maxAge {
		return nil
	}
	return c
}

// forgetFrames lets go of frames that everybody has been sent long ago; who comes later has a fresh one rendered.
func (h *Hub) forgetFrames(now time.Time) {
	h.framedMu.Lock()
	defer h.framedMu.Unlock()
	kept := h.framed[:0]
	for _, f := range h.framed {
		if now.Sub(f.cached.Load().at) < frameKept {
			kept = append(kept, f)
		} else {
			f.cached.Store(nil)
		}
	}
	clear(h.framed[len(kept):])
	h.framed = kept
}

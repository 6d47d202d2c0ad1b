package live

import (
	"sync"
	"sync/atomic"
	"time"

	"martelo/app/auction"
)

// topic is one watched auction.
//
// Its revision counts what was taken in, on this node only: it rises with the version, and also
// when only history was filled in. The tick moves shown up to it; viewers are sent what is shown,
// so that changes between two ticks are one.
type topic struct {
	id    int64
	shown atomic.Int64

	mu         sync.Mutex
	update     *auction.Update // nil until one is known
	number     int64           // of the state among all that came in on this node
	since      time.Time       // when it did, by the house's clock
	confirmed  time.Time       // when PostgreSQL was last asked and said the same; zero: not since the state came in
	doubted    doubted
	revision   int64
	generation int32 // how often a shown state was taken back
	dirty      bool  // is on the hub's list for the next tick
	feeds      []*feed
	viewers    int
	askedAt    time.Time // when Hub.Ask last asked
	leftAt     time.Time // when the last viewer left
}

// take takes in what was announced unless the topic knows something newer, or it is about other
// terms than the auction has.
func (t *topic) take(u *auction.Update, numbers *atomic.Int64, now time.Time) outcome {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.update != nil && !u.SameTerms(t.update) {
		return outcome{whole: true, again: true, other: true}
	}
	return t.accept(u, numbers, now, time.Time{})
}

// accept makes an update the topic's own unless that is newer. Confirmed is when PostgreSQL said
// so, or zero. An end is the last word only once it is confirmed, which is news then. The caller
// holds t.mu.
func (t *topic) accept(u *auction.Update, numbers *atomic.Int64, now, confirmed time.Time) outcome {
	next, news := auction.Newer(t.update, u)
	if news && (t.update == nil || next.State.Version != t.update.State.Version) {
		t.number, t.since = numbers.Add(1), now
		t.confirmed = time.Time{}
	}
	t.update = next
	o := outcome{whole: !news || next.Complete()}
	if !confirmed.IsZero() {
		news = news || t.confirmed.IsZero() && next.State.Status.Over()
		t.confirmed = confirmed
	}
	o.again = next.State.Status.Over() && t.confirmed.IsZero()
	if news {
		t.revision++
		o.mark = !t.dirty
		t.dirty = true
	}
	return o
}

// latest returns what is known, with its times, and its revision and generation.
func (t *topic) latest() (u auction.Update, loaded bool, revision int64, generation int32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.update == nil {
		return auction.Update{}, false, t.revision, t.generation
	}
	u = *t.update
	u.Since, u.Confirmed = t.since, t.confirmed
	return u, true, t.revision, t.generation
}

// newest is the revision of what is known.
func (t *topic) newest() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.revision
}

func (t *topic) loaded() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.update != nil
}

// unwatchedSince tells whether nobody watches, and nobody has since the moment.
func (t *topic) unwatchedSince(moment time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.viewers == 0 && !t.leftAt.After(moment)
}

// askedFor is how long an auction counts as watched after somebody asked about it: who asks comes
// again within two seconds.
const askedFor = 5 * time.Second

// watched tells whether somebody watches, or asks again and again where no stream arrives.
func (t *topic) watched() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.viewers > 0 || time.Since(t.askedAt) < askedFor
}

// join adds a viewer's subscription to the feed of its representation.
func (t *topic) join(s *subscription, as *Representation) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.feed = t.feedAs(as); s.feed == nil {
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
	revision   int64
	generation int32
	bytes      []byte // empty: nothing to send
	over       bool   // it tells of the auction's end
	final      bool   // and PostgreSQL has confirmed that
	at         time.Time
}

// frame returns the state of at least the given revision as bytes, rendered at most maxAge ago, or
// nil when none is known.
func (f *feed) frame(h *Hub, revision int64, maxAge time.Duration) *frame {
	if c := f.fitting(revision, maxAge); c != nil {
		return c
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.fitting(revision, maxAge); c != nil {
		return c
	}
	update, loaded, revision, generation := f.topic.latest()
	if !loaded {
		return nil
	}
	c := &frame{revision: revision, generation: generation, over: update.State.Status.Over(), at: time.Now()}
	c.final = c.over && !update.Confirmed.IsZero()
	if c.over {
		c.bytes = f.as.Closed(update, h.clock.Now())
	} else {
		c.bytes = f.as.Price(update, h.clock.Now())
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

// forgetFrames lets go of frames that everybody has been sent long ago; who comes later has a fresh
// one rendered.
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

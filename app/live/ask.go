package live

import (
	"context"
	"math"
	"time"
)

// Asked is an auction that somebody asks about, with the version they have of it: 0 for none.
type Asked struct {
	Auction int64
	Version int64
}

// Ask returns what a stream would say now, for a client that no stream reaches: the clock, the
// newest state of each auction whose version is not the one the client has, and goodbye when all
// are over. It also tells which auctions do not exist.
//
// An auction that is watched here, or was asked about within the last minute, is answered from
// memory, in the bytes that its viewers get. So clients may ask every second or two: however many
// do, the database is asked once.
func (h *Hub) Ask(
	ctx context.Context, asked []Asked, as *Representation,
) (frames [][]byte, missing []int64, err error) {
	ids := make([]int64, len(asked))
	for i, a := range asked {
		ids[i] = a.Auction
	}
	if !h.loaded(ids) {
		if missing, err = h.Known(ctx, ids); err != nil || len(missing) > 0 {
			return nil, missing, err
		}
	}
	frames = append(frames, as.Clock(h.clock.Now(), h.slow.Load()))
	over := 0
	for _, a := range asked {
		f := h.newest(a, as)
		if f == nil {
			continue
		}
		if f.final {
			over++
		}
		if len(f.bytes) > 0 {
			frames = append(frames, f.bytes)
		}
	}
	if len(asked) > 0 && over == len(asked) {
		frames = append(frames, as.Bye)
	}
	return frames, nil, nil
}

// newest is an auction's newest state, without its bytes when the client has it. It is nil for an
// auction that has just been forgotten because nobody watched it; the client asks again.
func (h *Hub) newest(a Asked, as *Representation) *frame {
	h.mu.RLock()
	t := h.topics[a.Auction]
	h.mu.RUnlock()
	if t == nil {
		return nil
	}
	t.mu.Lock()
	t.askedAt = time.Now()
	t.mu.Unlock()
	update, loaded, revision, _ := t.latest()
	if !loaded {
		return nil
	}
	over := update.State.Status.Over()
	final := over && !update.Confirmed.IsZero()
	if update.State.Version == a.Version {
		return &frame{final: final}
	}
	t.mu.Lock()
	f := t.feedAs(as)
	t.mu.Unlock()
	if f != nil {
		return f.frame(h, revision, time.Duration(math.MaxInt64))
	}
	draw := as.Price
	if over {
		draw = as.Closed
	}
	h.metrics.renders.WithLabelValues(as.Name).Inc()
	return &frame{over: over, final: final, bytes: draw(update, h.clock.Now())}
}

// feedAs is the topic's feed in a representation, nil when nobody watches it so. The caller holds
// t.mu.
func (t *topic) feedAs(as *Representation) *feed {
	for _, f := range t.feeds {
		if f.as == as {
			return f
		}
	}
	return nil
}

package limits

import (
	"slices"
	"sync"
	"time"

	"github.com/go-redis/redis_rate/v10"
)

// countsLocalMax bounds each of the two halves of each kind of count that a node keeps itself: some
// 10 MB in all, room for a crowd.
const countsLocalMax = 20_000

// local counts on this node alone while Redis cannot: a house of three nodes then allows three
// times as much, and nobody everything. The zero value is ready. Its clock is this process's own,
// which measures spans here.
type local struct {
	mu    sync.Mutex
	tries halves[triesKept]
	rates halves[time.Time] // when a bucket will be empty
	bids  halves[bidsKept]
}

type triesKept struct {
	count int
	last  time.Time
}

// bidsKept is what a bidder asked for in the last second, oldest first.
type bidsKept struct {
	bids     []bidKept
	requests []time.Time
}

type bidKept struct {
	bid string
	at  time.Time
}

// halves keeps what was asked for lately: when the younger half is full the older is dropped.
type halves[Value any] struct{ young, older map[string]Value }

func (h *halves[Value]) get(key string) Value {
	if value, found := h.young[key]; found {
		return value
	}
	return h.older[key]
}

func (h *halves[Value]) put(key string, value Value) {
	if h.young == nil || len(h.young) >= countsLocalMax {
		h.older, h.young = h.young, map[string]Value{}
	}
	h.young[key] = value
}

func (h *halves[Value]) drop(key string) {
	delete(h.young, key)
	delete(h.older, key)
}

func (c *local) growing(key string, g growth, now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := c.tries.get(key)
	if now.Sub(kept.last) > g.forget {
		kept = triesKept{}
	}
	if wait := kept.last.Add(g.delay(kept.count)).Sub(now); kept.count > 0 && wait > 0 {
		return wait
	}
	c.tries.put(key, triesKept{count: kept.count + 1, last: now})
	return 0
}

func (c *local) rate(key string, limit redis_rate.Limit, now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	each := limit.Period / time.Duration(limit.Rate)
	empty := c.rates.get(key)
	if empty.Before(now) {
		empty = now
	}
	empty = empty.Add(each)
	if wait := empty.Sub(now) - each*time.Duration(limit.Burst); wait > 0 {
		return wait
	}
	c.rates.put(key, empty)
	return 0
}

// bid is bids.lua on this node.
func (c *local) bid(key, bid string, now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept, since := c.bids.get(key), now.Add(-bidSpan)
	kept.bids = slices.DeleteFunc(slices.Clone(kept.bids), func(b bidKept) bool { return !b.at.After(since) })
	kept.requests = slices.DeleteFunc(slices.Clone(kept.requests), func(at time.Time) bool { return !at.After(since) })
	if len(kept.requests) >= bidRequestsMax {
		return kept.requests[0].Sub(since)
	}
	if !slices.ContainsFunc(kept.bids, func(b bidKept) bool { return b.bid == bid }) {
		if len(kept.bids) >= differentBidsMax {
			return kept.bids[0].at.Sub(since)
		}
		kept.bids = append(kept.bids, bidKept{bid: bid, at: now})
	}
	kept.requests = append(kept.requests, now)
	c.bids.put(key, kept)
	return 0
}

func (c *local) forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tries.drop(key)
}

package auctioneer

import (
	"sync"
	"time"
)

const (
	// hotMax bounds the auctions that are remembered as hot, and countedMax those whose rate of
	// bids is measured. Beyond them the memory starts anew.
	hotMax, countedMax = 10_000, 10_000
	// rateSpan is the time over which a rate is measured.
	rateSpan = time.Second
)

// lanes remembers in which lane auctions were decided last. It is a guess that saves a question:
// when it is wrong, the row or the epoch says so.
type lanes struct {
	above int // bids a second beyond which an auction is promoted; 0: never

	mu    sync.Mutex
	hot   map[int64]struct{}
	rates map[int64]rate
}

// rate is how many bids came for an auction since a moment on the monotonic clock.
type rate struct {
	since    time.Time
	bids     int
	promoted bool // it was asked for in this span
}

func newLanes(above int) lanes {
	return lanes{above: above, hot: map[int64]struct{}{}, rates: map[int64]rate{}}
}

func (l *lanes) isHot(id int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, isHot := l.hot[id]
	return isHot
}

func (l *lanes) note(id int64, isHot bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !isHot {
		delete(l.hot, id)
		return
	}
	if len(l.hot) >= hotMax {
		clear(l.hot)
	}
	l.hot[id] = struct{}{}
}

// count measures how many bids come for an auction, and tells when it is to be promoted.
func (l *lanes) count(id int64, bids int, now time.Time) (promote bool) {
	if l.above == 0 || l.isHot(id) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.rates) >= countedMax {
		clear(l.rates)
	}
	r := l.rates[id]
	if now.Sub(r.since) > rateSpan {
		r = rate{since: now}
	}
	r.bids += bids
	promote = r.bids > l.above && !r.promoted
	r.promoted = r.promoted || promote
	l.rates[id] = r
	return promote
}

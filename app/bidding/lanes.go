package bidding

import (
	"context"
	"errors"
	"sync"
	"time"

	"martelo/app/auction"
	"martelo/app/hot"
)

const (
	// hotMax bounds the auctions a desk remembers as hot, and countedMax those whose rate it measures; beyond them it starts anew.
	hotMax, countedMax = 10_000, 10_000
	// rateSpan is the time over which a rate is measured.
	rateSpan = time.Second
)

// errHot says that an auction is decided in Redis.
var errHot = errors.New("bidding: the auction is in the hot lane")

// lanes is what a desk remembers of where auctions are decided. It is a guess that saves a question: the row, or the epoch, says otherwise
// when it is wrong.
type lanes struct {
	lane *hot.Lane // nil: this desk has no hot lane
	// above is the rate of bids per second on this node beyond which an auction is promoted; 0: never.
	above   int
	promote func(id int64)

	mu    sync.Mutex
	hot   map[int64]struct{}
	rates map[int64]rate
}

type rate struct {
	since time.Time // on the monotonic clock
	bids  int
	asked bool // for a promotion
}

// WithHot gives the desk a hot lane, before its first bid. Promote is called once for an auction of the standard lane that gets more than above
// bids a second on this node, unless above is 0; it must not block.
func (d *Desk) WithHot(lane *hot.Lane, above int, promote func(id int64)) *Desk {
	d.lanes.lane, d.lanes.above, d.lanes.promote = lane, above, promote
	d.lanes.hot, d.lanes.rates = map[int64]struct{}{}, map[int64]rate{}
	return d
}

// inItsLane decides where the auction was decided last, and notes it when that is no longer right.
func (d *Desk) inItsLane(ctx context.Context, id int64, requests []auction.Request) ([]auction.Answer, *auction.Update, error) {
	if !d.lanes.isHot(id) {
		answers, update, err := d.attempt(ctx, id, requests)
		if errors.Is(err, errHot) {
			if d.lanes.lane == nil {
				return nil, nil, errors.Join(auction.ErrUnavailable, errors.New("bidding: the auction is in the hot lane, which this desk does not have"))
			}
			d.lanes.note(id, true)
		}
		return answers, update, err
	}
	d.early.forget(id)
	answers, update, err := d.lanes.lane.Decide(ctx, id, requests)
	if errors.Is(err, hot.ErrStandard) {
		d.lanes.note(id, false)
	}
	return answers, update, err
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

// count measures how many bids come for an auction, and asks for its promotion.
func (l *lanes) count(id int64, bids int, now time.Time) {
	if l.above == 0 || l.isHot(id) {
		return
	}
	l.mu.Lock()
	if len(l.rates) >= countedMax {
		clear(l.rates)
	}
	r := l.rates[id]
	if now.Sub(r.since) > rateSpan {
		r = rate{since: now}
	}
	r.bids += bids
	promote := r.bids > l.above && !r.asked
	r.asked = r.asked || promote
	l.rates[id] = r
	l.mu.Unlock()
	if promote {
		l.promote(id)
	}
}

package auctioneer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"martelo/app/auction"
	"martelo/app/batch"
	"martelo/app/hot"
	"martelo/app/loop"
	"martelo/db"
)

const (
	// batchMax is how many bids share a commit. Measured: beyond 256 the commit is no longer what a
	// bid waits for.
	batchMax = 256
	// queueMax is how many bids may wait for one auction on one node: some half a second's work.
	// More would only wait longer to hear that they are too low.
	queueMax = 4096
	// queueCount is how many batches of many auctions a node has under way, each on a connection of
	// its own. Measured: one leaves the disk idle while it reads, more than three make batches
	// smaller and commits more, and bids wait longer.
	queueCount = 3
	// decideWithin bounds one batch, from taking a connection to the commit.
	decideWithin = 3 * time.Second
	// waitMax is how old a waiting bid may be when its batch begins; an older one is told to ask
	// again. With decideWithin it keeps every answer under ten seconds, whatever PostgreSQL does.
	waitMax = 5 * time.Second
	// attemptsMax is how often an auction's bids are decided anew when their decision no longer
	// held at the write, as when the end passed in between or the auction was moved to the other
	// lane. More often does not happen.
	attemptsMax = 5
)

// ErrBusy says that more bids wait for the auction than the node takes. Nothing was decided; the
// same key may be sent again.
var ErrBusy = fmt.Errorf("auctioneer: too many bids wait for this auction: %w", auction.ErrUnavailable)

// Reasons to decide an auction's bids once more.
var (
	// errHeld: somebody else holds the auction's row, and the batch does not wait for it.
	errHeld = errors.New("auctioneer: the auction's row is held")
	// errStale: the row or the clock changed between the read and the write.
	errStale = errors.New("auctioneer: the auction changed between the read and the write")
	// errHot: Redis decides the auction.
	errHot = errors.New("auctioneer: the auction is in the hot lane")
)

// errPanicked answers the bids of a batch that a fault of ours has ended.
var errPanicked = fmt.Errorf("auctioneer: the outcome is not known: %w", auction.ErrUnavailable)

// pendingBid is a bid that waits for its answer.
type pendingBid struct {
	request auction.Request
	since   time.Time   // on the monotonic clock, for waitMax only
	answer  chan answer // holds one
}

type answer struct {
	auction.Answer
	err error
}

// Place decides one bid and returns when the decision is durable. Replayed means that the key was
// accepted before and this is that bid again. The error is a refusal of package auction,
// auction.ErrNotFound, or wraps auction.ErrUnavailable when the outcome is not known or nothing was
// decided. A caller that goes away does not take its bid back.
func (a *Auctioneer) Place(ctx context.Context, r auction.Request) (bid auction.Bid, replayed bool, err error) {
	p := &pendingBid{request: r, since: time.Now(), answer: make(chan answer, 1)}
	if refusal := a.early.refusal(r, p.since); refusal != nil {
		a.metrics.refusedEarly.Inc()
		return auction.Bid{}, false, refusal
	}
	if err := a.enqueue(p); err != nil {
		return auction.Bid{}, false, err
	}
	select {
	case answer := <-p.answer:
		if answer.err != nil {
			return auction.Bid{}, false, answer.err
		}
		return answer.Bid, answer.Replayed, answer.Refusal
	case <-ctx.Done():
		return auction.Bid{}, false, errors.Join(auction.ErrUnavailable, ctx.Err())
	}
}

// enqueue puts a bid where its auction's bids are decided: alone, or together with others.
func (a *Auctioneer) enqueue(p *pendingBid) error {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if a.stopped {
		return fmt.Errorf("auctioneer: stopped: %w", auction.ErrUnavailable)
	}
	id := p.request.AuctionID
	if a.lanes.isHot(id) || a.alone.Working(id) {
		return a.enqueueAlone(id, p)
	}
	queue := a.queues[uint64(id)%queueCount]
	start, err := queue.Add(id, p)
	if err != nil {
		return ErrBusy
	}
	if start {
		a.workers.Go(func() { a.workTogether(queue) })
	}
	return nil
}

func (a *Auctioneer) enqueueAlone(id int64, bids ...*pendingBid) error {
	start, err := a.alone.Add(id, bids...)
	if err != nil {
		return ErrBusy
	}
	if start {
		a.workers.Go(func() { a.workAlone(id) })
	}
	return nil
}

// workTogether decides the bids of a queue, batch by batch, until nobody waits.
func (a *Auctioneer) workTogether(queue *batch.Queue[int64, *pendingBid]) {
	for bids := queue.Take(); bids != nil; bids = queue.Take() {
		a.guard(bids, func() { a.decideTogether(bids) })
	}
}

// workAlone decides the bids of one auction, batch by batch, until nobody waits.
func (a *Auctioneer) workAlone(id int64) {
	for bids := a.alone.Take(id); bids != nil; bids = a.alone.Take(id) {
		a.guard(bids, func() { a.decideAlone(bids) })
	}
}

// guard answers everybody whom a panic has left without an answer.
func (a *Auctioneer) guard(bids []*pendingBid, decide func()) {
	err := loop.Safely(func() error {
		decide()
		return nil
	})
	a.faults.Note(context.Background(), err)
	if err == nil {
		return
	}
	for _, p := range bids {
		select {
		case p.answer <- answer{err: errPanicked}:
		default: // it has its answer
		}
	}
}

// lot is one auction in a batch: its bids that wait, and what became of them.
type lot struct {
	id       int64
	bids     []*pendingBid
	requests []auction.Request

	answers []auction.Answer
	update  *auction.Update // nil if no bid was accepted
	err     error           // why there are no answers
}

// decideTogether decides bids of many auctions in one transaction. An auction that would keep the
// others from their answers is taken out and decided alone.
func (a *Auctioneer) decideTogether(bids []*pendingBid) {
	start := time.Now()
	lots := lotsOf(refuseStale(bids, start))
	if len(lots) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), decideWithin)
	defer cancel()
	err := a.inPostgres(ctx, lots, passOverHeld)
	if db.IsReadOnly(err) {
		// The connection may be older than the server's readiness to write. It is closed now.
		err = a.inPostgres(ctx, lots, passOverHeld)
	}
	// What PostgreSQL has against one of the rows it would have against all of them together.
	spoiled := err != nil && (db.IsBadRow(err) || db.IsUnique(err, "bids_request_key"))
	for _, l := range lots {
		if spoiled || err == nil && again(l.err) {
			a.setAside(l)
			continue
		}
		if err != nil {
			l.err = err
		}
		// A fault while one auction is announced keeps no other from its answers.
		a.guard(l.bids, func() { a.finish(l, start) })
	}
	a.metrics.auctions.Observe(float64(len(lots)))
	a.metrics.bids.Observe(float64(len(bids)))
	a.metrics.seconds.Observe(time.Since(start).Seconds())
}

// setAside has an auction's bids decided alone.
func (a *Auctioneer) setAside(l *lot) {
	a.metrics.alone.Inc()
	if errors.Is(l.err, errHot) {
		a.lanes.note(l.id, true)
	}
	if err := a.enqueueAlone(l.id, l.bids...); err != nil {
		for _, p := range l.bids {
			p.answer <- answer{err: err}
		}
	}
}

// decideAlone decides bids of one auction, in the lane it is in.
func (a *Auctioneer) decideAlone(bids []*pendingBid) {
	start := time.Now()
	bids = refuseStale(bids, start)
	if len(bids) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), decideWithin)
	defer cancel()
	l := lotsOf(bids)[0]
	for attempt := range attemptsMax {
		a.inItsLane(ctx, l)
		first := attempt == 0 && db.IsReadOnly(l.err) // the connection may be older than the server's readiness
		if !first && !again(l.err) && !db.IsUnique(l.err, "bids_request_key") {
			break
		}
	}
	a.finish(l, start)
	a.metrics.bids.Observe(float64(len(bids)))
	a.metrics.seconds.Observe(time.Since(start).Seconds())
}

// inItsLane decides a lot once, in the lane where its auction was last, and remembers if it is not
// there any more.
func (a *Auctioneer) inItsLane(ctx context.Context, l *lot) {
	l.answers, l.update, l.err = nil, nil, nil
	switch {
	case !a.lanes.isHot(l.id):
		if err := a.inPostgres(ctx, []*lot{l}, waitForRow); err != nil {
			l.err = err
		}
		if errors.Is(l.err, errHot) {
			a.lanes.note(l.id, true)
		}
	case a.hot == nil:
		l.err = errors.Join(auction.ErrUnavailable, errNoLane)
	default:
		a.early.forget(l.id)
		l.answers, l.update, l.err = a.hot.Decide(ctx, l.id, l.requests)
		if errors.Is(l.err, hot.ErrStandard) {
			a.lanes.note(l.id, false)
		}
	}
}

// again tells whether a lot is to be decided once more, elsewhere or anew.
func again(err error) bool {
	return errors.Is(err, errHeld) || errors.Is(err, errStale) || errors.Is(err, errHot) ||
		errors.Is(err, hot.ErrStandard)
}

// finish announces what a lot has come to and answers its bids. Nobody is answered before the
// commit. That goes for a refusal too, since the bid that it was refused for may be of the same
// batch. A bidder who has an answer finds the bid in what viewers of this node are shown.
func (a *Auctioneer) finish(l *lot, start time.Time) {
	if l.err != nil {
		a.early.forget(l.id)
	}
	if l.err != nil || l.update != nil {
		a.fault.note(l.err)
	}
	if l.err != nil && !errors.Is(l.err, auction.ErrNotFound) {
		l.err = db.Unavailable(l.err)
		a.log.LogAttrs(context.Background(), slog.LevelWarn, "auctioneer: bids undecided",
			slog.Int64("auctionId", l.id), slog.Int("bids", len(l.bids)), slog.Any("error", l.err))
	}
	if a.lanes.count(l.id, len(l.bids), start) {
		go loop.Guard(a.log, "auctioneer: promote", func() { a.promote(context.Background(), l.id) })
	}
	if l.update != nil {
		a.listings.Touch(l.id)
		a.announce(*l.update)
	}
	for i, p := range l.bids {
		if l.err != nil {
			p.answer <- answer{err: l.err}
		} else {
			p.answer <- answer{Answer: l.answers[i]}
		}
	}
}

// lotsOf groups bids by auction, in the order of the auctions' ids. The bids of an auction keep
// their order.
func lotsOf(bids []*pendingBid) []*lot {
	var lots []*lot
	for _, p := range bids {
		id := p.request.AuctionID
		at, found := slices.BinarySearchFunc(lots, id, func(l *lot, id int64) int { return cmp.Compare(l.id, id) })
		if !found {
			lots = slices.Insert(lots, at, &lot{id: id})
		}
		lots[at].bids = append(lots[at].bids, p)
		lots[at].requests = append(lots[at].requests, p.request)
	}
	return lots
}

// refuseStale answers the bids that have waited too long and returns the others.
func refuseStale(bids []*pendingBid, now time.Time) []*pendingBid {
	fresh := make([]*pendingBid, 0, len(bids))
	for _, p := range bids {
		if now.Sub(p.since) > waitMax {
			p.answer <- answer{err: fmt.Errorf("auctioneer: waited too long: %w", auction.ErrUnavailable)}
		} else {
			fresh = append(fresh, p)
		}
	}
	return fresh
}

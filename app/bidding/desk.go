// Package bidding is the desk where bids are placed. The bids that wait for one auction are decided together, under one lock and
// in one commit ("group commit"): while a batch is on its way to the disk the next collects, so a lone bid waits for nobody
// and a thousand share one fsync. An auction without bids waiting costs neither goroutine nor memory.
package bidding

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"martelo/app/auction"
	"martelo/app/loop"
	"martelo/app/money"
	"martelo/db"
)

const (
	// batchMax is how many bids share a commit. Measured: beyond 256 the commit is no longer what a bid waits for.
	batchMax = 256
	// queueMax is how many bids may wait for one auction on one node: some half a second's work. More would only wait longer
	// to hear that they are too low.
	queueMax = 4096
	// decideWithin bounds one batch, from taking a connection to the commit.
	decideWithin = 3 * time.Second
	// waitMax is how old a waiting bid may be when its batch begins; an older one is told to ask again. With decideWithin it keeps
	// every answer under ten seconds, whatever PostgreSQL does.
	waitMax = 5 * time.Second
)

// ErrBusy says that more bids wait for the auction than the node takes. Nothing was decided; the same key may be sent again.
var ErrBusy = fmt.Errorf("bidding: too many bids wait for this auction: %w", auction.ErrUnavailable)

// errPanicked answers a bid of a batch that a fault of ours has ended.
var errPanicked = fmt.Errorf("bidding: the outcome is not known: %w", auction.ErrUnavailable)

// Desk takes bids for any number of auctions. Any number of desks, on any nodes, may share a database.
type Desk struct {
	pool     *pgxpool.Pool
	announce func(auction.Update)
	log      *slog.Logger
	batches  prometheus.Histogram
	seconds  prometheus.Histogram

	loop  *loop.Loop // panics outside the decisions
	fault fault
	lanes lanes // where auctions were last decided
	early early
	// refusedEarly counts what never came to a batch.
	refusedEarly prometheus.Counter

	mu      sync.Mutex
	queues  map[int64]*queue // of the auctions that have somebody waiting or being decided
	stopped bool
	workers sync.WaitGroup
}

type queue struct{ waiting []*ticket }

type ticket struct {
	request auction.Request
	since   time.Time // monotonic, for waitMax only
	answer  chan answer
}

type answer struct {
	auction.Answer
	err error
}

// New makes a desk. Announce is called after each commit, with the state it led to; it must not block.
func New(pool *pgxpool.Pool, announce func(auction.Update), log *slog.Logger, metrics prometheus.Registerer) *Desk {
	with := promauto.With(metrics)
	return &Desk{
		pool: pool, announce: announce, log: log, queues: map[int64]*queue{}, early: newEarly(),
		loop: loop.New("desk", log, metrics),
		refusedEarly: with.NewCounter(prometheus.CounterOpts{
			Name: "martelo_desk_refused_early_total", Help: "Bids below a price this node knew, refused without asking the database.",
		}),
		batches: with.NewHistogram(prometheus.HistogramOpts{
			Name: "martelo_desk_batch_bids", Help: "Bids decided together.", Buckets: prometheus.ExponentialBuckets(1, 2, 9),
		}),
		seconds: with.NewHistogram(prometheus.HistogramOpts{
			Name: "martelo_desk_batch_seconds", Help: "Time from taking up a batch to its commit.", Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14),
		}),
	}
}

// Place decides one bid and returns when the decision is durable. Replayed means that the key was accepted before and this is that bid
// again. The error is a refusal of package auction, auction.ErrNotFound, or wraps auction.ErrUnavailable when the outcome
// is not known or nothing was decided. A caller that goes away does not take its bid back.
func (d *Desk) Place(ctx context.Context, r auction.Request) (bid auction.Bid, replayed bool, err error) {
	t := &ticket{request: r, since: time.Now(), answer: make(chan answer, 1)}
	if refusal := d.early.refusal(r, t.since); refusal != nil {
		d.refusedEarly.Inc()
		return auction.Bid{}, false, refusal
	}
	if err := d.enqueue(t); err != nil {
		return auction.Bid{}, false, err
	}
	select {
	case a := <-t.answer:
		if a.err != nil {
			return auction.Bid{}, false, a.err
		}
		return a.Bid, a.Replayed, a.Refusal
	case <-ctx.Done():
		return auction.Bid{}, false, errors.Join(auction.ErrUnavailable, ctx.Err())
	}
}

// Learn tells the desk what others on its node have done to an auction, before they answer: closed, cancelled or moved it.
func (d *Desk) Learn(s auction.State) { d.early.learn(s) }

func (d *Desk) enqueue(t *ticket) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped {
		return fmt.Errorf("bidding: the desk is closed: %w", auction.ErrUnavailable)
	}
	id := t.request.AuctionID
	q := d.queues[id]
	if q == nil {
		q = &queue{}
		d.queues[id] = q
		d.workers.Add(1)
		go d.work(id, q)
	} else if len(q.waiting) >= queueMax {
		return ErrBusy
	}
	q.waiting = append(q.waiting, t)
	return nil
}

// work decides an auction's bids batch by batch until nobody waits.
func (d *Desk) work(id int64, q *queue) {
	defer d.workers.Done()
	for {
		batch := d.take(id, q)
		if batch == nil {
			return
		}
		d.loop.Note(context.Background(), loop.Safely(func() error {
			d.serve(id, batch)
			return nil
		}))
		for _, t := range batch { // whom a panic has left without an answer; the others have theirs
			select {
			case t.answer <- answer{err: errPanicked}:
			default:
			}
		}
	}
}

// take hands over the next batch, or closes the queue: both under the lock, so that no bid is left in a queue without a worker.
func (d *Desk) take(id int64, q *queue) []*ticket {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(q.waiting) == 0 {
		delete(d.queues, id)
		return nil
	}
	n := min(batchMax, len(q.waiting))
	batch := q.waiting[:n:n]
	q.waiting = q.waiting[n:]
	return batch
}

// serve decides a batch and answers everybody in it. Nobody is answered before the commit, the refused neither: what refused
// them may be a bid of the same batch.
func (d *Desk) serve(id int64, batch []*ticket) {
	start := time.Now()
	batch = refuseStale(batch, start)
	if len(batch) == 0 {
		return
	}
	requests := make([]auction.Request, len(batch))
	for i, t := range batch {
		requests[i] = t.request
	}
	answers, update, err := d.decide(id, requests)
	d.lanes.count(id, len(batch), start)
	for i, t := range batch {
		if err != nil {
			t.answer <- answer{err: err}
		} else {
			t.answer <- answer{Answer: answers[i]}
		}
	}
	if update != nil {
		d.announce(*update)
	}
	d.batches.Observe(float64(len(batch)))
	d.seconds.Observe(time.Since(start).Seconds())
}

func refuseStale(batch []*ticket, now time.Time) []*ticket {
	fresh := batch[:0]
	for _, t := range batch {
		if now.Sub(t.since) > waitMax {
			t.answer <- answer{err: fmt.Errorf("bidding: waited too long: %w", auction.ErrUnavailable)}
		} else {
			fresh = append(fresh, t)
		}
	}
	return fresh
}

// Stop takes no more bids and returns when those taken are decided, or when ctx ends. It returns an
// error only if some are not.
func (d *Desk) Stop(ctx context.Context) error {
	d.mu.Lock()
	d.stopped = true
	undecided := len(d.queues)
	d.mu.Unlock()
	if undecided == 0 {
		return nil
	}
	done := make(chan struct{})
	go func() { d.workers.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("bidding: stopped with bids undecided: %w", ctx.Err())
	}
}

// Currency is what an auction's bids are in. It returns auction.ErrNotFound, or an error that wraps auction.ErrUnavailable.
func (d *Desk) Currency(ctx context.Context, auctionID int64) (money.Currency, error) {
	ctx, cancel := context.WithTimeout(ctx, decideWithin)
	defer cancel()
	stored, err := db.New(d.pool).CatalogCurrency(ctx, auctionID)
	if db.IsNoRows(err) {
		return money.Currency{}, auction.ErrNotFound
	}
	return money.StoredCurrency(stored.Currency, int(stored.CurrencyDigits)), db.Unavailable(err)
}

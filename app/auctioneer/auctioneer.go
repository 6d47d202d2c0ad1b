// Package auctioneer is everything that changes an auction while its row is locked, in either lane:
// it takes bids, and opens, cancels, moves and closes auctions. Every change is decided by the
// rulebook ([martelo/app/auction]), committed, and only then announced.
//
// The way of a bid is [Auctioneer.Place] (place.go), and from there standard.go for the lane that
// PostgreSQL decides, or [hot.Lane.Decide] for the one that Redis decides.
package auctioneer

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"martelo/app/auction"
	"martelo/app/batch"
	"martelo/app/hot"
	"martelo/app/limits"
	"martelo/app/listing"
	"martelo/app/loop"
	"martelo/app/money"
	"martelo/db"
)

// Options are what an auctioneer is made of. Database and Log are needed.
type Options struct {
	// Database is for deciding alone, so that no crowd of readers takes a connection from a bid.
	Database *pgxpool.Pool
	// Hot is the lane that Redis decides; nil: auctions cannot be there.
	Hot *hot.Lane
	// HotAbove is the rate of bids a second on this node beyond which an auction is moved to the
	// hot lane by itself; 0: none is.
	HotAbove int
	// Limits counts how often a seller moves an auction; nil: moving is not limited.
	Limits *limits.Limits
	// Sellers bounds what one seller asks of the house.
	Sellers SellerLimits
	// Listings are told of every auction that bids have moved; nil: nobody is.
	Listings *listing.Follower
	// Announce tells the viewers' side of the node what an auction has come to. It is called once
	// for each commit that changed an auction, after that commit and never before, from any
	// goroutine. Two updates of one auction may come in the wrong order; their versions tell. It
	// must not block, since bids wait meanwhile, and it must not change the update. It may be nil.
	Announce func(auction.Update)
	Log      *slog.Logger
	Metrics  prometheus.Registerer
}

// Auctioneer changes auctions. Any number of them, on any nodes, may share a database.
type Auctioneer struct {
	pool     *pgxpool.Pool
	hot      *hot.Lane
	limits   *limits.Limits
	sellers  SellerLimits
	listings *listing.Follower
	announce func(auction.Update)
	log      *slog.Logger
	metrics  metrics
	faults   *loop.Loop // panics while a batch is decided

	fault  fault
	lanes  lanes
	early  early
	closer closer

	// queues hold the bids that are decided together, many auctions in one commit. An auction
	// belongs to one of them by its id.
	queues [queueCount]*batch.Queue[int64, *pendingBid]
	// alone holds the bids of auctions that are decided by themselves: the hot ones, and those
	// that would keep the others waiting.
	alone *batch.Keyed[int64, *pendingBid]

	mu      sync.RWMutex // held for reading while a bid is put into a queue
	stopped bool
	workers sync.WaitGroup
}

type metrics struct {
	bids         prometheus.Histogram
	auctions     prometheus.Histogram
	seconds      prometheus.Histogram
	refusedEarly prometheus.Counter
	alone        prometheus.Counter
}

// New makes an auctioneer. It connects to nothing yet.
func New(o Options) *Auctioneer {
	if o.Announce == nil {
		o.Announce = func(auction.Update) {}
	}
	a := &Auctioneer{
		pool: o.Database, hot: o.Hot, limits: o.Limits, sellers: o.Sellers, listings: o.Listings, announce: o.Announce,
		log:     o.Log,
		metrics: newMetrics(o.Metrics), faults: loop.New("auctioneer", o.Log, o.Metrics),
		lanes: newLanes(o.HotAbove), early: newEarly(), closer: newCloser(o),
		alone: batch.NewKeyed[int64, *pendingBid](batchMax, queueMax),
	}
	for i := range a.queues {
		a.queues[i] = batch.New[int64, *pendingBid](batchMax, queueMax)
	}
	return a
}

func newMetrics(registry prometheus.Registerer) metrics {
	with := promauto.With(registry)
	return metrics{
		refusedEarly: with.NewCounter(prometheus.CounterOpts{
			Name: "martelo_desk_refused_early_total",
			Help: "Bids below a price this node knew, refused without asking the database.",
		}),
		bids: with.NewHistogram(prometheus.HistogramOpts{
			Name: "martelo_desk_batch_bids", Help: "Bids decided together.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 9),
		}),
		auctions: with.NewHistogram(prometheus.HistogramOpts{
			Name: "martelo_desk_batch_auctions", Help: "Auctions whose bids were decided together.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 9),
		}),
		seconds: with.NewHistogram(prometheus.HistogramOpts{
			Name: "martelo_desk_batch_seconds", Help: "Time from taking up a batch to its commit.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 14),
		}),
		alone: with.NewCounter(prometheus.CounterOpts{
			Name: "martelo_desk_alone_total",
			Help: "Times an auction's bids were taken out of a batch and decided by themselves.",
		}),
	}
}

// Run opens and closes what is due, in both lanes, until ctx ends. PostgreSQL and Redis may be away
// at any time.
func (a *Auctioneer) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { a.closer.closing.Keep(ctx, a.closeStandard) })
	if a.hot != nil {
		running.Go(func() { a.closer.closingHot.Keep(ctx, a.closeHot) })
	}
	running.Wait()
}

// Stop takes no more bids and returns when those taken are decided, or when ctx ends. It returns an
// error only if some are not.
func (a *Auctioneer) Stop(ctx context.Context) error {
	a.mu.Lock()
	a.stopped = true
	a.mu.Unlock()
	done := make(chan struct{})
	go func() { a.workers.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("auctioneer: stopped with bids undecided: %w", ctx.Err())
	}
}

// Ready returns nil if a bid that came now would probably be written.
func (a *Auctioneer) Ready(ctx context.Context) error {
	if err := a.fault.lately(); err != nil {
		return err
	}
	return db.Ready(ctx, a.pool)
}

// Currency is what an auction's bids are in, read where no crowd of readers stands before a bid. It
// returns auction.ErrNotFound, or an error that wraps auction.ErrUnavailable.
func (a *Auctioneer) Currency(ctx context.Context, auctionID int64) (money.Currency, error) {
	ctx, cancel := context.WithTimeout(ctx, decideWithin)
	defer cancel()
	stored, err := db.New(a.pool).CatalogCurrency(ctx, auctionID)
	if db.IsNoRows(err) {
		return money.Currency{}, auction.ErrNotFound
	}
	return money.StoredCurrency(stored.Currency, int(stored.CurrencyDigits)), db.Unavailable(err)
}

// tell announces what an auction has come to, which is committed. What this node refuses early by
// the old state ends first.
func (a *Auctioneer) tell(u auction.Update) {
	a.early.learn(u.State)
	a.announce(u)
}

package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"martelo/app/auction"
	"martelo/db"
)

const (
	// rowsMax and eventsMax bound one turn, whose events are all in memory; a turn takes at least one row, which is one batch.
	rowsMax   = 1000
	eventsMax = 4000
	// turnWithin bounds one turn, with the handing over in it. The transaction is idle meanwhile, so it stays below
	// what PostgreSQL lets a transaction idle.
	turnWithin = 2500 * time.Millisecond
	// pollEvery is how long after a fact its event may leave. What comes meanwhile shares a turn: turns without a pause, one for each
	// batch of bids, took a tenth of the machine and half of the disk's fsyncs from the bids.
	pollEvery = 200 * time.Millisecond
	// retryFirst and retryMax are the pauses after a failure: short, then doubled.
	retryFirst = 250 * time.Millisecond
	retryMax   = 15 * time.Second
	// backlogEvery is how often the backlog is measured, and backlogMax where counting stops.
	backlogEvery = 5 * time.Second
	backlogMax   = 100_000
	// relayLockKey names the advisory lock that makes one relay the teller; the number has no meaning of its own.
	relayLockKey = 0x6d617274656c6f
)

// Sink is where events go: the log, Kafka. Publish returns how many, from the first on, are acknowledged; an error explains the rest.
// An event may come again after a failure.
type Sink interface {
	Publish(ctx context.Context, events []Event) (acknowledged int, err error)
}

// Relay hands events to a sink: at least once, and in order for each auction. Any number of relays may run; one works at a time.
type Relay struct {
	pool    *pgxpool.Pool
	sink    Sink
	log     *slog.Logger
	told    prometheus.Counter
	waiting prometheus.Gauge
	oldest  prometheus.Gauge
}

// NewRelay makes a relay.
func NewRelay(pool *pgxpool.Pool, sink Sink, log *slog.Logger, metrics prometheus.Registerer) *Relay {
	with := promauto.With(metrics)
	return &Relay{
		pool: pool, sink: sink, log: log,
		told:    with.NewCounter(prometheus.CounterOpts{Name: "martelo_outbox_events_total", Help: "Events this node has handed to the sink."}),
		waiting: with.NewGauge(prometheus.GaugeOpts{Name: "martelo_outbox_waiting_rows", Help: "Rows that wait to be told (counting stops at 100,000)."}),
		oldest:  with.NewGauge(prometheus.GaugeOpts{Name: "martelo_outbox_oldest_seconds", Help: "Age of the oldest row that waits."}),
	}
}

// Run relays until ctx ends. Polling is the truth: an event needs no notice to be found.
func (r *Relay) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	pause := retryFirst
	var measured time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		more, err := r.Turn(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			r.log.Warn("outbox: turn failed", "error", err, "againIn", pause.String())
			timer.Reset(pause)
			pause = min(2*pause, retryMax)
			continue
		case more:
			timer.Reset(0)
		default:
			timer.Reset(pollEvery)
		}
		pause = retryFirst
		if time.Since(measured) > backlogEvery {
			measured = time.Now()
			r.measure(ctx)
		}
	}
}

// Turn hands over the oldest events and deletes the rows the sink has acknowledged, in one transaction. More tells that it took
// as much as a turn may, so that others probably wait. A relay elsewhere that is at work makes this one do nothing.
func (r *Relay) Turn(ctx context.Context) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, turnWithin)
	defer cancel()
	var failure error
	err = pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		mine, err := q.OutboxRelayLock(ctx, relayLockKey)
		if err != nil || !mine {
			return err
		}
		rows, err := q.OutboxHead(ctx, rowsMax)
		if err != nil {
			return err
		}
		found := len(rows)
		rows = bounded(rows)
		more = found == rowsMax || len(rows) < found
		var told []int64
		told, failure = r.tell(ctx, q, rows)
		if len(told) == 0 {
			return nil
		}
		_, err = q.OutboxDelete(ctx, told)
		return err
	})
	return more && err == nil && failure == nil, errors.Join(err, failure)
}

// bounded cuts rows to what a turn may hold in memory.
func bounded(rows []db.Outbox) []db.Outbox {
	events := int64(0)
	for i, row := range rows {
		if row.FirstSeq != nil {
			events += *row.LastSeq - *row.FirstSeq
		}
		if events++; events > eventsMax && i > 0 {
			return rows[:i]
		}
	}
	return rows
}

// tell hands the rows' events over and returns the rows whose events are all acknowledged. It stops at the first failure, so that no
// later event of an auction leaves before an earlier one.
func (r *Relay) tell(ctx context.Context, q *db.Queries, rows []db.Outbox) ([]int64, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	events, upTo, err := r.events(ctx, q, rows)
	if err != nil {
		return nil, err
	}
	acknowledged, err := r.sink.Publish(ctx, events)
	r.told.Add(float64(acknowledged))
	if err != nil {
		err = fmt.Errorf("outbox: sink: %w", err)
	}
	var told []int64
	for i, row := range rows {
		if upTo[i] <= acknowledged {
			told = append(told, row.ID)
		}
	}
	return told, err
}

// events makes the rows' events, and for each row how many events there are up to its last.
func (r *Relay) events(ctx context.Context, q *db.Queries, rows []db.Outbox) (events []Event, upTo []int, err error) {
	identity, err := q.HouseIdentity(ctx)
	if err != nil {
		return nil, nil, err
	}
	house := identity.ID.String()
	states, bids, err := facts(ctx, q, rows)
	if err != nil {
		return nil, nil, err
	}
	for _, row := range rows {
		if row.Topic == TopicAuctionClosed {
			e, err := closedEvent(house, states[row.AuctionID])
			if err != nil {
				return nil, nil, err
			}
			events = append(events, e)
		} else {
			for seq := *row.FirstSeq; seq <= *row.LastSeq; seq++ {
				bid, ok := bids[place{row.AuctionID, seq}]
				if !ok {
					return nil, nil, fmt.Errorf("outbox: bid %d of auction %d is not in the log", seq, row.AuctionID)
				}
				e, err := bidEvent(house, bid)
				if err != nil {
					return nil, nil, err
				}
				events = append(events, e)
			}
		}
		upTo = append(upTo, len(events))
	}
	return events, upTo, nil
}

type place struct{ auctionID, seq int64 }

// facts reads what the rows point at.
func facts(ctx context.Context, q *db.Queries, rows []db.Outbox) (map[int64]auction.State, map[place]auction.Bid, error) {
	var want db.OutboxBidsParams
	ids := make([]int64, 0, len(rows))
	for _, row := range rows {
		ids = append(ids, row.AuctionID)
		if row.FirstSeq != nil {
			want.AuctionIds = append(want.AuctionIds, row.AuctionID)
			want.FirstSeqs = append(want.FirstSeqs, *row.FirstSeq)
			want.LastSeqs = append(want.LastSeqs, *row.LastSeq)
		}
	}
	auctions, err := q.OutboxAuctions(ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	states := make(map[int64]auction.State, len(auctions))
	for _, a := range auctions {
		states[a.ID] = a.State()
	}
	bids := map[place]auction.Bid{}
	if len(want.AuctionIds) > 0 {
		logged, err := q.OutboxBids(ctx, want)
		if err != nil {
			return nil, nil, err
		}
		for _, row := range logged {
			bids[place{row.Bid.AuctionID, row.Bid.Seq}] = row.Bid.Accepted(states[row.Bid.AuctionID].Currency)
		}
	}
	return states, bids, nil
}

func (r *Relay) measure(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, turnWithin)
	defer cancel()
	if backlog, err := db.New(r.pool).OutboxBacklog(ctx, backlogMax); err == nil {
		r.waiting.Set(float64(backlog.Waiting))
		r.oldest.Set(backlog.OldestSeconds)
	}
}

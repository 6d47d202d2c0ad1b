package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"martelo/app/auction"
	"martelo/app/loop"
	"martelo/db"
)

const (
	// rowsMax and eventsMax bound one turn, whose events are all in memory; a turn takes at least
	// one row, which is one batch.
	rowsMax   = 1000
	eventsMax = 4000
	// turnWithin bounds one turn, with the handing over in it. The transaction is idle meanwhile,
	// so it stays below what PostgreSQL lets a transaction idle.
	turnWithin = 2500 * time.Millisecond
	// publishWithin bounds the handing over. What was acknowledged until then can still be deleted
	// in the same turn.
	publishWithin = 1500 * time.Millisecond
	// pollEvery is how long after a fact its event may leave. What comes meanwhile shares a turn:
	// turns without a pause, one for each batch of bids, took a tenth of the machine and half of
	// the disk's fsyncs from the bids.
	pollEvery = 200 * time.Millisecond
	// retryFirst and retryMax are the pauses after a failure: short, then doubled.
	retryFirst = 250 * time.Millisecond
	retryMax   = 15 * time.Second
	// setAsideFor is how long the events of an auction wait whose facts cannot be read, before they
	// are looked at again. setAsideMax bounds how many auctions may: more is no bad row but a bad
	// database.
	setAsideFor = time.Minute
	setAsideMax = 10_000
	// backlogEvery is how often the backlog is measured, and backlogMax where counting stops.
	backlogEvery = 5 * time.Second
	backlogMax   = 100_000
	// relayLockKey names the advisory lock that makes one relay the teller; the number has no
	// meaning of its own.
	relayLockKey = 0x6d617274656c6f
)

// Sink is where events go: the log, Kafka. Publish returns one error for each event, nil for those
// that are acknowledged, when ctx ends at the latest. An event may come again after a failure.
type Sink interface {
	Publish(ctx context.Context, events []Event) []error
}

// Relay hands events to a sink: at least once, and in order for each auction within a topic. Any
// number of relays may run; one works at a time.
//
// A topic that the sink does not take rests, and the others go on. An auction whose facts cannot be
// read is set aside in that topic: its later events wait for it, since they must not overtake, and
// those of other auctions do not.
type Relay struct {
	pool *pgxpool.Pool
	sink Sink
	log  *slog.Logger
	loop *loop.Loop // the turns

	// What follows belongs to whoever runs Turn.
	topics   map[string]*topic
	setAside map[line]time.Time // until when

	told       prometheus.Counter
	waiting    prometheus.Gauge
	oldest     prometheus.Gauge
	asideNow   prometheus.Gauge
	asideTotal prometheus.Counter
}

// topic is how the handing over of a topic's events goes.
type topic struct {
	loop  *loop.Loop
	pause time.Duration // after the next failure
	until time.Time     // when it may be tried again
}

// line is one auction's events in one topic: what must stay in order.
type line struct {
	topic     string
	auctionID int64
}

// NewRelay makes a relay.
func NewRelay(pool *pgxpool.Pool, sink Sink, log *slog.Logger, metrics prometheus.Registerer) *Relay {
	with := promauto.With(metrics)
	r := &Relay{
		pool: pool, sink: sink, log: log, loop: loop.New("relay", log, metrics),
		topics: map[string]*topic{}, setAside: map[line]time.Time{},
		told: with.NewCounter(prometheus.CounterOpts{
			Name: "martelo_outbox_events_total",
			Help: "Events this node has handed to the sink.",
		}),
		waiting: with.NewGauge(prometheus.GaugeOpts{
			Name: "martelo_outbox_waiting_rows",
			Help: "Rows that wait to be told (counting stops at 100,000 of a topic).",
		}),
		oldest: with.NewGauge(prometheus.GaugeOpts{
			Name: "martelo_outbox_oldest_seconds",
			Help: "Age of the oldest row that waits.",
		}),
		asideNow: with.NewGauge(prometheus.GaugeOpts{
			Name: "martelo_outbox_set_aside",
			Help: "Auctions whose events wait in a topic because their facts cannot be read, as this node knows.",
		}),
		asideTotal: with.NewCounter(prometheus.CounterOpts{
			Name: "martelo_outbox_set_aside_total",
			Help: "Times this node found an auction whose facts cannot be read.",
		}),
	}
	for _, name := range Topics {
		r.topics[name] = &topic{loop: loop.New("relay "+name, log, metrics), pause: retryFirst}
	}
	return r
}

// Run relays until ctx ends. Polling is the truth: an event needs no notice to be found. The
// backlog is measured whether events leave or not.
func (r *Relay) Run(ctx context.Context) {
	var measuring sync.WaitGroup
	defer measuring.Wait()
	measuring.Go(func() { r.loop.Keep(ctx, r.measureAll) })
	pause, next := retryFirst, time.Duration(0)
	for sleep(ctx, next) {
		var more bool
		err := r.loop.Turn(ctx, func(ctx context.Context) (err error) {
			more, err = r.turn(ctx, r.ready())
			return err
		})
		switch {
		case err != nil:
			next, pause = pause, min(2*pause, retryMax)
			continue
		case more:
			next = 0
		default:
			next = pollEvery
		}
		pause = retryFirst
	}
}

// ready names the topics that do not rest.
func (r *Relay) ready() (names []string) {
	for _, name := range Topics {
		if !time.Now().Before(r.topics[name].until) {
			names = append(names, name)
		}
	}
	return names
}

// Turn hands over the oldest events of all topics and deletes the rows the sink has acknowledged,
// in one transaction. More tells that it took as much as a turn may, so that others probably wait.
// A relay elsewhere that is at work makes this one do nothing. The error is what kept it from
// working at all; what keeps one topic or one auction is counted and told, and the rest goes on.
func (r *Relay) Turn(ctx context.Context) (more bool, err error) { return r.turn(ctx, Topics) }

func (r *Relay) turn(ctx context.Context, names []string) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, turnWithin)
	defer cancel()
	err = pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		mine, err := q.OutboxRelayLock(ctx, relayLockKey)
		if err != nil || !mine {
			return err
		}
		rows, full, err := r.head(ctx, q, names)
		if err != nil || len(rows) == 0 {
			return err
		}
		found := len(rows)
		rows = bounded(rows)
		more = full || len(rows) < found
		// The rows may be those of a commit that failed and is visible on this server alone.
		if err := db.AwaitStandby(ctx, r.pool); err != nil {
			return err
		}
		told, err := r.tell(ctx, rows)
		for name, ids := range told {
			if _, failed := q.OutboxDelete(ctx, db.OutboxDeleteParams{Topic: name, Ids: ids}); failed != nil {
				return errors.Join(err, failed)
			}
		}
		return err
	})
	return more && err == nil, err
}

// head reads the oldest rows of the topics, in the order in which they were written. Full tells
// that more wait.
func (r *Relay) head(
	ctx context.Context, q *db.Queries, names []string,
) (rows []db.OutboxHeadRow, full bool, err error) {
	horizon := int64(math.MaxInt64)
	for _, name := range names {
		found, err := q.OutboxHead(
			ctx, db.OutboxHeadParams{Topic: name, SetAside: r.passedOver(name), RowLimit: rowsMax},
		)
		if err != nil {
			return nil, false, err
		}
		if len(found) == rowsMax {
			full, horizon = true, min(horizon, found[rowsMax-1].ID)
		}
		rows = append(rows, found...)
	}
	// Beyond the horizon rows are missing: an auction is not told as closed before its last bid,
	// unless the bids' topic rests.
	rows = slices.DeleteFunc(rows, func(row db.OutboxHeadRow) bool { return row.ID > horizon })
	slices.SortFunc(rows, func(a, b db.OutboxHeadRow) int { return cmp.Compare(a.ID, b.ID) })
	return rows, full, nil
}

// passedOver lists the auctions set aside in a topic. How long they are left alone is this
// process's own affair.
func (r *Relay) passedOver(name string) []int64 {
	ids := []int64{}
	for l, until := range r.setAside {
		if l.topic == name && time.Now().Before(until) {
			ids = append(ids, l.auctionID)
		}
	}
	return ids
}

// bounded cuts rows to what a turn may hold in memory.
func bounded(rows []db.OutboxHeadRow) []db.OutboxHeadRow {
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

// tell hands the rows' events over and returns the ids of those rows, by topic, whose events are
// all acknowledged. After the first of a line that is not, none of it counts: it comes again, in
// order.
func (r *Relay) tell(ctx context.Context, rows []db.OutboxHeadRow) (told map[string][]int64, err error) {
	rows, made, err := r.assemble(ctx, rows)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	events := slices.Concat(made...)
	within, cancel := context.WithTimeout(ctx, publishWithin)
	defer cancel()
	outcome := r.sink.Publish(within, events)
	told = map[string][]int64{}
	broken, trouble := map[line]bool{}, map[string]error{}
	for i, row := range rows {
		l := line{row.Topic, row.AuctionID}
		if _, seen := trouble[row.Topic]; !seen {
			trouble[row.Topic] = nil
		}
		for range made[i] {
			if outcome[0] == nil {
				r.told.Inc()
			} else if broken[l] = true; trouble[row.Topic] == nil {
				trouble[row.Topic] = fmt.Errorf("outbox: sink: %w", outcome[0])
			}
			outcome = outcome[1:]
		}
		if !broken[l] {
			told[row.Topic] = append(told[row.Topic], row.ID)
		}
	}
	for name, err := range trouble {
		r.topics[name].note(ctx, err)
	}
	return told, nil
}

// note has a topic rest after a failure, the longer the more often it fails.
func (t *topic) note(ctx context.Context, err error) {
	t.loop.Note(ctx, err)
	if err == nil {
		t.pause, t.until = retryFirst, time.Time{}
		return
	}
	t.until = time.Now().Add(t.pause)
	t.pause = min(2*t.pause, retryMax)
}

// assemble makes the rows' events. A line whose facts cannot be read is set aside, and its rows are
// left out.
func (r *Relay) assemble(
	ctx context.Context, rows []db.OutboxHeadRow,
) (kept []db.OutboxHeadRow, made [][]Event, err error) {
	events, faults, err := r.read(ctx, rows)
	if err != nil {
		return nil, nil, err
	}
	aside := map[line]bool{}
	for i, row := range rows {
		l := line{row.Topic, row.AuctionID}
		switch {
		case aside[l]:
		case faults[i] != nil:
			aside[l] = true
			if err := r.putAside(l, faults[i]); err != nil {
				return nil, nil, err
			}
		default:
			if _, was := r.setAside[l]; was {
				delete(r.setAside, l)
				r.log.Info("outbox: an auction's events leave again", "topic", l.topic, "auctionId", l.auctionID)
			}
			kept, made = append(kept, row), append(made, events[i])
		}
	}
	r.asideNow.Set(float64(len(r.setAside)))
	return kept, made, nil
}

// putAside leaves a line alone for a while. It is told once, until its events leave again.
func (r *Relay) putAside(l line, why error) error {
	if _, known := r.setAside[l]; !known {
		if len(r.setAside) >= setAsideMax {
			return fmt.Errorf("outbox: the facts of more than %d auctions cannot be read: %w", setAsideMax, why)
		}
		r.asideTotal.Inc()
		attributes := []any{"topic", l.topic, "auctionId", l.auctionID, "error", why}
		var fault *loop.PanicError
		if errors.As(why, &fault) {
			attributes = append(attributes, "stack", fault.Stack)
		}
		r.log.Error(
			"outbox: an auction's events wait, since what they tell cannot be read; those of others leave",
			attributes...,
		)
	}
	r.setAside[l] = time.Now().Add(setAsideFor)
	return nil
}

// read makes each row's events, or says why its facts cannot be read. Those of many rows are read
// together; when that fails because of one of them, in halves.
func (r *Relay) read(ctx context.Context, rows []db.OutboxHeadRow) (events [][]Event, faults []error, err error) {
	var f facts
	err = loop.Safely(func() (err error) {
		f, err = readFacts(ctx, db.New(r.pool), rows)
		return err
	})
	var panicked *loop.PanicError
	switch {
	case err == nil:
		events, faults = make([][]Event, len(rows)), make([]error, len(rows))
		for i, row := range rows {
			faults[i] = loop.Safely(func() (err error) {
				events[i], err = f.events(row)
				return err
			})
		}
		return events, faults, nil
	case !errors.As(err, &panicked) && !db.IsBadRow(err):
		return nil, nil, err
	case len(rows) == 1:
		return [][]Event{nil}, []error{err}, nil
	}
	half := len(rows) / 2
	if events, faults, err = r.read(ctx, rows[:half]); err != nil {
		return nil, nil, err
	}
	moreEvents, moreFaults, err := r.read(ctx, rows[half:])
	return append(events, moreEvents...), append(faults, moreFaults...), err
}

type place struct{ auctionID, seq int64 }

// facts are what rows point at.
type facts struct {
	house  string // whose events they are
	states map[int64]auction.State
	bids   map[place]auction.Bid
}

func readFacts(ctx context.Context, q *db.Queries, rows []db.OutboxHeadRow) (f facts, err error) {
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
	identity, err := q.HouseIdentity(ctx)
	if err != nil {
		return f, err
	}
	f.house = identity.ID.String()
	auctions, err := q.OutboxAuctions(ctx, ids)
	if err != nil {
		return f, err
	}
	f.states, f.bids = make(map[int64]auction.State, len(auctions)), map[place]auction.Bid{}
	for _, a := range auctions {
		f.states[a.ID] = a.State()
	}
	if len(want.AuctionIds) == 0 {
		return f, nil
	}
	logged, err := q.OutboxBids(ctx, want)
	for _, row := range logged {
		f.bids[place{row.Bid.AuctionID, row.Bid.Seq}] = row.Bid.Accepted(f.states[row.Bid.AuctionID].Currency)
	}
	return f, err
}

// events makes a row's events.
func (f facts) events(row db.OutboxHeadRow) ([]Event, error) {
	state, found := f.states[row.AuctionID]
	if !found {
		return nil, fmt.Errorf("outbox: there is no auction %d", row.AuctionID)
	}
	if row.Topic == TopicAuctionClosed {
		if state.Status != auction.Closed {
			return nil, fmt.Errorf("outbox: auction %d is %s, not closed", row.AuctionID, state.Status)
		}
		e, err := closedEvent(f.house, state)
		return []Event{e}, err
	}
	var events []Event
	for seq := *row.FirstSeq; seq <= *row.LastSeq; seq++ {
		bid, ok := f.bids[place{row.AuctionID, seq}]
		if !ok {
			return nil, fmt.Errorf("outbox: bid %d of auction %d is not in the log", seq, row.AuctionID)
		}
		e, err := bidEvent(f.house, bid)
		if err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	return events, nil
}

func (r *Relay) measureAll(ctx context.Context) {
	for {
		r.measure(ctx)
		if !sleep(ctx, backlogEvery) {
			return
		}
	}
}

// measure sets the gauges of the backlog. While PostgreSQL cannot be asked they keep what they
// said.
func (r *Relay) measure(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, turnWithin)
	defer cancel()
	waiting, oldest := int64(0), 0.0
	for _, name := range Topics {
		backlog, err := db.New(r.pool).OutboxBacklog(ctx, db.OutboxBacklogParams{Topic: name, RowLimit: backlogMax})
		if err != nil {
			return
		}
		waiting, oldest = waiting+backlog.Waiting, max(oldest, backlog.OldestSeconds)
	}
	r.waiting.Set(float64(waiting))
	r.oldest.Set(oldest)
}

// sleep waits, and returns false when ctx has ended.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

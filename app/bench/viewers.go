package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"martelo/app/auction"
)

const (
	// viewersRate is how many bids a second the viewers are told of, more than the house's tick lets through.
	viewersRate = 200
	// tellFirst bounds how long all viewers may take to get their first state.
	tellFirst = time.Minute
	// agreeWithin bounds how long after the last bid all viewers may take to show the last price.
	agreeWithin = 10 * time.Second
	// viewersOver is how many more than asked for a node takes.
	viewersOver = 1000
)

// viewers has many watch while bids come in, and measures how long after a bid was sent each viewer is shown its price. That is the bid's own
// time and up to 150 ms in which a node gathers changes. At the end all must show the last price.
func (b *bench) viewers(ctx context.Context) error {
	count := otherwise(b.watchers, 1000, 10_000, b)
	most := strconv.Itoa(count + viewersOver)
	b.heap = true
	if err := b.start(ctx, "VIEWERS_MAX="+most, "VIEWERS_PER_ADDRESS_MAX="+most); err != nil {
		return err
	}
	rates := b.ratesOr([]int{viewersRate}, []int{viewersRate, 10 * viewersRate})
	if err := b.town.settle(ctx, max(biddersMin, rates[len(rates)-1]/bidsOfBidder)); err != nil {
		return err
	}
	for _, rate := range rates {
		for _, watching := range []int{0, count} {
			if err := b.watched(ctx, rate, watching); err != nil {
				return err
			}
		}
	}
	return nil
}

// shown is a price of an auction.
type shown struct{ auction, cents int64 }

// audience is what the viewers were shown.
type audience struct {
	engine *engine
	sentAt map[shown]time.Duration
	late   *outcome
	told   int
	first  int // viewers that have a state
}

// heard is told what a viewer was sent: one or more events, of which the last is what it shows.
func (a *audience) heard(l *link, data []byte) {
	price := lastCents(data, `"currentPrice":"`)
	if price < 0 {
		return
	}
	if l.known < 0 {
		a.first++
	} else if sent, ok := a.sentAt[shown{l.auction, price}]; ok && price > l.known {
		record(a.late.times, a.engine.now()-sent)
		a.told++
	}
	l.known = max(l.known, price)
}

// watched measures one rate of bids with a number of viewers, on one auction or spread over several.
func (b *bench) watched(ctx context.Context, rate, watching int) error {
	ids, _, err := b.town.openLots(ctx, max(1, b.auctions), lot{lane: string(auction.Standard), ends: lotEnds})
	if err != nil {
		return err
	}
	e, err := newEngine()
	if err != nil {
		return err
	}
	defer e.close()
	warm, span := otherwise(b.warm, time.Second, 2*time.Second, b), otherwise(b.span, 8*time.Second, 30*time.Second, b)
	c := &crowd{town: b.town, auctions: ids, keys: newKeys()}
	o := c.offer(b.targets(), rate, warm, span, b.connections)
	a := &audience{engine: e, late: newOutcome(), sentAt: make(map[shown]time.Duration, o.requests())}
	write := o.write
	o.write = func(to []byte, i int) []byte {
		to = write(to, i)
		a.sentAt[shown{c.auction(i), c.bids[i].amount}] = e.now()
		return to
	}
	before := b.held(ctx)
	if err := b.seat(ctx, e, a, ids, watching); err != nil {
		return err
	}
	after := b.held(ctx)
	row, err := b.measureOn(ctx, e, fmt.Sprintf("bids with %d viewers", watching), o, false)
	if err != nil {
		return err
	}
	row.Accepted = float64(c.acknowledged) / (warm + span).Seconds()
	if watching == 0 {
		return b.report.add(row)
	}
	what := fmt.Sprintf("%d viewers shown a bid", watching)
	if len(ids) > 1 {
		what = fmt.Sprintf("%d viewers of %d auctions shown a bid", watching, len(ids))
	}
	seen := Row{What: what, Offered: rate, Answered: float64(a.told) / (warm + span).Seconds(), Figures: map[string]float64{}}
	seen.take(a.late.times)
	seen.Figures["node's resident bytes a viewer"] = float64(after.resident-before.resident) / float64(watching)
	if after.heap > 0 {
		seen.Figures["node's heap and stack bytes a viewer"] = (after.heap - before.heap) / float64(watching)
		seen.Figures["node's goroutines more"] = after.goroutines - before.goroutines
	}
	lost, err := b.agree(ctx, e, ids)
	seen.Figures["viewers cut"] = float64(lost)
	if err == nil {
		seen.Verdict = "all show the last price"
	}
	return errors.Join(err, b.report.add(row), b.report.add(seen))
}

// agree waits until all viewers show the last price of what they watch, and returns how many were cut before.
func (b *bench) agree(ctx context.Context, e *engine, ids []int64) (lost int, err error) {
	rows, err := b.town.pool.Query(ctx, `SELECT id, current_price FROM auctions WHERE id = ANY ($1)`, ids)
	if err != nil {
		return 0, err
	}
	last := make(map[int64]int64, len(ids))
	var id, price int64
	if _, err := pgx.ForEachRow(rows, []any{&id, &price}, func() error { last[id] = price; return nil }); err != nil {
		return 0, err
	}
	for deadline := e.now() + agreeWithin; ; {
		behind := 0
		lost = 0
		for _, l := range e.links {
			switch {
			case l.lost:
				lost++
			case l.listens && l.known != last[l.auction]:
				behind++
			}
		}
		if behind == 0 && lost > 0 {
			return lost, fmt.Errorf("bench: %d viewers were cut", lost)
		}
		if behind == 0 {
			return 0, nil
		}
		if e.now() > deadline {
			return lost, fmt.Errorf("bench: %d viewers do not show the last price after %s", behind, agreeWithin)
		}
		if err := e.wait(e.now()+lookAgain, func(*link, *answer) {}); err != nil {
			return lost, err
		}
	}
}

// seat connects the viewers and waits until each has a state.
func (b *bench) seat(ctx context.Context, e *engine, a *audience, ids []int64, watching int) error {
	e.heard = a.heard
	targets := b.targets()
	for i := range watching {
		l, err := e.connect(targets[i%len(targets)])
		if err != nil {
			return err
		}
		l.listens, l.known, l.auction = true, -1, ids[i%len(ids)]
		if !l.send([]byte("GET /auctions/" + strconv.FormatInt(l.auction, 10) + "/events HTTP/1.1\r\nHost: bench\r\nAccept: text/event-stream\r\n\r\n")) {
			return errors.New("bench: a viewer could not ask")
		}
	}
	for deadline := e.now() + tellFirst; a.first < watching; {
		if err := e.wait(e.now()+lookAgain, func(*link, *answer) {}); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if e.now() > deadline {
			return fmt.Errorf("bench: %d of %d viewers have a state after %s", a.first, watching, tellFirst)
		}
	}
	return nil
}

// holding is what nodes hold: resident memory, and, where a node lets its garbage be collected first, heap and stacks in use.
type holding struct {
	resident         int64
	heap, goroutines float64
}

func (b *bench) held(ctx context.Context) (h holding) {
	for _, n := range b.nodes {
		if n.cmd != nil {
			_, resident := processOf(n.cmd.Process.Pid)
			h.resident += resident
		}
		collected := true
		for range 2 { // the second time takes what pools kept over the first
			collected = collected && n.collect(ctx)
		}
		if collected {
			h.heap += n.figure(ctx, "go_memstats_heap_inuse_bytes") + n.figure(ctx, "go_memstats_stack_inuse_bytes")
		}
		h.goroutines += n.figure(ctx, "go_goroutines")
	}
	return h
}

package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"martelo/app/auction"
)

const (
	// viewersRate is how many bids a second the viewers are told of, more than the house's tick lets through.
	viewersRate = 200
	// tellFirst bounds how long all viewers may take to get their first state.
	tellFirst = time.Minute
	// viewersOver is how many more than asked for a node takes.
	viewersOver = 1000
)

// viewers has many watch one auction while bids come in, and measures how long after a bid was sent each viewer is shown its price. That is
// the bid's own time and up to 150 ms in which a node gathers changes.
func (b *bench) viewers(ctx context.Context) error {
	count := otherwise(b.watchers, 1000, 10_000, b)
	most := strconv.Itoa(count + viewersOver)
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

// audience is what the viewers of one auction were shown.
type audience struct {
	engine *engine
	sentAt []time.Duration // by amount
	late   *outcome
	shown  int
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
	} else if price > l.known && price < int64(len(a.sentAt)) && a.sentAt[price] > 0 {
		record(a.late.times, a.engine.now()-a.sentAt[price])
		a.shown++
	}
	l.known = max(l.known, price)
}

// watched measures one rate of bids with a number of viewers.
func (b *bench) watched(ctx context.Context, rate, watching int) error {
	ids, _, err := b.town.openLots(ctx, 1, lot{lane: string(auction.Standard), ends: lotEnds})
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
	a := &audience{engine: e, late: newOutcome(), sentAt: make([]time.Duration, o.requests()+1)}
	write := o.write
	o.write = func(to []byte, i int) []byte {
		to = write(to, i)
		a.sentAt[c.bids[i].amount] = e.now()
		return to
	}
	memory, err := b.seat(ctx, e, a, ids[0], watching)
	if err != nil {
		return err
	}
	row, err := b.measureOn(ctx, e, fmt.Sprintf("bids with %d viewers", watching), o, false)
	if err != nil {
		return err
	}
	row.Accepted = float64(c.acknowledged) / (warm + span).Seconds()
	if watching == 0 {
		return b.report.add(row)
	}
	shown := Row{What: fmt.Sprintf("%d viewers shown a bid", watching), Offered: rate, Answered: float64(a.shown) / (warm + span).Seconds(), Figures: map[string]float64{}}
	shown.take(a.late.times)
	if memory > 0 {
		shown.Figures["node's bytes a viewer"] = float64(memory) / float64(watching)
	}
	lost := 0
	for _, l := range e.links {
		if l.lost {
			lost++
		}
	}
	shown.Figures["viewers cut"] = float64(lost)
	return errors.Join(b.report.add(row), b.report.add(shown))
}

// seat connects the viewers, waits until each has a state, and returns by how much the nodes' memory has grown.
func (b *bench) seat(ctx context.Context, e *engine, a *audience, id int64, watching int) (memory int64, err error) {
	e.heard = a.heard
	targets := b.targets()
	before := b.resident()
	request := []byte("GET /auctions/" + strconv.FormatInt(id, 10) + "/events HTTP/1.1\r\nHost: bench\r\nAccept: text/event-stream\r\n\r\n")
	for i := range watching {
		l, err := e.connect(targets[i%len(targets)])
		if err != nil {
			return 0, err
		}
		l.listens, l.known = true, -1
		if !l.send(request) {
			return 0, errors.New("bench: a viewer could not ask")
		}
	}
	for deadline := e.now() + tellFirst; a.first < watching; {
		if err := e.wait(e.now()+lookAgain, func(*link, *answer) {}); err != nil {
			return 0, err
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if e.now() > deadline {
			return 0, fmt.Errorf("bench: %d of %d viewers have a state after %s", a.first, watching, tellFirst)
		}
	}
	return b.resident() - before, nil
}

func (b *bench) resident() (sum int64) {
	for _, n := range b.nodes {
		if n.cmd != nil {
			_, resident := processOf(n.cmd.Process.Pid)
			sum += resident
		}
	}
	return sum
}

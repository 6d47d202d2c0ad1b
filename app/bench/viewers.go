package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"martelo/app/auction"
	"martelo/app/bench/house"
	"martelo/app/bench/load"
	"martelo/app/bench/report"
)

const (
	// tellFirst bounds how long all viewers may take to get their first state.
	tellFirst = time.Minute
	// agreeWithin bounds how long after the last bid all viewers may take to show the last price.
	agreeWithin = 10 * time.Second
	// viewersOver is how many more than asked for a node takes.
	viewersOver = 1000
)

// viewers has many watch while bids come in, and measures how long after a bid was sent each
// viewer is shown its price. That is the bid's own time and up to 150 ms in which a node gathers
// changes. At the end all must show the last price.
func (b *bench) viewers(ctx context.Context) error {
	most := strconv.Itoa(b.size.viewers + viewersOver)
	start := house.Start{Profiled: true, More: []string{"VIEWERS_MAX=" + most, "VIEWERS_PER_ADDRESS_MAX=" + most}}
	if err := b.start(ctx, start); err != nil {
		return err
	}
	if err := b.house.Settle(ctx, biddersFor(slices.Max(b.rates))); err != nil {
		return err
	}
	for _, rate := range b.rates {
		for _, watching := range []int{0, b.size.viewers} {
			if err := b.watched(ctx, rate, watching); err != nil {
				return err
			}
		}
	}
	return nil
}

// shown is a price of an auction.
type shown struct{ auction, cents int64 }

// viewer is one connection that listens.
type viewer struct {
	auction int64
	known   int64 // the price it shows in cents, or -1
	cut     bool
}

// audience is all viewers, and what they were shown.
type audience struct {
	engine  *load.Engine
	viewers []*viewer
	sentAt  map[shown]time.Duration
	late    *load.Times
	first   int // viewers that have a state
}

// heard is told what a viewer was sent: one or more events, of which the last is what it shows.
func (a *audience) heard(v *viewer, data []byte) {
	price := load.LastCents(data, `"currentPrice":"`)
	if price < 0 {
		return
	}
	if v.known < 0 {
		a.first++
	} else if sent, ok := a.sentAt[shown{v.auction, price}]; ok && price > v.known {
		a.late.Record(a.engine.Now() - sent)
	}
	v.known = max(v.known, price)
}

// watched measures one rate of bids with a number of viewers, on one auction or spread over
// several.
func (b *bench) watched(ctx context.Context, rate, watching int) error {
	ids, _, err := b.house.Open(ctx, b.auctions, house.Lots{Lane: auction.Standard, Ends: lotEnds})
	if err != nil {
		return err
	}
	c, err := newCrowd(ctx, b.house, ids, 0)
	if err != nil {
		return err
	}
	e, err := load.NewEngine()
	if err != nil {
		return err
	}
	defer e.Close()
	o := c.offer(rate, b.connections, b.warm, b.span)
	a := &audience{engine: e, late: load.NewTimes(), sentAt: make(map[shown]time.Duration, o.Requests())}
	o.Write = func(to []byte, i int) []byte {
		to = c.write(to, i)
		a.sentAt[shown{c.bids[i].Auction, c.bids[i].Amount}] = e.Now()
		return to
	}
	before := b.held(ctx)
	if err := b.seat(ctx, a, ids, watching); err != nil {
		return err
	}
	after := b.held(ctx)
	outcomes, figures, err := b.measuredOn(ctx, e, false, o)
	if err != nil {
		return err
	}
	row := report.Of(fmt.Sprintf("bids with %d viewers", watching), rate, outcomes[0][1])
	row.Figures = figures
	accepted, verdict, err := c.verify(ctx)
	row.Accepted, row.Verdict = float64(accepted)/o.Span().Seconds(), verdict
	b.report.Add(row)
	if watching == 0 || err != nil {
		return err
	}
	seen := report.Row{
		What: fmt.Sprintf("%d viewers shown a bid", watching), Offered: rate,
		Answered: float64(a.late.Count()) / o.Span().Seconds(), Figures: after.since(before, watching),
	}
	if len(ids) > 1 {
		seen.What = fmt.Sprintf("%d viewers of %d auctions shown a bid", watching, len(ids))
	}
	seen.Take(a.late)
	cut, err := a.agree(ctx, b.house, ids)
	seen.Figures["viewers cut"] = float64(cut)
	if err == nil {
		seen.Verdict = "all show the last price"
	}
	b.report.Add(seen)
	return err
}

// agree waits until all viewers show the last price of what they watch, and returns how many were
// cut before.
func (a *audience) agree(ctx context.Context, h *house.House, ids []int64) (cut int, err error) {
	last, err := h.Standings(ctx, ids)
	if err != nil {
		return 0, err
	}
	for deadline := a.engine.Now() + agreeWithin; ; {
		behind := 0
		cut = 0
		for _, v := range a.viewers {
			switch {
			case v.cut:
				cut++
			case v.known != last[v.auction].Price:
				behind++
			}
		}
		if behind == 0 && cut > 0 {
			return cut, fmt.Errorf("bench: %d viewers were cut", cut)
		}
		if behind == 0 {
			return 0, nil
		}
		if a.engine.Now() > deadline {
			return cut, fmt.Errorf("bench: %d viewers do not show the last price after %s", behind, agreeWithin)
		}
		if err := a.engine.Wait(a.engine.Now() + house.LookAgain); err != nil {
			return cut, err
		}
	}
}

// seat connects the viewers and waits until each has a state.
func (b *bench) seat(ctx context.Context, a *audience, ids []int64, watching int) error {
	targets := b.house.Targets()
	for i := range watching {
		v := &viewer{auction: ids[i%len(ids)], known: -1}
		request := "GET /auctions/" + strconv.FormatInt(v.auction, 10) +
			"/events HTTP/1.1\r\nHost: bench\r\nAccept: text/event-stream\r\n\r\n"
		err := a.engine.Listen(targets[i%len(targets)], []byte(request),
			func(data []byte) { a.heard(v, data) }, func() { v.cut = true })
		if err != nil {
			return err
		}
		a.viewers = append(a.viewers, v)
	}
	for deadline := a.engine.Now() + tellFirst; a.first < watching; {
		if err := errors.Join(ctx.Err(), a.engine.Wait(a.engine.Now()+house.LookAgain)); err != nil {
			return err
		}
		if a.engine.Now() > deadline {
			return fmt.Errorf("bench: %d of %d viewers have a state after %s", a.first, watching, tellFirst)
		}
	}
	return nil
}

// holding is what nodes hold: resident memory, and, where a node lets its garbage be collected
// first, heap and stacks in use.
type holding struct{ resident, memory, goroutines float64 }

func (b *bench) held(ctx context.Context) (h holding) {
	for _, n := range b.house.Nodes {
		h.resident += float64(n.Resident())
		collected := true
		for range 2 { // the second time takes what pools kept over the first
			collected = collected && n.Collect(ctx)
		}
		figures := n.Figures(ctx)
		if collected {
			h.memory += figures["go_memstats_heap_inuse_bytes"] + figures["go_memstats_stack_inuse_bytes"]
		}
		h.goroutines += figures["go_goroutines"]
	}
	return h
}

// since is what so many viewers cost.
func (h holding) since(before holding, viewers int) map[string]float64 {
	figures := map[string]float64{"nodes: resident bytes a viewer": (h.resident - before.resident) / float64(viewers)}
	if h.memory > 0 {
		figures["nodes: heap and stack bytes a viewer"] = (h.memory - before.memory) / float64(viewers)
		figures["nodes: goroutines more"] = h.goroutines - before.goroutines
	}
	return figures
}

package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"martelo/app/auction"
)

const (
	// bidsOfBidder is how many bids a second each bidder makes at most: well below the house's limit of five, so that bids that
	// waited and come in a bunch do not meet it.
	bidsOfBidder = 2
	// biddersMin is how many there are at least.
	biddersMin = 64
	// connectionsOr is how many connections bids come on unless told otherwise: a crowd's, each with one bid under way.
	connectionsOr = 256
	// manyConnections is the same for loads that a node may fall behind of.
	manyConnections = 512
	// fastRate is from where on a load gets manyConnections.
	fastRate = 5000
	// lagEvery is how often nodes are asked for the hot lane's lag.
	lagEvery = 200 * time.Millisecond
	// lotEnds is far behind the end of any run.
	lotEnds = 24 * time.Hour
)

// hot bids on one auction, a fresh one for each rate, and verifies its log.
func (b *bench) hot(ctx context.Context) error {
	if err := b.start(ctx); err != nil {
		return err
	}
	rates := b.ratesOr([]int{1000, 2000, 5000, 10000}, []int{1000, 2000, 5000, 10000, 20000})
	warm, span := otherwise(b.warm, 2*time.Second, 3*time.Second, b), otherwise(b.span, 6*time.Second, 30*time.Second, b)
	for i, rate := range rates {
		if err := b.town.settle(ctx, max(biddersMin, rate/bidsOfBidder)); err != nil {
			return err
		}
		ids, _, err := b.town.openLots(ctx, 1, lot{lane: b.lane, ends: lotEnds})
		if err != nil {
			return err
		}
		c := &crowd{town: b.town, auctions: ids, low: b.low, keys: newKeys()}
		o := c.offer(b.targets(), rate, warm, span, b.connections)
		behind := b.watchLag(ctx)
		row, err := b.measure(ctx, fmt.Sprintf("hot %s, %d node(s)", b.lane, len(b.nodes)), o, b.prof != "" && i == len(rates)-1)
		lag := behind()
		if err != nil {
			return err
		}
		if b.lane == string(auction.Hot) {
			row.Figures["seconds the log was behind, at most"] = lag
		}
		accepted, err := b.town.verifyAuction(ctx, ids[0], c.bids, c.keys)
		row.Accepted = float64(accepted) / (warm + span).Seconds()
		row.Verdict = fmt.Sprintf("%d bids in the log, none of %d acknowledged missing", accepted, c.acknowledged)
		if err != nil {
			row.Verdict = "NOT VERIFIED"
			return errors.Join(err, b.report.add(row))
		}
		if err := b.report.add(row); err != nil {
			return err
		}
	}
	return nil
}

// watchLag asks the nodes, until it is asked, how far the log is behind what the hot lane has accepted, and returns the most.
func (b *bench) watchLag(ctx context.Context) (most func() float64) {
	if b.lane != string(auction.Hot) {
		return func() float64 { return 0 }
	}
	ctx, stop := context.WithCancel(ctx)
	seen := make(chan float64, 1)
	go func() {
		most := 0.0
		for every := time.Tick(lagEvery); ; {
			select {
			case <-ctx.Done():
				seen <- most
				return
			case <-every:
			}
			for _, n := range b.nodes {
				most = max(most, n.figure(ctx, "martelo_hot_settle_lag_seconds"))
			}
		}
	}()
	return func() float64 { stop(); return <-seen }
}

// crowd makes bids: each a step above the one before it on its auction, by one bidder after the other.
type crowd struct {
	town         *town
	auctions     []int64
	low          int   // of a hundred
	above        int64 // cents: what the auctions have been bid up to before
	keys         keys
	bids         []sent
	acknowledged int
	heads        []string // of the requests to each auction
}

func (c *crowd) offer(targets []string, rate int, warm, span time.Duration, connections int) offer {
	if connections == 0 {
		connections = connectionsOr
		if rate >= fastRate {
			connections = manyConnections
		}
	}
	o := offer{targets: targets, rate: rate, warm: warm, span: span, connections: connections, write: c.write, read: c.read}
	c.bids = make([]sent, o.requests())
	for _, id := range c.auctions {
		c.heads = append(c.heads, "POST /auctions/"+strconv.FormatInt(id, 10)+"/bids HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer "+c.town.token+
			"\r\nContent-Type: application/json\r\n")
	}
	return o
}

// scatter spreads consecutive numbers: coprime to any round number of auctions or hundredths.
const scatter = 7919

// place is which of the auctions bid i is for.
func (c *crowd) place(i int) int { return i * scatter % len(c.auctions) }

func (c *crowd) auction(i int) int64 { return c.auctions[c.place(i)] }

// amount is a step above the last one, or, for the share that is to be too low, what was bid long ago.
func (c *crowd) amount(i int) int64 {
	round := i / len(c.auctions) // of bids on each auction
	if i*scatter%100 < c.low {
		return c.above + int64(round/2) + 1
	}
	return c.above + int64(round) + 1
}

func (c *crowd) write(to []byte, i int) []byte {
	c.bids[i].amount = c.amount(i)
	to = append(to, c.heads[c.place(i)]...)
	to = append(to, "Idempotency-Key: "...)
	to = appendKey(to, c.keys.of(i))
	to = append(to, "\r\nContent-Length: "...)
	var room [64]byte
	body := append(room[:0], `{"bidderId":`...)
	body = strconv.AppendInt(body, c.town.bidders[i%len(c.town.bidders)], 10)
	body = append(body, `,"amount":"`...)
	body = appendCents(body, c.bids[i].amount)
	body = append(body, `"}`...)
	to = strconv.AppendInt(to, int64(len(body)), 10)
	to = append(to, "\r\n\r\n"...)
	return append(to, body...)
}

func (c *crowd) read(i int, a answer) {
	if a.status == 201 {
		c.bids[i].seq = number(a.body, `"seq":`)
		c.acknowledged++
	}
}

func appendCents(to []byte, cents int64) []byte {
	to = strconv.AppendInt(to, cents/100, 10)
	return append(to, '.', byte('0'+cents/10%10), byte('0'+cents%10))
}

func appendKey(to []byte, key uuid.UUID) []byte {
	const digits = "0123456789abcdef"
	for i, b := range key {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			to = append(to, '-')
		}
		to = append(to, digits[b>>4], digits[b&15])
	}
	return to
}

// measure puts a load on the nodes and tells what it came to, with what the nodes and the database say of it.
func (b *bench) measure(ctx context.Context, what string, o offer, profiled bool) (Row, error) {
	e, err := newEngine()
	if err != nil {
		return Row{}, err
	}
	defer e.close()
	return b.measureOn(ctx, e, what, o, profiled)
}

func (b *bench) measureOn(ctx context.Context, e *engine, what string, o offer, profiled bool) (Row, error) {
	profile := make(chan error, 1)
	if profiled {
		go func() { profile <- b.nodes[0].profileFor(ctx, o.warm+o.span, b.prof) }()
	} else {
		profile <- nil
	}
	before := b.figures(ctx)
	begin := time.Now()
	out, err := e.run(ctx, o)
	if err := errors.Join(err, <-profile); err != nil {
		return Row{}, err
	}
	row := rowOf(what, o.rate, out)
	row.Figures = b.figures(ctx).since(before, time.Since(begin))
	row.Figures["generator cores"] = out.own.Seconds() / time.Since(begin).Seconds()
	return row, nil
}

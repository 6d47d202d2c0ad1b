package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"martelo/app/auction"
	"martelo/app/bench/house"
	"martelo/app/bench/load"
)

const (
	// bidsOfBidder is how many bids a second each bidder makes at most: well below the house's
	// limit of five, so that bids that waited and come in a bunch do not meet it.
	bidsOfBidder = 2
	// biddersMin is how many there are at least.
	biddersMin = 64
	// connectionsOr is how many connections bids come on unless told otherwise: a crowd's, each
	// with one bid under way.
	connectionsOr = 256
	// manyConnections is the same for loads that a node may fall behind of.
	manyConnections = 512
	// fastRate is from where on a load gets manyConnections.
	fastRate = 5000
	// lotEnds is far behind the end of any run.
	lotEnds = 24 * time.Hour
	// hotLogWithin is how long after the last answer the hot lane's log must be whole: the house
	// promises two seconds, and this program may have to wait for the processor too.
	hotLogWithin = 5 * time.Second
	// loadsApart is by how many cents the bids of one load lie above those of the one before it on
	// the same auctions; no load bids as often on one auction.
	loadsApart = 1_000_000
)

// biddersFor is how many bidders it takes to make so many bids a second.
func biddersFor(rate int) int { return max(biddersMin, rate/bidsOfBidder) }

// crowd makes bids: each a step above the one before it on its auction, by one bidder after the
// other. It remembers what each was told.
type crowd struct {
	house        *house.House
	auctions     []int64
	lane         auction.Lane
	low          int   // of a hundred are too low on purpose
	above        int64 // cents: what the auctions have been bid up to before
	before       map[int64]house.Standing
	keys         house.Keys
	bids         []house.Sent
	acknowledged int
	heads        []string // of the requests to each auction
}

// newCrowd makes a crowd for some auctions of the standard lane that stand as they do now.
func newCrowd(ctx context.Context, h *house.House, auctions []int64, above int64) (*crowd, error) {
	before, err := h.Standings(ctx, auctions)
	return &crowd{house: h, auctions: auctions, above: above, before: before, keys: house.NewKeys()}, err
}

// offer is the crowd's load on the nodes. The first of the phases warms up.
func (c *crowd) offer(rate, connections int, phases ...time.Duration) load.Offer {
	if connections == 0 {
		connections = connectionsOr
		if rate >= fastRate {
			connections = manyConnections
		}
	}
	o := load.Offer{
		Targets: c.house.Targets(), Rate: rate, Phases: phases, Connections: connections, Write: c.write, Read: c.read,
	}
	c.bids = make([]house.Sent, o.Requests())
	for _, id := range c.auctions {
		c.heads = append(c.heads, "POST /auctions/"+strconv.FormatInt(id, 10)+"/bids HTTP/1.1\r\nHost: bench\r\n"+
			"Authorization: Bearer "+c.house.Token+"\r\nContent-Type: application/json\r\n")
	}
	return o
}

// scatter spreads consecutive numbers: coprime to any round number of auctions or hundredths.
const scatter = 7919

// place is which of the auctions bid i is for.
func (c *crowd) place(i int) int { return i * scatter % len(c.auctions) }

func (c *crowd) auction(i int) int64 { return c.auctions[c.place(i)] }

// amount is a step above the last one, or, for the share that is to be too low, what was bid long
// ago.
func (c *crowd) amount(i int) int64 {
	round := i / len(c.auctions) // of bids on each auction
	if i*scatter%100 < c.low {
		return c.above + int64(round/2) + 1
	}
	return c.above + int64(round) + 1
}

func (c *crowd) write(to []byte, i int) []byte {
	c.bids[i].Auction, c.bids[i].Amount = c.auction(i), c.amount(i)
	to = append(to, c.heads[c.place(i)]...)
	to = append(to, "Idempotency-Key: "...)
	to = appendKey(to, c.keys.Of(i))
	to = append(to, "\r\nContent-Length: "...)
	var room [64]byte
	body := append(room[:0], `{"bidderId":`...)
	body = strconv.AppendInt(body, c.house.Bidders[i%len(c.house.Bidders)], 10)
	body = append(body, `,"amount":"`...)
	body = appendCents(body, c.bids[i].Amount)
	body = append(body, `"}`...)
	to = strconv.AppendInt(to, int64(len(body)), 10)
	to = append(to, "\r\n\r\n"...)
	return append(to, body...)
}

// read remembers a bid that was accepted, now or when it was first sent.
func (c *crowd) read(i int, a load.Answer) {
	if a.Status == http.StatusCreated || a.Status == http.StatusOK {
		c.bids[i].Seq = load.Number(a.Body, `"seq":`)
		c.acknowledged++
	}
}

// verify compares the logs with what the crowd was told, and says what came of it.
func (c *crowd) verify(ctx context.Context) (accepted int, verdict string, err error) {
	while := time.Duration(0)
	if c.lane == auction.Hot {
		while = hotLogWithin
	}
	accepted, err = c.house.Verify(ctx, c.before, c.bids, c.keys, while)
	if err != nil {
		return accepted, "NOT VERIFIED", err
	}
	return accepted, fmt.Sprintf("%d bids in the log, none of %d acknowledged missing", accepted, c.acknowledged), nil
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

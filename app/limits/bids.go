package limits

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"martelo/app/loop"
)

// The contract's limit for one bidder in the whole house.
const (
	differentBidsMax = 5
	bidRequestsMax   = 50 // copies of bids included
	bidSpan          = time.Second
)

const (
	// questionsMax is how many bids ask in one go; Redis answers that many in a few milliseconds.
	questionsMax = 256
	// waitingMax is how many bids may wait to ask: some tenth of a second's work. The node counts
	// the others by itself, as it does while Redis is away.
	waitingMax = 16384
)

// bidderPrefix begins the keys of all bidders. They share a hash tag, so that one script may ask
// about many on a cluster too; its one shard answers a hundred thousand a second.
const bidderPrefix = "bidder:{recent}:"

//go:embed bids.lua
var bidsText string

var bidsScript = redis.NewScript(bidsText)

// question is a bid that waits to hear whether it is one too many.
type question struct {
	key, bid string
	answer   chan time.Duration
}

// Bid counts a request to bid and returns 0, or, when it is one too many, how long to wait before
// it is sent again; then it is not counted. Copies of one bid (the same key in the same auction)
// count once among the different bids.
func (l *Limits) Bid(ctx context.Context, bidderID, auctionID int64, key uuid.UUID) time.Duration {
	q := &question{
		key:    bidderPrefix + l.house.ID() + ":" + strconv.FormatInt(bidderID, 10),
		bid:    strconv.FormatInt(auctionID, 10) + ":" + key.String(),
		answer: make(chan time.Duration, 1),
	}
	if l.breaker.open() {
		// Whoever tries whether Redis is back tries alone: nobody is to wait behind it.
		l.askAbout(ctx, []*question{q})
	} else if start, err := l.questions.Add(struct{}{}, q); err != nil {
		return l.local.bid(q.key, q.bid, time.Now())
	} else if start {
		go l.askAll()
	}
	return <-q.answer
}

func (l *Limits) askAll() {
	for some := l.questions.Take(); some != nil; some = l.questions.Take() {
		l.askAbout(context.Background(), some)
	}
}

// askAbout asks Redis in one round trip and answers everybody. Without an answer from Redis this
// node counts by itself.
func (l *Limits) askAbout(ctx context.Context, some []*question) {
	keys, arguments := make([]string, len(some)), make([]any, 3, 3+len(some))
	arguments[0], arguments[1], arguments[2] = differentBidsMax, bidRequestsMax, bidSpan.Microseconds()
	for i, q := range some {
		keys[i] = q.key
		arguments = append(arguments, q.bid)
	}
	var waits []int64
	answered := l.ask(ctx, func(ctx context.Context) error {
		return loop.Safely(func() (err error) { // whatever happens, somebody waits for each answer
			if waits, err = bidsScript.Run(ctx, l.client, keys, arguments...).Int64Slice(); err == nil &&
				len(waits) != len(some) {
				err = fmt.Errorf("limits: %d answers to %d questions", len(waits), len(some))
			}
			return err
		})
	})
	for i, q := range some {
		if answered {
			q.answer <- time.Duration(waits[i]) * time.Microsecond
		} else {
			q.answer <- l.local.bid(q.key, q.bid, time.Now())
		}
	}
}

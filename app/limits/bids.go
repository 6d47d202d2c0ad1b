package limits

import (
	"context"
	_ "embed"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// The contract's limit for one bidder in the whole house.
const (
	differentBidsMax = 5
	bidRequestsMax   = 50 // copies of bids included
	bidSpan          = time.Second
)

//go:embed bids.lua
var bidsText string

var bidsScript = redis.NewScript(bidsText)

// Bid counts a request to bid and returns 0, or, when it is one too many, how long to wait before it is sent again; then it is not
// counted. Copies of one bid (the same key in the same auction) count once among the different bids.
func (l *Limits) Bid(ctx context.Context, bidderID, auctionID int64, key uuid.UUID) time.Duration {
	tag := "bidder:{" + strconv.FormatInt(bidderID, 10) + "}:"
	bid := strconv.FormatInt(auctionID, 10) + ":" + key.String()
	var wait int64
	answered := l.ask(ctx, func(ctx context.Context) (err error) {
		wait, err = bidsScript.Run(ctx, l.client, []string{tag + "bids", tag + "requests"},
			bid, differentBidsMax, bidRequestsMax, bidSpan.Microseconds()).Int64()
		return err
	})
	if !answered {
		return 0
	}
	return time.Duration(wait) * time.Microsecond
}

package limits

import (
	"context"
	"strconv"
	"time"

	"github.com/go-redis/redis_rate/v10"
)

// movesOfAuction is how often a seller moves an auction between the lanes: each move stops its bids
// for a moment and wakes all who watch. A program that moves an auction to and fro has some tries,
// and then one a second.
var movesOfAuction = redis_rate.Limit{Rate: 60, Burst: 60, Period: time.Minute}

// Move counts a move of an auction by its seller, and returns 0 or how long to wait before the
// next.
func (l *Limits) Move(ctx context.Context, auctionID int64) time.Duration {
	return l.rate(ctx, l.key("move", strconv.FormatInt(auctionID, 10)), movesOfAuction)
}

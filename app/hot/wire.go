package hot

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"martelo/app/auction"
	"martelo/app/money"
)

// errGarbled says that Redis holds what no script of ours writes.
var errGarbled = errors.New("hot: Redis holds something that makes no sense")

// amountText is how an amount stands in Redis: seventeen digits, so that texts compare as the
// amounts do, also those above 2^53 that a Lua number would round. The largest amount and one
// increment have sixteen digits and a carry.
func amountText(a money.Amount) string { return fmt.Sprintf("%017d", a.Minor()) }

// bidText is how an accepted bid stands in Redis, without its key. The script writes the same.
func bidText(b auction.Bid) string {
	return fmt.Sprintf(
		"%d:%s:%d:%d:%d:%d", b.BidderID, amountText(b.Amount), b.Seq, b.Paddle, b.AcceptedAt.UnixMicro(), b.ID,
	)
}

// readBid reads bidText, with the bid's key after it if there is one.
func readBid(text string, t *terms) (auction.Bid, error) {
	parts := strings.Split(text, ":")
	if len(parts) < 6 {
		return auction.Bid{}, fmt.Errorf("%w: bid %q", errGarbled, text)
	}
	var n [6]int64
	for i := range n {
		var err error
		if n[i], err = strconv.ParseInt(parts[i], 10, 64); err != nil {
			return auction.Bid{}, fmt.Errorf("%w: bid %q", errGarbled, text)
		}
	}
	if n[0] <= 0 || n[1] <= 0 || n[2] <= 0 || n[3] <= 0 || n[4] <= 0 {
		return auction.Bid{}, fmt.Errorf("%w: bid %q", errGarbled, text)
	}
	bid := auction.Bid{
		ID: n[5], AuctionID: t.ID, Seq: n[2], BidderID: n[0], Paddle: int(n[3]),
		Amount: money.FromMinor(n[1], t.Currency), AcceptedAt: moment(n[4]),
	}
	if len(parts) > 6 {
		key, err := uuid.Parse(parts[6])
		if err != nil {
			return bid, fmt.Errorf("%w: bid %q", errGarbled, text)
		}
		bid.Key = key
	}
	return bid, nil
}

func readBids(texts []any, t *terms) ([]auction.Bid, error) {
	bids := make([]auction.Bid, len(texts))
	for i, text := range texts {
		var err error
		if bids[i], err = readBid(fmt.Sprint(text), t); err != nil {
			return nil, err
		}
	}
	return bids, nil
}

// stateFields are what the scripts keep of a state.
func stateFields(s auction.State, epoch int64) []any {
	return []any{
		"epoch", epoch, "status", "OPEN", "fresh", 1, "seller", s.SellerID, "start", s.StartAt.UnixMicro(), "end",
		s.EndAt.UnixMicro(),
		"window", s.SoftClose.Window.Microseconds(), "extend", s.SoftClose.Extend.Microseconds(),
		"price", amountText(s.CurrentPrice), "minimum", amountText(s.MinimumBid()), "leader", s.LeaderID, "paddle",
		s.LeaderPaddle,
		"seq", s.BidCount, "bidders", s.BidderCount, "version", s.Version,
	}
}

// movingFields are the fields of a state that bids move, in the order in which readState takes
// them.
var movingFields = []string{"end", "price", "leader", "paddle", "seq", "bidders", "version"}

// readState puts what bids have moved into the auction's terms.
func readState(values []any, t *terms) (auction.State, error) {
	s := t.State
	if len(values) != len(movingFields) {
		return s, fmt.Errorf("%w: state %v", errGarbled, values)
	}
	var n [7]int64
	for i, value := range values {
		var err error
		if n[i], err = strconv.ParseInt(fmt.Sprint(value), 10, 64); err != nil {
			return s, fmt.Errorf("%w: %s %v", errGarbled, movingFields[i], value)
		}
	}
	s.EndAt, s.CurrentPrice = moment(n[0]), money.FromMinor(n[1], s.Currency)
	s.LeaderID, s.LeaderPaddle, s.BidCount, s.BidderCount, s.Version = n[2], int(n[3]), n[4], int(n[5]), n[6]
	if err := s.Plausible(); err != nil {
		return s, fmt.Errorf("%w: %w", errGarbled, err)
	}
	return s, nil
}

// entry is one accepted bid in an auction's stream, with what the script made of the auction by it.
type entry struct {
	bid     auction.Bid
	endAt   time.Time
	version int64
}

func readEntries(messages []redis.XMessage, t *terms) ([]entry, error) {
	entries := make([]entry, len(messages))
	for i, m := range messages {
		bid, err := readBid(fmt.Sprint(m.Values["bid"], ":", m.Values["request"]), t)
		if err != nil {
			return nil, err
		}
		end, endErr := strconv.ParseInt(fmt.Sprint(m.Values["end"]), 10, 64)
		version, versionErr := strconv.ParseInt(fmt.Sprint(m.Values["version"]), 10, 64)
		if err := errors.Join(endErr, versionErr); err != nil {
			return nil, fmt.Errorf("%w: entry %s: %w", errGarbled, m.ID, err)
		}
		entries[i] = entry{bid: bid, endAt: moment(end), version: version}
	}
	return entries, nil
}

func moment(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

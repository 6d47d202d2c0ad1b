package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"martelo/app/auction"
	"martelo/app/money"
)

// The names of all channels that the live side uses in Redis.
const (
	auctionChannel = "auction:" // and the auction's id: each change of that auction
	nodeChannel    = "node:"    // and a node's random name: its own probes
)

func channelOf(id int64) string { return auctionChannel + strconv.FormatInt(id, 10) }

// auctionOf reads the auction's id from a channel's name.
func auctionOf(channel string) (int64, bool) {
	text, found := strings.CutPrefix(channel, auctionChannel)
	if !found {
		return 0, false
	}
	id, err := strconv.ParseInt(text, 10, 64)
	return id, err == nil
}

// wireState is an update as it travels between nodes: whole, in minor units, without the keys bids
// were sent with, which are their senders' business. Times are microseconds since 1970,
// PostgreSQL's precision; 0 is none. Nodes of two releases run side by side during a deploy, so
// fields may be added but never change their meaning.
//
// The house's id stands in the message and not in the channel's name, which the contract gives:
// several houses may share a Redis, whose channels have no name space.
type wireState struct {
	House         string    `json:"house"`
	ID            int64     `json:"id"`
	Version       int64     `json:"version"`
	SellerID      int64     `json:"seller"`
	Currency      string    `json:"currency"`
	Digits        *int      `json:"digits,omitempty"` // of the currency, as stored; older nodes do not say
	StartPrice    int64     `json:"start"`
	MinIncrement  int64     `json:"increment"`
	CurrentPrice  int64     `json:"price"`
	LeaderID      int64     `json:"leader,omitempty"`
	LeaderPaddle  int       `json:"paddle,omitempty"`
	BidCount      int64     `json:"bids,omitempty"`
	BidderCount   int       `json:"bidders,omitempty"`
	Status        string    `json:"status"`
	Lane          string    `json:"lane"`
	Window        int64     `json:"windowSeconds,omitempty"`
	Extend        int64     `json:"extendSeconds,omitempty"`
	StartAt       int64     `json:"startAt"`
	EndAt         int64     `json:"endAt"`
	OriginalEndAt int64     `json:"originalEndAt"`
	ClosedAt      int64     `json:"closedAt,omitempty"`
	Recent        []wireBid `json:"recent,omitempty"`
}

type wireBid struct {
	ID         int64 `json:"id"`
	Seq        int64 `json:"seq"`
	BidderID   int64 `json:"bidder"`
	Paddle     int   `json:"paddle"`
	Amount     int64 `json:"amount"`
	AcceptedAt int64 `json:"at"`
}

func encodeWire(house string, u *auction.Update) ([]byte, error) {
	s := &u.State
	digits := s.Currency.Digits()
	w := wireState{
		House: house, ID: s.ID, Version: s.Version, SellerID: s.SellerID, Currency: s.Currency.Code(), Digits: &digits,
		StartPrice: s.StartPrice.Minor(), MinIncrement: s.MinIncrement.Minor(), CurrentPrice: s.CurrentPrice.Minor(),
		LeaderID: s.LeaderID, LeaderPaddle: s.LeaderPaddle, BidCount: s.BidCount, BidderCount: s.BidderCount,
		Status: string(s.Status), Lane: string(s.Lane),
		Window: int64(s.SoftClose.Window / time.Second), Extend: int64(s.SoftClose.Extend / time.Second),
		StartAt: micros(s.StartAt), EndAt: micros(s.EndAt), OriginalEndAt: micros(s.OriginalEndAt),
		ClosedAt: micros(s.ClosedAt),
		Recent:   make([]wireBid, len(u.Recent)),
	}
	for i, b := range u.Recent {
		w.Recent[i] = wireBid{
			ID: b.ID, Seq: b.Seq, BidderID: b.BidderID, Paddle: b.Paddle, Amount: b.Amount.Minor(),
			AcceptedAt: micros(b.AcceptedAt),
		}
	}
	return json.Marshal(w)
}

// errForeign says that a message is about another house's auction of the same number.
var errForeign = errors.New("live: message of another house")

// decodeWire reads a message that came on the channel of the auction id. What is not this house's
// is refused with errForeign, and so is what no auction can have come to: anything may be published
// on a channel.
func decodeWire(house string, id int64, message string) (*auction.Update, error) {
	var w wireState
	if err := json.Unmarshal([]byte(message), &w); err != nil {
		return nil, fmt.Errorf("live: message about auction %d: %w", id, err)
	}
	if w.House != house {
		return nil, errForeign
	}
	c, err := w.currency()
	if err != nil || w.ID != id || w.BidCount >= w.Version || len(w.Recent) > auction.RecentMax ||
		w.secondsMax() > secondsMax {
		return nil, fmt.Errorf("live: message about auction %d makes no sense", id)
	}
	u := &auction.Update{
		State: auction.State{
			ID: w.ID, Version: w.Version, SellerID: w.SellerID, Currency: c,
			StartPrice: money.FromMinor(w.StartPrice, c), MinIncrement: money.FromMinor(w.MinIncrement, c),
			CurrentPrice: money.FromMinor(w.CurrentPrice, c),
			LeaderID:     w.LeaderID, LeaderPaddle: w.LeaderPaddle, BidCount: w.BidCount, BidderCount: w.BidderCount,
			Status: auction.Status(w.Status), Lane: auction.Lane(w.Lane),
			SoftClose: auction.SoftClose{
				Window: time.Duration(w.Window) * time.Second, Extend: time.Duration(w.Extend) * time.Second,
			},
			StartAt: moment(w.StartAt), EndAt: moment(w.EndAt), OriginalEndAt: moment(w.OriginalEndAt),
			ClosedAt: moment(w.ClosedAt),
		},
		Recent: make([]auction.Bid, len(w.Recent)),
	}
	for i, b := range w.Recent {
		u.Recent[i] = auction.Bid{
			ID: b.ID, AuctionID: id, Seq: b.Seq, BidderID: b.BidderID, Paddle: b.Paddle,
			Amount: money.FromMinor(b.Amount, c), AcceptedAt: moment(b.AcceptedAt),
		}
	}
	if err := errors.Join(u.State.Plausible(), u.State.PlausibleBids(u.Recent)); err != nil {
		return nil, fmt.Errorf("live: message about auction %d: %w", id, err)
	}
	return u, nil
}

// secondsMax is a soft close in seconds that a duration can still hold; the rulebook's bound is far
// lower.
const secondsMax = 1 << 30

func (w *wireState) secondsMax() int64 { return max(w.Window, -w.Window, w.Extend, -w.Extend) }

// currency is what the sender's row says; the list of currencies is only asked when it does not
// say.
func (w wireState) currency() (money.Currency, error) {
	if w.Digits == nil || *w.Digits < 0 || *w.Digits > digitsMax || !codeForm.MatchString(w.Currency) {
		return money.ParseCurrency(w.Currency)
	}
	return money.StoredCurrency(w.Currency, *w.Digits), nil
}

// digitsMax is what the table of auctions takes as a currency's decimals.
const digitsMax = 4

// codeForm is what the table of auctions takes as a currency's code.
var codeForm = regexp.MustCompile(`^[A-Z]{3}$`)

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func moment(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// Package auction is the rulebook of the house: what an auction is, when a bid is taken, what it
// changes, and how an auction ends.
//
// Everything here is a pure function of (state, input, now). The clock is always handed in, and it
// is always the deciding store's (PostgreSQL's clock_timestamp() read under the row lock); nothing
// here reads a database, a network or a clock. Lanes, pages, API, stream and closer ask this
// package and decide nothing themselves.
package auction

import (
	"time"

	"github.com/google/uuid"

	"martelo/app/money"
)

// Status is where an auction stands. It only moves forward: SCHEDULED, OPEN, then CLOSED or
// CANCELLED for ever.
type Status string

// The statuses, as the contract spells them.
const (
	Scheduled Status = "SCHEDULED"
	Open      Status = "OPEN"
	Closed    Status = "CLOSED"
	Cancelled Status = "CANCELLED"
)

// Over tells whether the auction has ended and never changes again.
func (s Status) Over() bool { return s == Closed || s == Cancelled }

// Lane is where an auction's bids are decided.
type Lane string

// The lanes: Standard is decided in PostgreSQL; Hot is decided in Redis.
const (
	Standard Lane = "standard"
	Hot      Lane = "hot"
)

// SoftClose moves the end when a bid comes late: a bid accepted within Window of the end sets it to
// that moment + Extend. The zero value turns it off.
type SoftClose struct {
	Window time.Duration
	Extend time.Duration
}

// State is the public state of one auction: all that a decision needs, and all that anybody may
// see. All times are UTC.
type State struct {
	ID           int64
	SellerID     int64
	Currency     money.Currency
	StartPrice   money.Amount
	MinIncrement money.Amount
	CurrentPrice money.Amount // the start price until the first bid
	LeaderID     int64        // 0 until the first bid
	LeaderPaddle int          // the leader's number in this auction, 0 until the first bid
	BidCount     int64        // also the sequence number of the newest bid
	BidderCount  int          // also the highest paddle number given
	Status       Status
	Lane         Lane
	SoftClose    SoftClose
	StartAt      time.Time
	EndAt        time.Time
	// OriginalEndAt is the end the seller set; EndAt is later once a bid has extended it.
	OriginalEndAt time.Time
	ClosedAt      time.Time // zero until CLOSED or CANCELLED
	Version       int64     // rises with every visible change, orders states
}

// MinimumBid is the least amount the next bid must have.
func (s State) MinimumBid() money.Amount { return s.CurrentPrice.Add(s.MinIncrement) }

// Result is how an auction ended.
type Result struct {
	WinnerID     int64 // 0: nobody
	WinnerPaddle int
	HammerPrice  money.Amount // meaningful with a winner only
}

// Result says who won and for how much: the leader at the current price, and nobody when there was
// no bid or the auction was cancelled. It is asked of auctions that are over; before that it names
// nobody.
func (s State) Result() Result {
	if s.Status != Closed || s.LeaderID == 0 {
		return Result{}
	}
	return Result{WinnerID: s.LeaderID, WinnerPaddle: s.LeaderPaddle, HammerPrice: s.CurrentPrice}
}

// Bid is an accepted bid, as it stands in the log for ever.
type Bid struct {
	ID         int64 // given by the log; 0 before it is written
	AuctionID  int64
	Seq        int64 // 1, 2, 3 … within the auction
	BidderID   int64
	Paddle     int // the bidder's number in this auction: 1 for its first bidder, and so on
	Amount     money.Amount
	Key        uuid.UUID // the Idempotency-Key it was sent with
	AcceptedAt time.Time
}

package auction

import (
	"errors"
	"fmt"
	"time"

	"martelo/app/money"
	"martelo/app/refusal"
)

// Refusals that need no figures.
var (
	ErrNotFound   = errors.New("auction: no such auction")
	ErrForbidden  = errors.New("auction: not yours to do")
	ErrOwnAuction = errors.New("auction: a seller does not bid on an own auction")
	ErrCancelled  = errors.New("auction: cancelled")
	ErrHasBids    = errors.New("auction: has bids, so its seller can no longer cancel it")
	ErrKeyReused  = errors.New("auction: idempotency key used before with another bidder or amount")
)

// ErrUnavailable says that the deciding store cannot be reached, or went away before it answered:
// what was asked may or may not have been done, and sending the same key again tells.
var ErrUnavailable = errors.New("auction: the deciding store cannot be reached")

// TooLowError refuses a bid below the minimum, with the figures the bidder needs for the next try.
type TooLowError struct {
	CurrentPrice money.Amount
	MinimumBid   money.Amount
	EndAt        time.Time
	DecidedAt    time.Time // by the clock that decided
}

func (e *TooLowError) Error() string {
	return fmt.Sprintf("auction: bid below the minimum of %s", e.MinimumBid)
}

// UnconfirmedError holds a valid bid back until its bidder has answered the questions that it
// raises. Nothing is recorded.
type UnconfirmedError struct {
	Questions
	Amount       money.Amount
	CurrentPrice money.Amount
	MinimumBid   money.Amount
}

func (e *UnconfirmedError) Error() string {
	return "auction: bid of " + e.Amount.String() + " to be confirmed"
}

// ClosedError refuses what comes at or after the end, and tells by which clock: whoever thought
// there were ten seconds left can see it.
type ClosedError struct{ EndAt, DecidedAt time.Time }

func (e *ClosedError) Error() string { return "auction: closed" }

// NotStartedError refuses a bid before the start.
type NotStartedError struct{ StartAt time.Time }

func (e *NotStartedError) Error() string { return "auction: not started" }

// IsRefusal tells whether an error is an answer of the rulebook to whoever asked, and not a fault
// on the way.
func IsRefusal(err error) bool {
	for _, plain := range []error{ErrNotFound, ErrForbidden, ErrOwnAuction, ErrCancelled, ErrHasBids, ErrKeyReused} {
		if errors.Is(err, plain) {
			return true
		}
	}
	var (
		tooLow      *TooLowError
		unconfirmed *UnconfirmedError
		closed      *ClosedError
		notStarted  *NotStartedError
		field       *refusal.FieldError
		fields      refusal.FieldErrors
	)
	return errors.As(err, &tooLow) || errors.As(err, &unconfirmed) || errors.As(err, &closed) ||
		errors.As(err, &notStarted) || errors.As(err, &field) || errors.As(err, &fields)
}

package auction

import (
	"time"

	"github.com/google/uuid"

	"martelo/app/money"
	"martelo/app/refusal"
)

// Request is a bid somebody asks for. The amount is still a bare number: it is read in the currency
// of the auction it is for.
type Request struct {
	AuctionID int64
	BidderID  int64
	Amount    money.Decimal
	Key       uuid.UUID
	// Ask is what the bidder is to be asked before the bid is taken. Programs do as they are told
	// and are asked nothing.
	Ask Questions
}

// Questions are second thoughts about a valid bid, asked of people.
type Questions struct {
	// OwnLead: the bidder leads already, and the bid only raises what the bidder pays.
	OwnLead bool
	// FarAbove: the bid is more than FarAboveTimes the minimum bid, which may be a slip of the
	// hand.
	FarAbove bool
}

// FarAboveTimes is how many times the minimum bid an amount may be before its bidder is asked. One
// digit too many, or one digit typed into an amount that stood there, makes about ten times of it;
// who really wants to leap is asked once.
const FarAboveTimes = 5

// FarAboveUpTo is the highest minimum bid that an amount is far above: amount > FarAboveTimes *
// minimum, for whole numbers, is minimum <= (amount - 1) / FarAboveTimes.
func FarAboveUpTo(amount money.Amount) money.Amount {
	return money.FromMinor((amount.Minor()-1)/FarAboveTimes, amount.Currency())
}

// questions are those of the asked ones that a valid bid raises in this state.
func (s State) questions(r Request, amount money.Amount) Questions {
	return Questions{
		OwnLead:  r.Ask.OwnLead && r.BidderID == s.LeaderID,
		FarAbove: r.Ask.FarAbove && !FarAboveUpTo(amount).Less(s.MinimumBid()),
	}
}

// Decide takes or refuses one bid at the moment now. An accepted bid comes back with the state it
// leads to: price, leader, count, version and, inside the soft close, the end, in one step. The
// paddle is the bidder's number if it is known (0: a first bid). Refusals: ErrOwnAuction,
// ErrCancelled, *ClosedError, *NotStartedError, *refusal.FieldError for an amount the currency
// cannot express, *TooLowError, *UnconfirmedError for a valid bid that raises a question its bidder
// has not answered.
func (s State) Decide(r Request, paddle int, now time.Time) (State, Bid, error) {
	amount, err := s.amount(r)
	if err != nil {
		return s, Bid{}, err
	}
	switch {
	case r.BidderID == s.SellerID:
		return s, Bid{}, ErrOwnAuction
	case s.Status == Cancelled:
		return s, Bid{}, ErrCancelled
	case s.Status == Closed || !now.Before(s.EndAt):
		return s, Bid{}, &ClosedError{EndAt: s.EndAt, DecidedAt: now}
	case now.Before(s.StartAt):
		return s, Bid{}, &NotStartedError{StartAt: s.StartAt}
	case amount.Less(s.MinimumBid()):
		return s, Bid{}, &TooLowError{
			CurrentPrice: s.CurrentPrice, MinimumBid: s.MinimumBid(), EndAt: s.EndAt, DecidedAt: now,
		}
	}
	if open := s.questions(r, amount); open != (Questions{}) {
		return s, Bid{}, &UnconfirmedError{
			Questions: open, Amount: amount, CurrentPrice: s.CurrentPrice, MinimumBid: s.MinimumBid(),
		}
	}
	if paddle == 0 {
		s.BidderCount++
		paddle = s.BidderCount
	}
	s.Status = Open
	s.CurrentPrice = amount
	s.LeaderID, s.LeaderPaddle = r.BidderID, paddle
	s.BidCount++
	s.EndAt = s.endAfterBid(now)
	s.Version++
	return s, Bid{
		AuctionID: s.ID, Seq: s.BidCount, BidderID: r.BidderID, Paddle: paddle,
		Amount: amount, Key: r.Key, AcceptedAt: now,
	}, nil
}

func (s State) amount(r Request) (money.Amount, error) {
	amount, err := r.Amount.In(s.Currency)
	if err != nil {
		return amount, refusal.Of("amount", refusal.Amount(err, s.Currency))
	}
	return amount, nil
}

// endAfterBid is the soft close: where a bid accepted at now puts the end. It is never earlier than
// it was.
func (s State) endAfterBid(now time.Time) time.Time {
	if s.SoftClose.Window > 0 && s.EndAt.Sub(now) <= s.SoftClose.Window {
		if extended := now.Add(s.SoftClose.Extend); extended.After(s.EndAt) {
			return extended
		}
	}
	return s.EndAt
}

// Answer is what one request gets: a bid that was accepted now, a bid that its key was accepted
// with before (Replayed), or a refusal.
type Answer struct {
	Bid      Bid
	Replayed bool
	Refusal  error
}

// Memory is what the log knows of earlier requests: bids by key, and the paddle numbers of
// returning bidders.
type Memory struct {
	ByKey   map[uuid.UUID]Bid
	Paddles map[int64]int
}

// Fold decides requests one after the other, as if each had come alone at the moment now, and
// returns the state after the last, the bids to append in order, and an answer for each request. A
// key met before gets its first bid again, or ErrKeyReused if it came with another bidder or
// amount; that goes before every other rule, so a retry gets its bid also after the close. It is a
// fold and not a running maximum: a refused bid does not raise the bar. Memory is extended with
// what was accepted.
func (s State) Fold(requests []Request, memory Memory, now time.Time) (State, []Bid, []Answer) {
	var accepted []Bid
	answers := make([]Answer, len(requests))
	for i, r := range requests {
		if earlier, ok := memory.ByKey[r.Key]; ok {
			answers[i] = s.again(r, earlier)
			continue
		}
		next, bid, refusal := s.Decide(r, memory.Paddles[r.BidderID], now)
		if refusal != nil {
			answers[i] = Answer{Refusal: refusal}
			continue
		}
		s = next
		accepted = append(accepted, bid)
		memory.ByKey[r.Key] = bid
		memory.Paddles[r.BidderID] = bid.Paddle
		answers[i] = Answer{Bid: bid}
	}
	return s, accepted, answers
}

func (s State) again(r Request, earlier Bid) Answer {
	amount, err := s.amount(r)
	if err != nil || r.BidderID != earlier.BidderID || !amount.Equal(earlier.Amount) {
		return Answer{Refusal: ErrKeyReused}
	}
	return Answer{Bid: earlier, Replayed: true}
}

// Extended tells whether bids have moved the end from where the seller set it.
func (s State) Extended() bool { return s.EndAt.After(s.OriginalEndAt) }

package auction

import (
	"errors"
	"fmt"
	"time"
)

const (
	// versionMax is far above what any auction reaches, at a million changes a second for a month,
	// and far below where counting ends.
	versionMax = 1 << 42
	// amountMax is where the amounts of the house end, in minor units: twelve digits before the
	// point and four after it.
	amountMax = 1e16
)

// latestTime is where the times of JSON end (RFC 3339 has years of four digits).
var latestTime = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)

// Plausible returns nil if an auction can be in this state by the rules, whatever its history. It
// is asked of what came from elsewhere than PostgreSQL, whose constraints say the same.
func (s State) Plausible() error {
	start, step, price := s.StartPrice.Minor(), s.MinIncrement.Minor(), s.CurrentPrice.Minor()
	for _, rule := range []struct {
		holds bool
		what  string
	}{
		{s.ID > 0 && s.SellerID > 0, "ids"},
		{s.Version > 0 && s.Version <= versionMax, "version"},
		{start >= 0 && start < amountMax && step > 0 && step < amountMax, "terms"},
		{price >= start && price < amountMax, "price"},
		{s.BidCount >= 0, "number of bids"},
		{s.BidCount == 0 && price == start || s.BidCount > 0 && price-start >= step, "price after its bids"},
		{(s.BidCount > 0) == (s.LeaderID > 0) && s.LeaderID >= 0 && s.LeaderID != s.SellerID, "leader"},
		{(s.BidCount > 0) == (s.LeaderPaddle > 0) && s.LeaderPaddle >= 0 && s.LeaderPaddle <= s.BidderCount, "paddle"},
		{(s.BidCount > 0) == (s.BidderCount > 0) && int64(s.BidderCount) <= s.BidCount, "number of bidders"},
		{s.Status == Scheduled && s.BidCount == 0 || s.Status == Open || s.Status.Over(), "status"},
		{s.Lane == Standard || s.Lane == Hot, "lane"},
		{s.SoftClose.Window >= 0 && s.SoftClose.Window <= SoftCloseMax, "soft close"},
		{s.SoftClose.Extend >= 0 && s.SoftClose.Extend <= SoftCloseMax, "soft close"},
		{s.StartAt.Unix() > 0 && s.StartAt.Before(s.OriginalEndAt) && s.StartAt.Before(s.EndAt), "times"},
		{s.EndAt.Before(latestTime) && s.ClosedAt.Before(latestTime), "times"},
		{s.Status.Over() != s.ClosedAt.IsZero(), "time of closing"},
		{s.Status != Closed || !s.ClosedAt.Before(s.EndAt), "time of closing"},
	} {
		if !rule.holds {
			return fmt.Errorf("auction: %d cannot have such a state: %s", s.ID, rule.what)
		}
	}
	return nil
}

// PlausibleBids returns nil if the bids can be the newest of an auction in this state, newest
// first.
func (s State) PlausibleBids(newest []Bid) error {
	price, seq := s.CurrentPrice.Minor(), s.BidCount
	for i, b := range newest {
		first := i == 0 || b.Seq == seq-1 && b.Amount.Minor() <= price
		leads := b.Seq != s.BidCount || b.Amount.Minor() == s.CurrentPrice.Minor() && b.BidderID == s.LeaderID
		if !first || !leads || b.Seq < 1 || b.Seq > s.BidCount || b.Amount.Minor() <= 0 || b.Amount.Minor() > price ||
			b.BidderID <= 0 || b.BidderID == s.SellerID || b.Paddle < 1 || b.Paddle > s.BidderCount ||
			b.AcceptedAt.After(latestTime) {
			return errors.New("auction: such bids it cannot have")
		}
		price, seq = b.Amount.Minor(), b.Seq
	}
	return nil
}

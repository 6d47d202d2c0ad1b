package auction

import "time"

// RecentMax is how many of an auction's newest bids an update carries: what a page shows before
// somebody asks for more.
const RecentMax = 10

// Update is the whole public state of one auction, with its newest bids, newest first. One update
// replaces any number of older ones; State.Version orders them. An update is never changed once it
// was announced.
//
// Recent may hold fewer bids than there are, as when a closer announces only the state: the hub
// fills in what it has seen before, and asks the database for the rest.
type Update struct {
	State  State
	Recent []Bid
	// For who draws the update, by the house's clock: Since is when the state came in on this node,
	// and Confirmed when PostgreSQL was last asked and said the same (zero: not yet). Whoever has
	// seen a higher version that had come in by then saw one that PostgreSQL does not know any
	// more, or never did.
	Since, Confirmed time.Time
}

// Complete tells whether Recent holds all that it should.
func (u *Update) Complete() bool {
	return int64(len(u.Recent)) >= min(u.State.BidCount, RecentMax) &&
		(len(u.Recent) == 0 || u.Recent[0].Seq == u.State.BidCount)
}

// after returns u with its history continued by that of an older update of the same auction, as far
// as the two join without a gap. It changes neither.
func (u *Update) after(older *Update) *Update {
	if u.Complete() {
		return u
	}
	next := u.State.BidCount // the sequence number the continuation must begin with
	if n := len(u.Recent); n > 0 {
		next = u.Recent[n-1].Seq - 1
	}
	for i, bid := range older.Recent {
		if bid.Seq != next {
			continue
		}
		rest := older.Recent[i:min(len(older.Recent), i+RecentMax-len(u.Recent))]
		joined := append(append(make([]Bid, 0, RecentMax), u.Recent...), rest...)
		return &Update{State: u.State, Recent: joined}
	}
	return u
}

// SameTerms tells whether two updates are about the same  Its terms never change.
func (u *Update) SameTerms(other *Update) bool {
	a, b := &u.State, &other.State
	return a.SellerID == b.SellerID && a.Currency == b.Currency && a.StartPrice == b.StartPrice &&
		a.MinIncrement == b.MinIncrement &&
		a.SoftClose == b.SoftClose
}

// Newer returns which of two updates of one auction holds, and whether that is not simply the one
// that was known (which may be nil). Of two with the same version the one with more history is the
// newer.
func Newer(known, u *Update) (*Update, bool) {
	switch {
	case known == nil:
		return u, true
	case u.State.Version > known.State.Version:
		return u.after(known), true
	case u.State.Version == known.State.Version && len(u.Recent) > len(known.Recent):
		return u, true
	default:
		return known, false
	}
}

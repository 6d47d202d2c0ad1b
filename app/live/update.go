// Package live carries what changed from whoever committed it to everybody who watches.
//
// The [Hub] of a node holds the newest state of each auction that somebody watches there. States come in through one door,
// whoever brings them (this node's own commits, Redis, PostgreSQL), and the version that the database gave them decides
// which is newer. On the way out a viewer has no queue: it is sent the newest state whenever it can take one.
package live

import "martelo/app/auction"

// RecentMax is how many of an auction's newest bids an update carries: what a page shows before somebody asks for more.
const RecentMax = 10

// Update is the whole public state of one auction, with its newest bids, newest first. One update replaces any number of older
// ones; State.Version orders them. An update is never changed once it was announced.
//
// Recent may hold fewer bids than there are, as when a closer announces only the state: the hub fills in what it has seen
// before, and asks the database for the rest.
type Update struct {
	State  auction.State
	Recent []auction.Bid
}

// complete tells whether Recent holds all that it should.
func (u *Update) complete() bool {
	return int64(len(u.Recent)) >= min(u.State.BidCount, RecentMax) && (len(u.Recent) == 0 || u.Recent[0].Seq == u.State.BidCount)
}

// after returns u with its history continued by that of an older update of the same auction, as far as the two join
// without a gap. It changes neither.
func (u *Update) after(older *Update) *Update {
	if u.complete() {
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
		joined := append(append(make([]auction.Bid, 0, RecentMax), u.Recent...), rest...)
		return &Update{State: u.State, Recent: joined}
	}
	return u
}

// newer returns which of two updates of one auction holds, and whether that is not simply the one that was known (which may
// be nil). Of two with the same version the one with more history is the newer.
func newer(known, u *Update) (*Update, bool) {
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

// Package live carries what changed from whoever committed it to everybody who watches.
package live

import "martelo/app/auction"

// RecentMax is how many of an auction's newest bids an update carries: what a page shows before somebody asks for more.
const RecentMax = 10

// Update is the whole public state of one auction, with its newest bids, newest first. One update replaces any number of older
// ones; State.Version orders them.
type Update struct {
	State  auction.State
	Recent []auction.Bid
}

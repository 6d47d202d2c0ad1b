package hot

import "strconv"

// names are an auction's keys in Redis under one epoch, all in one cluster slot by the hash tag.
// Since an epoch is never given twice, what a dead node's late command writes under another epoch
// is read by nobody.
type names struct {
	state  string // hash: what a decision needs
	keys   string // hash: request id to the bid it was accepted as
	bidder string // hash: bidder to paddle number
	log    string // stream: accepted bids that PostgreSQL may not have yet; an entry's id is the bid's seq
	recent string // list: the newest bids, newest first
}

// namesOf names an auction's keys. They carry the house's id, so that another house's auction of
// the same number and epoch is another; the epochs from before there was an id go on under the
// names they were given.
func (l *Lane) namesOf(auctionID, epoch int64) names {
	prefix := "auction:{" + strconv.FormatInt(auctionID, 10) + "}:"
	if epoch > l.house.UnnamedEpochs() {
		prefix += l.house.ID() + ":"
	}
	prefix += strconv.FormatInt(epoch, 10) + ":"
	return names{
		state: prefix + "state", keys: prefix + "keys", bidder: prefix + "paddles", log: prefix + "log",
		recent: prefix + "recent",
	}
}

func (n names) all() []string { return []string{n.state, n.keys, n.bidder, n.log, n.recent} }

// disputed is where the entries go that Redis decided and the rulebook would not have, when
// somebody takes the auction out of the lane.
func (n names) disputed() string { return n.log + ":disputed" }

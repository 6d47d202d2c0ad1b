package live

import (
	"sync/atomic"
	"time"

	"martelo/app/auction"
	"martelo/db"
)

// PostgreSQL may not know a version that viewers have seen: it lost commits (a restored backup, a
// failover to a standby that was behind), or somebody published what never happened. Then what
// PostgreSQL says is shown, although its version is lower.
//
// A lower version alone proves nothing, since what is read may have been overtaken on the way.
// Nothing is announced before it is committed, so a read that begins after a state was heard of
// must find that version or a later one. Each state is numbered when it comes in, a look remembers
// the number at its beginning, and only what had come in before can be taken back by it. Two looks
// in a row must agree on that, the second begun after the first had ended: between the question to
// PostgreSQL and the one to Redis an auction may leave the hot lane.

// look is what PostgreSQL said of an auction when it was asked, and Redis of one in the hot lane.
type look struct {
	*auction.Update
	since int64     // the number of the newest state that had come in on this node when the look began
	at    time.Time // the house's clock then
	epoch int64     // of the auction's row in the hot lane
	exact bool      // nothing later was decided: false for a hot auction while Redis does not answer
}

// doubted is a known state that a look has not found.
type doubted struct {
	number int64 // of the state
	epoch  int64
	ended  int64 // the newest number when the look had ended
}

// outcome is what became of something that was brought to a topic.
type outcome struct {
	mark  bool // the topic must be put on the list of the next tick
	whole bool // its history is whole
	again bool // another look is needed
	fixed bool // the shown state was taken back
	other bool // it is about other terms than the auction has
}

// learn takes in what a look has found: what is newer at once, and what is older or otherwise if
// that is certain.
func (t *topic) learn(l look, numbers *atomic.Int64, now time.Time) outcome {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.update == nil || l.State.Version > t.update.State.Version || sameState(&l.State, &t.update.State) {
		t.doubted = doubted{}
		return t.accept(l.Update, numbers, now, l.confirmedAt())
	}
	if !l.exact || t.number > l.since {
		return outcome{whole: true}
	}
	if d := t.doubted; d.number != t.number || d.epoch != l.epoch || l.since < d.ended {
		t.doubted = doubted{number: t.number, epoch: l.epoch, ended: numbers.Add(1)}
		return outcome{whole: true, again: true}
	}
	if !l.at.After(t.since) {
		l.at = t.since.Add(time.Microsecond) // the clock was set meanwhile
	}
	t.doubted = doubted{}
	t.update = nil
	t.generation++
	o := t.accept(l.Update, numbers, now, l.at)
	o.fixed = true
	return o
}

// confirmedAt is the moment for which the look vouches for its state, if it does.
func (l *look) confirmedAt() time.Time {
	if l.exact {
		return l.at
	}
	return time.Time{}
}

func sameState(a, b *auction.State) bool {
	times := a.StartAt.Equal(b.StartAt) && a.EndAt.Equal(b.EndAt) && a.OriginalEndAt.Equal(b.OriginalEndAt) &&
		a.ClosedAt.Equal(b.ClosedAt)
	c := *b
	c.StartAt, c.EndAt, c.OriginalEndAt, c.ClosedAt = a.StartAt, a.EndAt, a.OriginalEndAt, a.ClosedAt
	return times && *a == c
}

// differs tells whether a row, as far as the reconciler asks, calls for a look: it is newer than
// what is known, or it is older or otherwise though what is known had come in before the row was
// asked for.
func (t *topic) differs(row db.AuctionVersionsRow, since int64) (differs, newer bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.update == nil || row.Version > t.update.State.Version {
		return true, true
	}
	s := &t.update.State
	leader := int64(0)
	if row.LeaderID != nil {
		leader = *row.LeaderID
	}
	same := s.Version == row.Version && s.CurrentPrice.Minor() == row.CurrentPrice && s.LeaderID == leader &&
		s.BidCount == row.BidCount && string(s.Status) == row.Status && s.EndAt.Equal(row.EndAt)
	return !same && t.number <= since, false
}

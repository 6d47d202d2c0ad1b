package hot

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"martelo/app/auction"
	"martelo/db"
)

//go:embed freeze.lua
var freezeText string

//go:embed thaw.lua
var thawText string

var freezeScript, thawScript = redis.NewScript(freezeText), redis.NewScript(thawText)

// The ways to stop the deciding.
const (
	freezeHold  = "FREEZE" // until it is let go on
	freezeClose = "CLOSE"  // if the end has come, for good
	freezeForce = "FORCE"  // as FREEZE, and what is disputed is set aside
)

// errStopped says that Redis and the rulebook have come to different ends about an auction.
var errStopped = errors.New("hot: the auction is stopped")

// errEarly says that the end has not come by Redis's clock.
var errEarly = errors.New("hot: it is not the end yet")

// Withdrawn is an auction that Redis decides no more, with all that it has decided in the caller's
// transaction.
type Withdrawn struct {
	State auction.State
	Now   time.Time // Redis's clock when it stopped deciding; zero if Redis had nothing of the auction

	lane  *Lane
	names names
	epoch int64
	token string
	// disputed tells that what is left of the stream is to be set aside.
	disputed bool
}

// Withdraw stops the deciding in Redis for an auction whose row the caller has locked in its
// transaction, and writes what Redis has decided to the log there. After the commit the caller
// calls Done, after a rollback LetGo; if neither happens the next bid finds the auction frozen and
// loads it anew. With force an auction that was stopped is withdrawn too: from the first bid on
// that Redis took and the rulebook would not have, its stream is set aside in Redis, for people to
// look at.
func (l *Lane) Withdraw(ctx context.Context, q *db.Queries, row db.Auction, force bool) (*Withdrawn, error) {
	how := freezeHold
	if force {
		how = freezeForce
	}
	w, err := l.withdraw(ctx, q, row, how)
	return w, StoreFault(err)
}

// WithdrawDue is [Lane.Withdraw] for an auction that is to be closed. It returns nil, and Redis
// goes on deciding, if the end has not come by Redis's clock: a bid may have moved it. It also
// returns nil for an auction that was stopped, which somebody must look at.
func (l *Lane) WithdrawDue(ctx context.Context, q *db.Queries, row db.Auction) (*Withdrawn, error) {
	w, err := l.withdraw(ctx, q, row, freezeClose)
	if errors.Is(err, errEarly) || errors.Is(err, errStopped) {
		return nil, nil
	}
	return w, StoreFault(err)
}

func (l *Lane) withdraw(ctx context.Context, q *db.Queries, row db.Auction, how string) (*Withdrawn, error) {
	if err := l.house.Ready(); err != nil {
		return nil, err // without the house's id Redis would seem to have nothing of the auction
	}
	w := &Withdrawn{
		State: row.State(), lane: l, names: l.namesOf(row.ID, row.LaneEpoch), epoch: row.LaneEpoch, token: newToken(),
	}
	answer, err := freezeScript.Run(ctx, l.client, []string{w.names.state}, w.epoch, how, w.token).StringSlice()
	switch {
	case isWrongType(err) && how == freezeForce:
		return w, w.drainAgreed(ctx, q, row) // no script of ours can decide by such a state either
	case err != nil:
		return nil, away(err)
	}
	word, seq := answer[0], answer[3]
	switch word {
	case "EARLY":
		return nil, errEarly
	case "STOPPED":
		if how != freezeForce {
			return nil, errStopped
		}
		return w, w.drainAgreed(ctx, q, row)
	}
	if err := w.drain(ctx, q, row); err != nil {
		if how != freezeClose {
			w.LetGo(ctx)
		}
		l.stopIfDiffers(ctx, row.ID, w.epoch, err)
		return nil, err
	}
	if word == "DONE" {
		if w.Now, err = readMoment(answer[1]); err != nil {
			return nil, err
		}
		if frozen, err := strconv.ParseInt(seq, 10, 64); err != nil || frozen != w.State.BidCount {
			differs := &differError{row.ID, "bids up to " + seq, fmt.Sprintf("found them up to %d", w.State.BidCount)}
			l.stopIfDiffers(ctx, row.ID, w.epoch, differs)
			return nil, differs
		}
	}
	return w, nil
}

// drain writes all that the stream holds to the log.
func (w *Withdrawn) drain(ctx context.Context, q *db.Queries, row db.Auction) error {
	for {
		entries, _, err := w.lane.entriesAfter(ctx, w.State.BidCount, termsFor(row))
		if err != nil || len(entries) == 0 {
			return err
		}
		if w.State, err = write(ctx, q, w.State, w.epoch, entries); err != nil {
			return err
		}
	}
}

// isWrongType tells whether Redis holds something of another kind under a key of ours.
func isWrongType(err error) bool {
	var refused redis.Error
	return errors.As(err, &refused) && strings.HasPrefix(refused.Error(), "WRONGTYPE")
}

// drainAgreed writes what the stream holds up to the first bid that is disputed.
func (w *Withdrawn) drainAgreed(ctx context.Context, q *db.Queries, row db.Auction) error {
	w.disputed = true
	for {
		entries, _, err := w.lane.entriesAfter(ctx, w.State.BidCount, termsFor(row))
		if errors.Is(err, errGarbled) || isWrongType(err) {
			return nil
		}
		if err != nil || len(entries) == 0 {
			return err
		}
		var agreed int
		if w.State, agreed, err = writeAgreed(ctx, q, w.State, w.epoch, entries); err != nil {
			return err
		}
		if agreed < len(entries) {
			return nil
		}
	}
}

// Done removes the auction from Redis, but for what is disputed. The transaction that withdrew it
// is committed.
func (w *Withdrawn) Done(ctx context.Context) {
	if w.disputed {
		l, kept := w.lane, w.names.disputed()
		l.log.Error(
			"hot: what is disputed is set aside in Redis", "auctionId", w.State.ID, "afterBid", w.State.BidCount, "key",
			kept,
		)
		err := l.client.Rename(context.WithoutCancel(ctx), w.names.log, kept).Err()
		if err != nil && !strings.Contains(err.Error(), "no such key") {
			l.log.Error("hot: disputed bids stay under their old key", "key", w.names.log, "error", err)
			return
		}
	}
	w.lane.discard(ctx, w.names)
}

// LetGo lets Redis go on deciding. The transaction that withdrew the auction is, or will be, rolled
// back.
func (w *Withdrawn) LetGo(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), redisWithin)
	defer cancel()
	if err := thawScript.Run(ctx, w.lane.client, []string{w.names.state}, w.epoch, w.token).Err(); err != nil {
		w.lane.log.Warn("hot: an auction stays frozen until its next bid", "auctionId", w.State.ID, "error", err)
	}
}

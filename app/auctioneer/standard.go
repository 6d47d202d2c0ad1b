package auctioneer

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"martelo/app/auction"
	"martelo/app/loop"
	"martelo/db"
)

// recentLotsMax is up to how many auctions of a batch have their newest bids read for the
// announcement. Among many, hardly any is watched. Viewers of one that is are shown what they have
// seen before with the new bids, and a node that lacks some asks for them ([auction.Update]).
// Reading them for all cost a tenth of a batch.
const recentLotsMax = 4

// rowWait is what a transaction does about a row that somebody else holds.
type rowWait bool

const (
	waitForRow   rowWait = true
	passOverHeld rowWait = false
)

// inPostgres decides lots in one transaction of two round trips. The first locks the rows, and then
// reads the clock and what the log knows. The second writes and commits. An error means that
// nothing is known about any of them. Otherwise each lot has its answers, or in its err why it has
// none: auction.ErrNotFound, errHeld, errStale, errHot, or a fault that the others do not share.
//
// The lots are in the order of their ids, so that no two transactions wait for each other.
func (a *Auctioneer) inPostgres(ctx context.Context, lots []*lot, wait rowWait) error {
	for _, l := range lots {
		l.answers, l.update, l.err = nil, nil, nil
	}
	conn, err := a.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	// A connection that is released inside a transaction is closed by the pool, and the server
	// rolls back.
	defer conn.Release()
	began := time.Now()
	locked, err := lockLots(ctx, conn, lots, wait)
	if err != nil {
		return err
	}
	var decided []*decision
	for _, l := range lots {
		// Nothing that is wrong with one auction's row keeps the others from being decided.
		if fault := loop.Safely(func() (err error) {
			var d *decision
			if d, err = locked.decide(l); d != nil {
				decided = append(decided, d)
			}
			return err
		}); fault != nil {
			l.err = fault
			if isPanic(fault) {
				a.faults.Note(ctx, fault)
			}
		}
	}
	moved := slices.DeleteFunc(slices.Clone(decided), func(d *decision) bool { return len(d.accepted) == 0 })
	if len(moved) == 0 {
		err = end(ctx, conn, decided)
	} else {
		err = write(ctx, conn, moved, locked.now)
	}
	if err != nil {
		return err
	}
	for _, d := range decided {
		if d.lot.err != nil {
			continue
		}
		d.lot.answers = d.answers
		a.early.note(len(d.lot.bids), d.before, d.after, d.accepted, locked.now, began)
		if len(d.accepted) > 0 {
			d.lot.update = &auction.Update{State: d.after, Recent: newest(d.accepted, locked.recent[d.lot.id])}
		}
	}
	return nil
}

func isPanic(err error) bool {
	var panicked *loop.PanicError
	return errors.As(err, &panicked)
}

// locked is what the first round trip reads: the rows, the clock after they were locked, and what
// the log knows of the requests and of their auctions, by auction.
type locked struct {
	rows    map[int64]db.Auction
	now     time.Time
	earlier map[int64][]db.Bid
	paddles map[int64][]db.BidPaddlesOfManyRow
	recent  map[int64][]db.Bid // newest first
	wait    rowWait
}

// lockLots locks the rows of the lots and reads what deciding them needs.
func lockLots(ctx context.Context, conn *pgxpool.Conn, lots []*lot, wait rowWait) (*locked, error) {
	var ids, auctionIDs, bidderIDs []int64
	var keys []uuid.UUID
	for _, l := range lots {
		ids = append(ids, l.id)
		for _, r := range l.requests {
			auctionIDs, bidderIDs, keys = append(auctionIDs, l.id), append(bidderIDs, r.BidderID), append(keys, r.Key)
		}
	}
	k := &locked{rows: make(map[int64]db.Auction, len(ids)), wait: wait}
	var rows []db.Auction
	var earlier, recent []db.Bid
	var paddles []db.BidPaddlesOfManyRow
	batch := &pgx.Batch{}
	batch.Queue("BEGIN")
	if wait == waitForRow {
		batch.Queue(db.AuctionLock, ids[0]).Query(many(&rows))
	} else {
		batch.Queue(db.AuctionsLock, ids).Query(many(&rows))
	}
	batch.Queue(db.Clock).QueryRow(func(r pgx.Row) error { return r.Scan(&k.now) })
	batch.Queue(db.BidsByRequestOfMany, auctionIDs, keys).Query(many(&earlier))
	batch.Queue(db.BidPaddlesOfMany, auctionIDs, bidderIDs).Query(many(&paddles))
	if len(lots) <= recentLotsMax {
		batch.Queue(db.BidsLatestOfMany, ids, auction.RecentMax).Query(many(&recent))
	}
	if err := conn.SendBatch(ctx, batch).Close(); err != nil {
		return nil, err
	}
	for _, row := range rows {
		k.rows[row.ID] = row
	}
	k.earlier = byAuction(earlier, func(b db.Bid) int64 { return b.AuctionID })
	k.paddles = byAuction(paddles, func(p db.BidPaddlesOfManyRow) int64 { return p.AuctionID })
	k.recent = byAuction(recent, func(b db.Bid) int64 { return b.AuctionID })
	return k, nil
}

func byAuction[Row any](rows []Row, auctionID func(Row) int64) map[int64][]Row {
	grouped := map[int64][]Row{}
	for _, row := range rows {
		id := auctionID(row)
		grouped[id] = append(grouped[id], row)
	}
	return grouped
}

// many reads all rows of a statement into a slice.
func many[T any](into *[]T) func(pgx.Rows) error {
	return func(rows pgx.Rows) (err error) {
		*into, err = pgx.CollectRows(rows, pgx.RowToStructByPos[T])
		return err
	}
}

// decide asks the rulebook about a lot. It returns an error if the lot is not to be decided here.
func (k *locked) decide(l *lot) (*decision, error) {
	row, found := k.rows[l.id]
	switch {
	case !found && k.wait == passOverHeld:
		return nil, errHeld // or it does not exist, which whoever waits for the row finds out
	case !found:
		return nil, auction.ErrNotFound
	}
	before := row.State()
	if before.Lane == auction.Hot && !before.Status.Over() && !k.now.Before(before.StartAt) {
		return nil, errHot
	}
	d := &decision{lot: l, before: before}
	d.after, d.accepted, d.answers = before.Fold(l.requests, k.memoryOf(l, before), k.now)
	return d, nil
}

// memoryOf is what the log knows of a lot's requests.
func (k *locked) memoryOf(l *lot, s auction.State) auction.Memory {
	memory := auction.Memory{
		ByKey:   make(map[uuid.UUID]auction.Bid, len(l.requests)),
		Paddles: make(map[int64]int, len(l.requests)),
	}
	for _, bid := range k.earlier[l.id] {
		memory.ByKey[bid.RequestID] = bid.Accepted(s.Currency)
	}
	for _, p := range k.paddles[l.id] {
		memory.Paddles[p.BidderID] = int(p.Paddle)
	}
	return memory
}

// decision is what the rulebook made of a lot, before it is written.
type decision struct {
	lot           *lot
	before, after auction.State
	accepted      []auction.Bid
	answers       []auction.Answer
}

// end ends a transaction that has written nothing. Refusals promise nothing, so a rollback will do,
// which waits for no fsync. An earlier bid that is answered again is a promise like the first time:
// it must be where its own commit would have brought it, which may have failed.
func end(ctx context.Context, conn *pgxpool.Conn, decided []*decision) error {
	if !slices.ContainsFunc(decided, (*decision).replays) {
		_, err := conn.Exec(ctx, "ROLLBACK")
		return err
	}
	batch := &pgx.Batch{}
	batch.Queue(db.StandbyWait)
	batch.Queue("COMMIT")
	if err := conn.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	return db.Confirmed(conn.Conn())
}

func (d *decision) replays() bool {
	return slices.ContainsFunc(d.answers, func(a auction.Answer) bool { return a.Replayed })
}

// write moves the auctions, appends their bids and commits. The bids get the ids that the log gives
// them. A lot whose auction the statement found other than decided gets errStale.
func write(ctx context.Context, conn *pgxpool.Conn, moved []*decision, now time.Time) error {
	arg := writeParams(moved, now)
	var written []db.BidsWriteRow
	batch := &pgx.Batch{}
	batch.Queue(db.BidsWrite, arg.AuctionIds, arg.CurrentPrices, arg.LeaderIds, arg.LeaderPaddles, arg.BidCounts,
		arg.BidderCounts, arg.EndAts, arg.Versions, arg.FirstAmounts, arg.BidsBefore, arg.AcceptedAt,
		arg.BidAuctionIds, arg.BidSeqs, arg.BidBidderIds, arg.BidPaddles, arg.BidAmounts, arg.BidRequestIds,
	).Query(many(&written))
	batch.Queue("COMMIT")
	if err := conn.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	if err := db.Confirmed(conn.Conn()); err != nil {
		return err
	}
	ids := make(map[int64]map[int64]int64, len(moved)) // by auction and place in its log
	for _, w := range written {
		if ids[w.AuctionID] == nil {
			ids[w.AuctionID] = map[int64]int64{}
		}
		ids[w.AuctionID][w.Seq] = w.ID
	}
	for _, d := range moved {
		d.number(ids[d.lot.id])
	}
	return nil
}

// number gives the accepted bids their ids in the log, which are known by their places in it.
func (d *decision) number(ids map[int64]int64) {
	if len(ids) != len(d.accepted) {
		d.lot.err = errStale
		return
	}
	for i := range d.accepted {
		d.accepted[i].ID = ids[d.accepted[i].Seq]
	}
	for i := range d.answers {
		if bid := &d.answers[i].Bid; d.answers[i].Refusal == nil && bid.ID == 0 {
			bid.ID = ids[bid.Seq]
		}
	}
}

func writeParams(moved []*decision, now time.Time) db.BidsWriteParams {
	arg := db.BidsWriteParams{AcceptedAt: now}
	for _, d := range moved {
		arg.AuctionIds = append(arg.AuctionIds, d.after.ID)
		arg.CurrentPrices = append(arg.CurrentPrices, d.after.CurrentPrice.Minor())
		arg.LeaderIds = append(arg.LeaderIds, d.after.LeaderID)
		arg.LeaderPaddles = append(arg.LeaderPaddles, int32(d.after.LeaderPaddle))
		arg.BidCounts = append(arg.BidCounts, d.after.BidCount)
		arg.BidderCounts = append(arg.BidderCounts, int32(d.after.BidderCount))
		arg.EndAts = append(arg.EndAts, d.after.EndAt)
		arg.Versions = append(arg.Versions, d.after.Version)
		arg.FirstAmounts = append(arg.FirstAmounts, d.accepted[0].Amount.Minor())
		arg.BidsBefore = append(arg.BidsBefore, d.before.BidCount)
		for _, bid := range d.accepted {
			arg.BidAuctionIds = append(arg.BidAuctionIds, bid.AuctionID)
			arg.BidSeqs = append(arg.BidSeqs, bid.Seq)
			arg.BidBidderIds = append(arg.BidBidderIds, bid.BidderID)
			arg.BidPaddles = append(arg.BidPaddles, int32(bid.Paddle))
			arg.BidAmounts = append(arg.BidAmounts, bid.Amount.Minor())
			arg.BidRequestIds = append(arg.BidRequestIds, bid.Key)
		}
	}
	return arg
}

// newest puts accepted bids before those that were the newest, newest first, and keeps
// [auction.RecentMax] of them. With them an announcement is complete by itself, since it may
// overtake that of another node.
func newest(accepted []auction.Bid, before []db.Bid) []auction.Bid {
	bids := make([]auction.Bid, 0, auction.RecentMax)
	for i := len(accepted) - 1; i >= 0 && len(bids) < auction.RecentMax; i-- {
		bids = append(bids, accepted[i])
	}
	rest := before[:min(len(before), auction.RecentMax-len(bids))]
	return append(bids, db.AcceptedMany(rest, accepted[0].Amount.Currency())...)
}

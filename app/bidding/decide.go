package bidding

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"martelo/app/auction"
	"martelo/app/hot"
	"martelo/db"
)

// attemptsMax is how often a batch is decided anew: when its decision no longer held at the write,
// as when the end passed in between, when the auction was moved to the other lane. More often does
// not happen.
const attemptsMax = 5

// errStale says that the write found the row or the clock other than decided.
var errStale = errors.New("bidding: the decision no longer holds")

// decide decides requests for one auction in one transaction, within decideWithin. The update is nil when nothing was accepted.
func (d *Desk) decide(id int64, requests []auction.Request) (answers []auction.Answer, update *auction.Update, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			d.log.Error("bidding: panic", "auctionId", id, "fault", fault, "stack", string(debug.Stack()))
			err = fmt.Errorf("bidding: panic: %v", fault)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), decideWithin)
	defer cancel()
	for attempt := range attemptsMax {
		answers, update, err = d.inItsLane(ctx, id, requests)
		if attempt == 0 && db.IsReadOnly(err) {
			continue // the connection may be older than the server's readiness to write; it is closed now
		}
		if !errors.Is(err, errStale) && !errors.Is(err, errHot) && !errors.Is(err, hot.ErrStandard) &&
			!db.IsUnique(err, "bids_request_key") {
			break
		}
	}
	if err != nil {
		d.early.forget(id)
	}
	if err != nil || update != nil {
		d.fault.note(err)
	}
	if err != nil && !errors.Is(err, auction.ErrNotFound) {
		err = db.Unavailable(err)
		d.log.LogAttrs(ctx, slog.LevelWarn, "bidding: batch undecided",
			slog.Int64("auctionId", id), slog.Int("bids", len(requests)), slog.Any("error", err))
	}
	return answers, update, err
}

// attempt is one transaction of two round trips: lock, clock and memory; then write and commit, or a rollback when nothing was
// accepted, which waits for no fsync.
func (d *Desk) attempt(ctx context.Context, id int64, requests []auction.Request) ([]auction.Answer, *auction.Update, error) {
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return nil, nil, err
	}
	began := time.Now()
	// A connection that is released inside a transaction is closed by the pool, and the server rolls back.
	defer conn.Release()

	locked, err := lock(ctx, conn, id, requests)
	if err != nil {
		return nil, nil, err
	}
	before := locked.state
	if before.Lane == auction.Hot && !before.Status.Over() && !locked.now.Before(before.StartAt) {
		_, err := conn.Exec(ctx, "ROLLBACK")
		return nil, nil, errors.Join(errHot, err)
	}
	after, accepted, answers := before.Fold(requests, locked.memory, locked.now)
	if len(accepted) == 0 {
		d.early.note(len(requests), before, before, nil, locked.now, began)
		return answers, nil, end(ctx, conn, answers)
	}
	ids, err := write(ctx, conn, before, after, accepted)
	if err != nil {
		return nil, nil, err
	}
	d.early.note(len(requests), before, after, accepted, locked.now, began)
	for i := range answers {
		if bid := &answers[i].Bid; answers[i].Refusal == nil && bid.ID == 0 {
			bid.ID = ids[bid.Seq-accepted[0].Seq]
		}
	}
	for i := range accepted {
		accepted[i].ID = ids[i]
	}
	return answers, &auction.Update{State: after, Recent: newest(accepted, locked.recent)}, nil
}

// end ends a transaction that has written nothing. Refusals promise nothing, so a rollback will do,
// which waits for no fsync. An earlier bid that is answered again is a promise like the first time:
// it must be where its own commit would have brought it, which may have failed.
func end(ctx context.Context, conn *pgxpool.Conn, answers []auction.Answer) error {
	if !slices.ContainsFunc(answers, func(a auction.Answer) bool { return a.Replayed }) {
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

// underLock is what the first round trip reads: the auction, the clock after the lock was got, and what the log knows.
type underLock struct {
	state  auction.State
	now    time.Time
	memory auction.Memory
	recent []auction.Bid
}

func lock(ctx context.Context, conn *pgxpool.Conn, id int64, requests []auction.Request) (underLock, error) {
	keys, bidders := make([]uuid.UUID, len(requests)), make([]int64, len(requests))
	for i, r := range requests {
		keys[i], bidders[i] = r.Key, r.BidderID
	}
	var (
		row             db.Auction
		now             time.Time
		earlier, recent []db.Bid
		paddles         []db.BidPaddlesRow
	)
	batch := &pgx.Batch{}
	batch.Queue("BEGIN")
	batch.Queue(db.AuctionLock, id).Query(one(&row))
	batch.Queue(db.Clock).QueryRow(func(r pgx.Row) error { return r.Scan(&now) })
	batch.Queue(db.BidsByRequest, keys, id).Query(many(&earlier))
	batch.Queue(db.BidPaddles, bidders, id).Query(many(&paddles))
	batch.Queue(db.BidsLatest, id, auction.RecentMax).Query(many(&recent))
	if err := conn.SendBatch(ctx, batch).Close(); err != nil {
		if db.IsNoRows(err) {
			_, rollback := conn.Exec(ctx, "ROLLBACK")
			return underLock{}, errors.Join(auction.ErrNotFound, rollback)
		}
		return underLock{}, err
	}
	got := underLock{state: row.State(), now: now}
	got.recent = db.AcceptedMany(recent, got.state.Currency)
	got.memory = auction.Memory{ByKey: make(map[uuid.UUID]auction.Bid, len(requests)), Paddles: make(map[int64]int, len(requests))}
	for _, bid := range db.AcceptedMany(earlier, got.state.Currency) {
		got.memory.ByKey[bid.Key] = bid
	}
	for _, p := range paddles {
		got.memory.Paddles[p.BidderID] = int(p.Paddle)
	}
	return got, nil
}

func one[T any](into *T) func(pgx.Rows) error {
	return func(rows pgx.Rows) (err error) {
		*into, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[T])
		return err
	}
}

func many[T any](into *[]T) func(pgx.Rows) error {
	return func(rows pgx.Rows) (err error) {
		*into, err = pgx.CollectRows(rows, pgx.RowToStructByPos[T])
		return err
	}
}

// write moves the auction and appends the bids, and returns the ids the log gave them, in order. It returns errStale when the
// statement's own check of the rule found otherwise; nothing is written then.
func write(ctx context.Context, conn *pgxpool.Conn, before, after auction.State, accepted []auction.Bid) ([]int64, error) {
	arg := writeParams(before, after, accepted)
	var written []db.AuctionBidsWriteRow
	batch := &pgx.Batch{}
	batch.Queue(db.AuctionBidsWrite, arg.CurrentPrice, arg.LeaderID, arg.LeaderPaddle, arg.BidCount, arg.BidderCount, arg.EndAt, arg.Version,
		arg.AuctionID, arg.FirstAmount, arg.BidsBefore, arg.AcceptedAt, arg.Seqs, arg.BidderIds, arg.Paddles, arg.Amounts, arg.RequestIds,
		arg.FirstSeq).Query(many(&written))
	batch.Queue("COMMIT")
	if err := conn.SendBatch(ctx, batch).Close(); err != nil {
		return nil, err
	}
	if err := db.Confirmed(conn.Conn()); err != nil {
		return nil, err
	}
	if len(written) != len(accepted) {
		return nil, errStale
	}
	ids := make([]int64, len(written))
	for i, w := range written {
		ids[i] = w.ID
	}
	return ids, nil
}

func writeParams(before, after auction.State, accepted []auction.Bid) db.AuctionBidsWriteParams {
	first := accepted[0]
	paddle := int32(after.LeaderPaddle)
	arg := db.AuctionBidsWriteParams{
		AuctionID: after.ID, CurrentPrice: after.CurrentPrice.Minor(), LeaderID: &after.LeaderID, LeaderPaddle: &paddle,
		BidCount: after.BidCount, BidderCount: int32(after.BidderCount), EndAt: after.EndAt, Version: after.Version,
		FirstAmount: first.Amount.Minor(), BidsBefore: before.BidCount, AcceptedAt: first.AcceptedAt, FirstSeq: &first.Seq,
	}
	for _, b := range accepted {
		arg.Seqs = append(arg.Seqs, b.Seq)
		arg.BidderIds = append(arg.BidderIds, b.BidderID)
		arg.Paddles = append(arg.Paddles, int32(b.Paddle))
		arg.Amounts = append(arg.Amounts, b.Amount.Minor())
		arg.RequestIds = append(arg.RequestIds, b.Key)
	}
	return arg
}

// newest puts accepted bids before those that were the newest, newest first, and keeps RecentMax: an announcement is complete by itself, since it may
// overtake that of another node.
func newest(accepted, recent []auction.Bid) []auction.Bid {
	bids := make([]auction.Bid, 0, auction.RecentMax)
	for i := len(accepted) - 1; i >= 0 && len(bids) < auction.RecentMax; i-- {
		bids = append(bids, accepted[i])
	}
	return append(bids, recent[:min(len(recent), auction.RecentMax-len(bids))]...)
}

package hot

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"martelo/app/auction"
	"martelo/app/loop"
	"martelo/app/money"
	"martelo/db"
)

const (
	// settleMax is how many bids one transaction takes over.
	settleMax = 2000
	// settlePause lets bids gather between two rounds, so that a round's fsync is shared by many
	// and PostgreSQL stays out of the hot path.
	settlePause = 50 * time.Millisecond
	// lookEvery is how often all hot auctions are looked through, for what a node left behind that
	// died or never said.
	lookEvery = 250 * time.Millisecond
	// lookMax is how many hot auctions are looked through at a time, or closed. A house with more
	// sees each after some looks.
	lookMax = 1000
	// settlersMax is how many auctions a node settles at a time.
	settlersMax = 4
	// turnWithin bounds one auction's turn.
	turnWithin = 2500 * time.Millisecond
)

// differError says that Redis and the rulebook came to different ends. The auction must be looked
// at by somebody.
type differError struct {
	auctionID   int64
	redis, ours string
}

func (e *differError) Error() string {
	return fmt.Sprintf("hot: auction %d: Redis decided %s, the rulebook %s", e.auctionID, e.redis, e.ours)
}

// errMoved says that another node has settled or moved the auction meanwhile.
var errMoved = errors.New("hot: the auction has moved on")

// mark notes that an auction has something to settle.
func (l *Lane) mark(id, epoch int64) {
	l.mu.Lock()
	l.dirty[id] = epoch
	l.mu.Unlock()
	select {
	case l.work <- struct{}{}:
	default:
	}
}

func (l *Lane) takeDirty() map[int64]int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.dirty
	l.dirty = map[int64]int64{}
	return taken
}

// settleAll settles what this node has decided soon, and what others left behind a little later.
func (l *Lane) settleAll(ctx context.Context) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	after := int64(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			_ = l.settler.Turn(ctx, func(ctx context.Context) (err error) {
				after, err = l.lookFrom(ctx, after)
				return errors.Join(err, l.settleDirty(ctx))
			})
		case <-l.work:
			_ = l.settler.Turn(ctx, l.settleDirty)
		}
		if !sleep(ctx, settlePause) {
			return
		}
	}
}

// lookFrom marks the hot auctions from an id on, and returns where to go on.
func (l *Lane) lookFrom(ctx context.Context, after int64) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, turnWithin)
	defer cancel()
	rows, err := db.New(l.pool).AuctionHotOpen(ctx, db.AuctionHotOpenParams{AfterID: after, RowLimit: lookMax})
	if err != nil {
		return after, err
	}
	for _, row := range rows {
		l.checkAhead(ctx, row)
		l.mark(row.ID, row.LaneEpoch)
	}
	if len(rows) < lookMax {
		return 0, nil
	}
	return rows[len(rows)-1].ID, nil
}

// checkAhead stops an auction of which PostgreSQL has bids that Redis does not: Redis has lost what
// it had acknowledged, and has given their numbers to others. With AOF always it does not happen.
func (l *Lane) checkAhead(ctx context.Context, row db.AuctionHotOpenRow) {
	if row.BidCount == 0 || l.isStopped(row.ID, row.LaneEpoch) {
		return
	}
	seq, err := l.client.HGet(ctx, l.namesOf(row.ID, row.LaneEpoch).state, "seq").Int64()
	if err == nil && seq < row.BidCount {
		l.stopIfDiffers(
			ctx, row.ID, row.LaneEpoch,
			&differError{row.ID, fmt.Sprintf("%d bids", seq), fmt.Sprintf("has %d in the log", row.BidCount)},
		)
	}
}

// settleDirty settles what is marked. The error is that of one auction that could not be settled;
// the others were.
func (l *Lane) settleDirty(ctx context.Context) error {
	var settling sync.WaitGroup
	var mu sync.Mutex
	var failed error
	var lag time.Duration
	free := make(chan struct{}, settlersMax)
	for id, epoch := range l.takeDirty() {
		free <- struct{}{}
		settling.Go(func() {
			defer func() { <-free }()
			var behind time.Duration
			err := loop.Safely(func() (err error) {
				behind, err = l.Settle(ctx, id, epoch)
				return err
			})
			mu.Lock()
			defer mu.Unlock()
			lag = max(lag, behind)
			if err != nil {
				failed = fmt.Errorf("hot: settling auction %d: %w", id, err)
			}
		})
	}
	settling.Wait()
	l.metrics.lag.Set(lag.Seconds())
	return failed
}

// Settle writes what Redis has decided for an auction under an epoch, and PostgreSQL does not have,
// to PostgreSQL. Any node may; while one does the others pass by. It returns how old the oldest bid
// was that it found.
func (l *Lane) Settle(ctx context.Context, id, epoch int64) (lag time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, turnWithin)
	defer cancel()
	if l.isStopped(id, epoch) {
		return 0, nil
	}
	n := l.namesOf(id, epoch)
	waiting, err := l.client.XLen(ctx, n.log).Result()
	if err != nil || waiting == 0 {
		return 0, away(err)
	}
	for {
		settled, oldest, err := l.settleSome(ctx, id, epoch)
		lag = max(lag, oldest)
		if err != nil {
			l.stopIfDiffers(ctx, id, epoch, err)
			return lag, StoreFault(err)
		}
		if settled < settleMax {
			return lag, nil
		}
	}
}

// settleSome is one transaction of settling.
func (l *Lane) settleSome(ctx context.Context, id, epoch int64) (settled int, lag time.Duration, err error) {
	var after auction.State
	err = db.InTx(ctx, l.pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		row, err := q.AuctionLockIfFree(ctx, id)
		if db.IsNoRows(err) || err == nil &&
			(row.LaneEpoch != epoch || row.Lane != string(auction.Hot) || row.Status != string(auction.Open)) {
			return nil
		}
		if err != nil {
			return err
		}
		entries, now, err := l.entriesAfter(ctx, row.BidCount, termsFor(row))
		if err != nil {
			return err
		}
		after = row.State()
		if len(entries) == 0 {
			// What the stream still holds is in the log, by a commit that may have failed and be
			// visible all the same. It is trimmed only when PostgreSQL cannot lose it any more.
			_, err = q.StandbyWait(ctx)
			return err
		}
		lag = now.Sub(entries[0].bid.AcceptedAt)
		settled = len(entries)
		after, err = write(ctx, q, row.State(), epoch, entries)
		return err
	})
	if err != nil {
		return 0, lag, err
	}
	l.metrics.settled.Add(float64(settled))
	if settled > 0 {
		l.listings.Touch(id)
	}
	if after.BidCount > 0 {
		l.trim(ctx, l.namesOf(id, epoch), after.BidCount)
	}
	return settled, lag, nil
}

// entriesAfter reads the stream from the bid after seq on, with Redis's clock.
func (l *Lane) entriesAfter(ctx context.Context, seq int64, t *terms) ([]entry, time.Time, error) {
	pipeline := l.client.Pipeline()
	clock := pipeline.Time(ctx)
	found := pipeline.XRangeN(ctx, l.namesOf(t.ID, t.epoch).log, strconv.FormatInt(seq+1, 10)+"-0", "+", settleMax)
	if _, err := pipeline.Exec(ctx); err != nil {
		return nil, time.Time{}, away(err)
	}
	entries, err := readEntries(found.Val(), t)
	return entries, clock.Val(), err
}

// trim removes what is committed in PostgreSQL from the stream.
func (l *Lane) trim(ctx context.Context, n names, settled int64) {
	// What is not trimmed now is passed over and trimmed next time.
	_ = l.client.XTrimMinID(ctx, n.log, strconv.FormatInt(settled+1, 10)+"-0").Err()
}

// write replays entries through the rulebook and writes them to the log, in the caller's
// transaction, which holds the row's lock. It returns a *differError, and writes nothing, if the
// rulebook would have decided otherwise.
func write(
	ctx context.Context, q *db.Queries, before auction.State, epoch int64, entries []entry,
) (auction.State, error) {
	memory, err := paddlesOf(ctx, q, before, entries)
	if err != nil {
		return before, err
	}
	after, _, err := replay(before, memory, entries)
	if err != nil {
		return before, err
	}
	err = appendBids(ctx, q, before, after, epoch, entries)
	if db.IsUnique(err, "bids_request_key") {
		// Which of the keys the log has is asked only when one of them is there, which never is.
		err = &differError{
			before.ID, "bids up to " + bidText(entries[len(entries)-1].bid), "has one of their keys already",
		}
	}
	return after, err
}

// writeAgreed is write for the entries before the first that the rulebook would have decided
// otherwise. It returns how many those are.
func writeAgreed(
	ctx context.Context, q *db.Queries, before auction.State, epoch int64, entries []entry,
) (auction.State, int, error) {
	memory, err := paddlesOf(ctx, q, before, entries)
	if err != nil {
		return before, 0, err
	}
	if err := keysOf(ctx, q, before, entries, memory); err != nil {
		return before, 0, err
	}
	after, agreed, _ := replay(before, memory, entries)
	if agreed == 0 {
		return before, 0, nil
	}
	return after, agreed, appendBids(ctx, q, before, after, epoch, entries[:agreed])
}

func appendBids(ctx context.Context, q *db.Queries, before, after auction.State, epoch int64, entries []entry) error {
	paddle, first := int32(after.LeaderPaddle), entries[0].bid.Seq
	arg := db.AuctionBidsSettleParams{
		AuctionID: after.ID, LaneEpoch: epoch, BidsBefore: before.BidCount, CurrentPrice: after.CurrentPrice.Minor(),
		LeaderID:     &after.LeaderID,
		LeaderPaddle: &paddle, BidCount: after.BidCount, BidderCount: int32(after.BidderCount), EndAt: after.EndAt,
		Version: after.Version, FirstSeq: &first,
	}
	for _, e := range entries {
		arg.Ids = append(arg.Ids, e.bid.ID)
		arg.Seqs = append(arg.Seqs, e.bid.Seq)
		arg.BidderIds = append(arg.BidderIds, e.bid.BidderID)
		arg.Paddles = append(arg.Paddles, int32(e.bid.Paddle))
		arg.Amounts = append(arg.Amounts, e.bid.Amount.Minor())
		arg.RequestIds = append(arg.RequestIds, e.bid.Key)
		arg.AcceptedAts = append(arg.AcceptedAts, e.bid.AcceptedAt)
	}
	written, err := q.AuctionBidsSettle(ctx, arg)
	if err == nil && written != int64(len(entries)) {
		err = errMoved
	}
	return err
}

// paddlesOf reads the paddle numbers that the entries' bidders have.
func paddlesOf(ctx context.Context, q *db.Queries, s auction.State, entries []entry) (auction.Memory, error) {
	memory := auction.Memory{ByKey: make(map[uuid.UUID]auction.Bid, len(entries)), Paddles: map[int64]int{}}
	bidders := make([]int64, len(entries))
	for i, e := range entries {
		bidders[i] = e.bid.BidderID
	}
	slices.Sort(bidders)
	paddles, err := q.BidPaddles(ctx, db.BidPaddlesParams{BidderIds: slices.Compact(bidders), AuctionID: s.ID})
	for _, p := range paddles {
		memory.Paddles[p.BidderID] = int(p.Paddle)
	}
	return memory, err
}

// keysOf reads which of the entries' keys the log knows.
func keysOf(ctx context.Context, q *db.Queries, s auction.State, entries []entry, memory auction.Memory) error {
	keys := make([]uuid.UUID, len(entries))
	for i, e := range entries {
		keys[i] = e.bid.Key
	}
	earlier, err := q.BidsByRequest(ctx, db.BidsByRequestParams{RequestIds: keys, AuctionID: s.ID})
	for _, row := range earlier {
		memory.ByKey[row.Bid.RequestID] = row.Bid.Accepted(s.Currency)
	}
	return err
}

// replay decides each entry again, by the rulebook at the moment Redis decided it, and compares
// everything that both say. It returns the state after those about which they agree, and how many
// they are.
func replay(s auction.State, memory auction.Memory, entries []entry) (auction.State, int, error) {
	for i, e := range entries {
		amount, err := money.Parse(e.bid.Amount.String())
		if err != nil {
			return s, i, &differError{s.ID, bidText(e.bid), err.Error()}
		}
		request := auction.Request{AuctionID: s.ID, BidderID: e.bid.BidderID, Amount: amount, Key: e.bid.Key}
		next, accepted, answers := s.Fold([]auction.Request{request}, memory, e.bid.AcceptedAt)
		if len(accepted) == 0 {
			return s, i, &differError{
				s.ID, bidText(e.bid),
				fmt.Sprintf("refuses it: %v (replayed: %v)", answers[0].Refusal, answers[0].Replayed),
			}
		}
		bid := accepted[0]
		bid.ID = e.bid.ID
		if bid != e.bid || !next.EndAt.Equal(e.endAt) || next.Version != e.version {
			return s, i, &differError{s.ID, fmt.Sprintf("%s, end %s, version %d", bidText(e.bid), e.endAt, e.version),
				fmt.Sprintf("%s, end %s, version %d", bidText(bid), next.EndAt, next.Version)}
		}
		s = next
	}
	return s, len(entries), nil
}

//go:embed stop.lua
var stopText string

var stopScript = redis.NewScript(stopText)

// stopIfDiffers stops an auction about which Redis and the rulebook differ, loudly: its bids are
// answered as unavailable from now on.
func (l *Lane) stopIfDiffers(ctx context.Context, id, epoch int64, err error) {
	var differs *differError
	if !errors.As(err, &differs) && !errors.Is(err, errGarbled) {
		return
	}
	l.mu.Lock()
	l.noted[id] = epoch
	l.mu.Unlock()
	l.metrics.stops.Inc()
	l.log.Error(
		"hot: an auction is stopped; an admin can move it to the standard lane, which sets the disputed bids aside",
		"auctionId", id, "epoch", epoch, "error", err,
	)
	if err := stopScript.Run(ctx, l.client, []string{l.namesOf(id, epoch).state}, epoch).Err(); err != nil {
		l.log.Error("hot: Redis could not be told to stop an auction", "auctionId", id, "epoch", epoch, "error", err)
		l.mu.Lock()
		delete(l.noted, id) // so that the next turn tells it again
		l.mu.Unlock()
	}
}

func (l *Lane) isStopped(id, epoch int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.noted[id] == epoch && epoch != 0
}

// StoreFault reads an error of a transaction in which Redis was asked too. What means "not now"
// wraps auction.ErrUnavailable.
func StoreFault(err error) error {
	if err == nil || errors.Is(err, ErrStandard) || auction.IsRefusal(err) || errors.Is(err, auction.ErrUnavailable) {
		return err
	}
	var differs *differError
	if errors.As(err, &differs) || errors.Is(err, errGarbled) || errors.Is(err, errMoved) ||
		errors.Is(err, errStopped) {
		return fmt.Errorf("%w: %w", auction.ErrUnavailable, err)
	}
	return db.Unavailable(err)
}

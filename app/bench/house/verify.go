package house

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// faultsTold is how many faults a failed run tells; the first few say what kind they are.
const faultsTold = 5

// Keys are the idempotency keys of one load: the request's number can be read back from the log.
type Keys struct{ prefix uint64 }

// NewKeys makes keys that no other load has.
func NewKeys() Keys { return Keys{prefix: rand.Uint64()} }

// Of is the key of request i.
func (k Keys) Of(i int) (key uuid.UUID) {
	binary.BigEndian.PutUint64(key[:8], k.prefix)
	binary.BigEndian.PutUint64(key[8:], uint64(i))
	return key
}

// Number is the request a key belongs to, or -1.
func (k Keys) Number(key uuid.UUID) int {
	if binary.BigEndian.Uint64(key[:8]) != k.prefix {
		return -1
	}
	return int(binary.BigEndian.Uint64(key[8:]))
}

// Sent is what is known of one bid by the one who sent it.
type Sent struct {
	Auction int64
	Amount  int64 // cents
	Seq     int64 // as it was answered; 0: not accepted, or no answer
}

// Standing is what an auction's row says.
type Standing struct{ Price, Count int64 }

// logged is a bid as the log has it.
type logged struct {
	auction, seq, amount int64
	key                  uuid.UUID
}

// Standings reads where auctions stand.
func (h *House) Standings(ctx context.Context, ids []int64) (standings map[int64]Standing, err error) {
	err = h.long(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error {
		standings, err = readStandings(ctx, tx, ids)
		return err
	})
	return standings, err
}

// Verify compares the logs of auctions, as far as a load has written them, with what its bidders
// were told, and returns how many bids there are. Before is where the auctions stood when the load
// began. If something is wrong it looks again for a while, since the hot lane writes its log
// later; the standard lane has none.
func (h *House) Verify(
	ctx context.Context, before map[int64]Standing, bids []Sent, k Keys, while time.Duration) (
	accepted int, err error) {
	for deadline := time.Now().Add(while); ; {
		log, after, err := h.readLogs(ctx, before)
		if err != nil {
			return 0, err
		}
		wrong := verify(log, before, after, bids, k)
		if len(wrong) == 0 {
			return len(log), nil
		}
		if time.Now().After(deadline) {
			wrong = wrong[:min(len(wrong), faultsTold)]
			return len(log), fmt.Errorf("bench: the log is wrong: %w", errors.Join(wrong...))
		}
		time.Sleep(LookAgain)
	}
}

// verify returns everything that is wrong with logs: a gap, a bid that does not beat the one
// before it, one that nobody sent or that was sent otherwise, one that was acknowledged and is
// missing, and a price or count other than the log's. The log is in the order of auctions and
// numbers.
func verify(log []logged, before, after map[int64]Standing, bids []Sent, k Keys) (wrong []error) {
	fault := func(auction int64, format string, arg ...any) {
		wrong = append(wrong, fmt.Errorf("auction %d: "+format, append([]any{auction}, arg...)...))
	}
	at, found := maps.Clone(before), make([]bool, len(bids))
	for _, entry := range log {
		last := at[entry.auction]
		if entry.seq != last.Count+1 {
			fault(entry.auction, "where bid %d should be, the log has %d", last.Count+1, entry.seq)
		}
		if entry.amount <= last.Price {
			fault(entry.auction, "bid %d of %d does not beat the %d before it", entry.seq, entry.amount, last.Price)
		}
		at[entry.auction] = Standing{Price: entry.amount, Count: entry.seq}
		n := k.Number(entry.key)
		switch {
		case n < 0 || n >= len(bids) || bids[n].Amount != entry.amount || bids[n].Auction != entry.auction:
			fault(entry.auction, "bid %d of %d was not sent so by anybody", entry.seq, entry.amount)
		case found[n]:
			fault(entry.auction, "bid %d is a request's second", entry.seq)
		case bids[n].Seq != 0 && bids[n].Seq != entry.seq:
			fault(entry.auction, "bid %d was acknowledged as %d", entry.seq, bids[n].Seq)
		default:
			found[n] = true
		}
	}
	for n, bid := range bids {
		if bid.Seq != 0 && !found[n] {
			fault(bid.Auction, "a bid of %d, acknowledged as %d, is not in the log", bid.Amount, bid.Seq)
		}
	}
	for id, last := range at {
		if after[id] != last {
			fault(id, "it stands at %d after %d bids, and its log at %d after %d", after[id].Price, after[id].Count,
				last.Price, last.Count)
		}
	}
	return wrong
}

// readLogs reads, at one moment, what auctions' logs have got since they stood as before, and where
// they stand now.
func (h *House) readLogs(ctx context.Context, before map[int64]Standing) (
	log []logged, after map[int64]Standing, err error) {
	ids := slices.Sorted(maps.Keys(before))
	counts := make([]int64, len(ids))
	for i, id := range ids {
		counts[i] = before[id].Count
	}
	moment := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = h.long(ctx, moment, func(tx pgx.Tx) error {
		if after, err = readStandings(ctx, tx, ids); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			SELECT auction_id, seq, amount, request_id
			FROM unnest($1::bigint[], $2::bigint[]) AS stood (auction, count)
			    JOIN bids ON auction_id = auction AND seq > count
			ORDER BY auction_id, seq`, ids, counts)
		if err != nil {
			return err
		}
		log, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (l logged, err error) {
			return l, r.Scan(&l.auction, &l.seq, &l.amount, &l.key)
		})
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("bench: logs: %w", err)
	}
	return log, after, nil
}

func readStandings(ctx context.Context, tx pgx.Tx, ids []int64) (map[int64]Standing, error) {
	rows, err := tx.Query(ctx, `SELECT id, current_price, bid_count FROM auctions WHERE id = ANY ($1)`, ids)
	if err != nil {
		return nil, fmt.Errorf("bench: auctions: %w", err)
	}
	standings := make(map[int64]Standing, len(ids))
	var id int64
	var s Standing
	_, err = pgx.ForEachRow(rows, []any{&id, &s.Price, &s.Count}, func() error { standings[id] = s; return nil })
	return standings, err
}

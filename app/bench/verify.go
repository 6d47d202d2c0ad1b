package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// logWithin is how long after the last answer the log must be whole: at once in the standard lane, within two seconds in the hot one.
const logWithin = 5 * time.Second

// keys are the idempotency keys of one load: the request's number can be read back from the log.
type keys struct{ prefix uint64 }

func newKeys() keys { return keys{prefix: rand.Uint64()} }

func (k keys) of(i int) (key uuid.UUID) {
	binary.BigEndian.PutUint64(key[:8], k.prefix)
	binary.BigEndian.PutUint64(key[8:], uint64(i))
	return key
}

// number is the request a key belongs to, or -1.
func (k keys) number(key uuid.UUID) int {
	if binary.BigEndian.Uint64(key[:8]) != k.prefix {
		return -1
	}
	return int(binary.BigEndian.Uint64(key[8:]))
}

// sent is what is known of one bid by the one who sent it.
type sent struct {
	amount int64 // cents
	seq    int64 // as it was answered; 0: not accepted, or no answer
}

// logged is a bid as the log has it.
type logged struct {
	seq, amount int64
	key         uuid.UUID
}

// standing is what the auction's row says.
type standing struct{ price, count int64 }

// verify compares an auction's log with what its bidders were told, and returns everything that is wrong: a gap, a bid that does not beat
// the one before it, one that nobody sent or that was sent otherwise, one that was acknowledged and is missing, and a price or
// count other than the log's.
func verify(log []logged, row standing, bids []sent, k keys) (wrong []error) {
	found := make([]bool, len(bids))
	price := int64(0)
	for i, entry := range log {
		if entry.seq != int64(i)+1 {
			return append(wrong, fmt.Errorf("where bid %d should be, the log has %d", i+1, entry.seq))
		}
		if entry.amount <= price {
			wrong = append(wrong, fmt.Errorf("bid %d of %d does not beat the %d before it", entry.seq, entry.amount, price))
		}
		price = entry.amount
		n := k.number(entry.key)
		switch {
		case n < 0 || n >= len(bids) || bids[n].amount != entry.amount:
			wrong = append(wrong, fmt.Errorf("bid %d of %d was not sent so by anybody", entry.seq, entry.amount))
		case found[n]:
			wrong = append(wrong, fmt.Errorf("bid %d is a request's second", entry.seq))
		case bids[n].seq != 0 && bids[n].seq != entry.seq:
			wrong = append(wrong, fmt.Errorf("bid %d was acknowledged as %d", entry.seq, bids[n].seq))
		default:
			found[n] = true
		}
	}
	for n, bid := range bids {
		if bid.seq != 0 && !found[n] {
			wrong = append(wrong, fmt.Errorf("a bid of %d, acknowledged as %d, is not in the log", bid.amount, bid.seq))
		}
	}
	if row.price != price || row.count != int64(len(log)) {
		wrong = append(wrong, fmt.Errorf("the auction stands at %d after %d bids, and its log at %d after %d", row.price, row.count, price, len(log)))
	}
	return wrong
}

// verifyAuction reads an auction's log and verifies it, again for a while if something is missing, since a hot lane writes it later.
func (t *town) verifyAuction(ctx context.Context, id int64, bids []sent, k keys) (accepted int, err error) {
	for deadline := time.Now().Add(logWithin); ; {
		log, row, err := t.readLog(ctx, id)
		if err != nil {
			return 0, err
		}
		wrong := verify(log, row, bids, k)
		if len(wrong) == 0 {
			return len(log), nil
		}
		if time.Now().After(deadline) {
			return len(log), fmt.Errorf("bench: auction %d: %w", id, errors.Join(wrong[:min(len(wrong), 5)]...))
		}
		time.Sleep(lookAgain)
	}
}

func (t *town) readLog(ctx context.Context, id int64) (log []logged, row standing, err error) {
	err = pgx.BeginTxFunc(ctx, t.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, `SELECT current_price, bid_count FROM auctions WHERE id = $1`, id).Scan(&row.price, &row.count); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `SELECT seq, amount, request_id FROM bids WHERE auction_id = $1 ORDER BY seq`, id)
		if err != nil {
			return err
		}
		log, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (l logged, err error) { return l, r.Scan(&l.seq, &l.amount, &l.key) })
		return err
	})
	if err != nil {
		return nil, row, fmt.Errorf("bench: log of auction %d: %w", id, err)
	}
	return log, row, nil
}

package auctioneer_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"martelo/app/auction"
	"martelo/db"
)

// statement is one that changes statuses, and the rule that it states. Send sends it as if the
// rulebook had agreed. Rule says what the auction is to become, and whether it changes at all.
type statement struct {
	send func(ctx context.Context, q *db.Queries, row db.Auction, now time.Time) error
	rule func(s auction.State, now time.Time) (auction.State, bool)
}

// statements are all that change the status of an auction.
func statements(bidder int64) map[string]statement {
	first := func(s auction.State, now time.Time) (auction.State, auction.Bid, bool) {
		r := auction.Request{
			AuctionID: s.ID, BidderID: bidder, Amount: decimal(s.MinimumBid().Minor()), Key: uuid.New(),
		}
		after, bid, err := s.Decide(r, 0, now)
		return after, bid, err == nil
	}
	return map[string]statement{
		"AuctionsOpen": {
			send: func(ctx context.Context, q *db.Queries, row db.Auction, _ time.Time) error {
				_, err := q.AuctionsOpen(
					ctx, db.AuctionsOpenParams{Ids: []int64{row.ID}, Versions: []int64{row.Version + 1}},
				)
				return err
			},
			rule: auction.State.OpenAt,
		},
		"AuctionsClose": {
			send: func(ctx context.Context, q *db.Queries, row db.Auction, now time.Time) error {
				_, err := q.AuctionsClose(ctx, db.AuctionsCloseParams{
					Ids: []int64{row.ID}, Versions: []int64{row.Version + 1}, ClosedAt: &now,
				})
				return err
			},
			rule: func(s auction.State, now time.Time) (auction.State, bool) {
				closed, due := s.Close(now)
				return closed, due && s.Lane == auction.Standard
			},
		},
		"AuctionHotClose": {
			send: func(ctx context.Context, q *db.Queries, row db.Auction, now time.Time) error {
				_, err := q.AuctionHotClose(ctx, db.AuctionHotCloseParams{
					ID: row.ID, LaneEpoch: row.LaneEpoch, ClosedAt: &now, Version: row.Version + 1,
				})
				if db.IsNoRows(err) {
					return nil
				}
				return err
			},
			rule: func(s auction.State, now time.Time) (auction.State, bool) {
				closed, due := s.Close(now)
				return closed, due && s.Lane == auction.Hot
			},
		},
		"AuctionCancel": {
			send: func(ctx context.Context, q *db.Queries, row db.Auction, now time.Time) error {
				_, err := q.AuctionCancel(ctx, db.AuctionCancelParams{ID: row.ID, Version: row.Version, ClosedAt: &now})
				return err
			},
			rule: func(s auction.State, now time.Time) (auction.State, bool) {
				cancelled, err := s.Cancel(admin, now)
				return cancelled, err == nil
			},
		},
		"AuctionMoveHot": {
			send: func(ctx context.Context, q *db.Queries, row db.Auction, _ time.Time) error {
				_, err := q.AuctionMoveHot(ctx, row.ID)
				if db.IsNoRows(err) {
					return nil
				}
				return err
			},
			rule: func(s auction.State, now time.Time) (auction.State, bool) {
				if s.MayMove(admin, auction.Hot, now) != nil {
					return s, false
				}
				moved, opened := s.OpenAt(now)
				if moved.Lane = auction.Hot; !opened {
					moved.Version++
				}
				return moved, true
			},
		},
		"BidsWrite": {
			send: func(ctx context.Context, q *db.Queries, row db.Auction, now time.Time) error {
				s := row.State()
				_, err := q.BidsWrite(ctx, db.BidsWriteParams{
					AuctionIds: []int64{s.ID}, CurrentPrices: []int64{s.MinimumBid().Minor()},
					LeaderIds: []int64{bidder}, LeaderPaddles: []int32{int32(s.BidderCount + 1)},
					BidCounts: []int64{s.BidCount + 1}, BidderCounts: []int32{int32(s.BidderCount + 1)},
					EndAts: []time.Time{s.EndAt}, Versions: []int64{s.Version + 1},
					FirstAmounts: []int64{s.MinimumBid().Minor()}, BidsBefore: []int64{s.BidCount}, AcceptedAt: now,
					BidAuctionIds: []int64{s.ID}, BidSeqs: []int64{s.BidCount + 1}, BidBidderIds: []int64{bidder},
					BidPaddles: []int32{int32(s.BidderCount + 1)}, BidAmounts: []int64{s.MinimumBid().Minor()},
					BidRequestIds: []uuid.UUID{uuid.New()},
				})
				return err
			},
			rule: func(s auction.State, now time.Time) (auction.State, bool) {
				after, _, accepted := first(s, now)
				return after, accepted && s.Lane == auction.Standard
			},
		},
	}
}

// everyKind makes an auction of each kind: of both lanes, in every status, before and after its
// start and its end, extended and not.
func (h *hall) everyKind() (ids []int64) {
	rows, err := h.pool.Query(h.Context(), `
		INSERT INTO auctions (seller_id, currency, currency_digits, start_price, min_increment, current_price,
		leader_id,
		    leader_paddle, bid_count, bidder_count, status, lane, start_at, original_end_at, end_at, closed_at,
		    soft_close_window_seconds, soft_close_extend_seconds)
		SELECT $1, 'USD', 2, 100, 10, CASE bids WHEN 0 THEN 100 ELSE 150 END, CASE bids WHEN 1 THEN $2::bigint END,
		    CASE bids WHEN 1 THEN 1 END, bids, bids, status, lane, now() + starts * interval '1 hour',
		    now() + original * interval '1 hour', now() + ends * interval '1 hour',
		    CASE WHEN status IN ('CLOSED', 'CANCELLED') THEN now() END, 0, 0
		FROM (VALUES ('SCHEDULED', 1, 2, 2), ('SCHEDULED', -1, 2, 2), ('OPEN', -1, 2, 2), ('OPEN', -2, -1, -1),
		        ('OPEN', -2, -1, 1), ('CLOSED', -2, -1, -1), ('CANCELLED', -2, -1, -1), ('CANCELLED', -2, 1, 1))
		    AS kinds (status, starts, original, ends),
		    (VALUES ('standard'), ('hot')) AS lanes (lane), (VALUES (0), (1)) AS logs (bids)
		WHERE bids = 0 OR status <> 'SCHEDULED'
		RETURNING id`, h.seller, h.bidder)
	if err != nil {
		h.Fatal(err)
	}
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			h.Fatal(err)
		}
		ids = append(ids, id)
	}
	if rows.Err() != nil || len(ids) == 0 {
		h.Fatal(len(ids), rows.Err())
	}
	return ids
}

// Each statement that changes a status states the rule that the rulebook has decided by. Sent about
// an auction of any other kind, it changes nothing. Sent about the right one, it makes of it what
// the rulebook says. Lists have the status at once.
func TestTheStatementsAgreeWithTheRulebook(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	all := statements(h.user())
	changes := map[string]int{}
	for _, id := range h.everyKind() {
		for name, statement := range all {
			tx, err := h.pool.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			q := db.New(tx)
			row, err := q.AuctionLock(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			now, err := q.Clock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			before := row.State()
			want, changed := statement.rule(before, now)
			if !changed {
				want = before
			} else {
				changes[name]++
			}
			if err := statement.send(t.Context(), q, row, now); err != nil {
				t.Errorf("%s of %+v: %v", name, before, err)
			} else if row, err = q.AuctionRow(t.Context(), id); err != nil || row.State() != want {
				t.Errorf("%s made %+v of %+v, the rulebook says %+v (%v)", name, row.State(), before, want, err)
			}
			var listed string
			if err := tx.QueryRow(
				t.Context(), `SELECT status FROM listings WHERE auction_id = $1`, id,
			).Scan(&listed); err != nil || listed != row.Status {
				t.Errorf("after %s lists have %q for %+v (%v)", name, listed, want, err)
			}
			if err := tx.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name := range all {
		if changes[name] == 0 {
			t.Errorf("%s was never sent about what it is for", name)
		}
	}
	for _, name := range statusStatements(t) {
		if _, tested := all[name]; !tested {
			t.Errorf("%s changes statuses and is not held against the rulebook", name)
		}
	}
}

var setsStatus = regexp.MustCompile(`(?m)^\s*(SET\s+)?status\s+=\s`)

// What was decided about an older version of an auction is not written.
func TestADecisionIsForOneVersion(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	clock, err := db.New(h.pool).Clock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range h.everyKind() {
		row, err := db.New(h.pool).AuctionRow(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		for name, statement := range statements(h.bidder) {
			if name == "AuctionMoveHot" || name == "BidsWrite" || name == "AuctionHotClose" {
				continue // held by the lock alone, by the place in the log, and by the epoch
			}
			old, now := row, clock
			old.Version--
			if err := statement.send(t.Context(), db.New(h.pool), old, now); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if after, err := db.New(h.pool).AuctionRow(t.Context(), id); err != nil || after.Version != row.Version {
				t.Errorf("%s wrote a decision about version %d: %+v, %v", name, old.Version, after.State(), err)
			}
		}
	}
}

// statusStatements names the statements that set the status of an auction.
func statusStatements(t *testing.T) (names []string) {
	files, err := filepath.Glob("../../queries/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, statement := range strings.Split(string(text), "-- name: ")[1:] {
			if strings.Contains(statement, "UPDATE auctions") && setsStatus.MatchString(statement) {
				names = append(names, statement[:strings.Index(statement, " ")])
			}
		}
	}
	if len(names) == 0 {
		t.Fatal("no statement sets a status")
	}
	return names
}

// What the closer makes of a house in which auctions of every kind stand side by side is what the
// rulebook says about each.
func TestTheCloserAgreesWithTheRulebook(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	ids := h.everyKind()
	before := h.states(ids)
	now, err := db.New(h.pool).Clock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := h.closer(func(auction.Update) {}).Due(t.Context()); err != nil {
		t.Fatal(err)
	}
	for id, after := range h.states(ids) {
		want := before[id]
		if opened, ok := want.OpenAt(now); ok {
			want = opened
		}
		if closed, ok := want.Close(now); ok && want.Lane == auction.Standard {
			if after.ClosedAt.Before(now) {
				t.Errorf("closed at %s, before %s", after.ClosedAt, now)
			}
			want, want.ClosedAt = closed, after.ClosedAt
		}
		if after != want {
			t.Errorf("%+v became %+v, the rulebook says %+v", before[id], after, want)
		}
	}
}

func (h *hall) states(ids []int64) map[int64]auction.State {
	live, err := db.New(h.pool).AuctionsLive(h.Context(), ids)
	if err != nil || len(live) != len(ids) {
		h.Fatalf("%d of %d, %v", len(live), len(ids), err)
	}
	states := map[int64]auction.State{}
	for _, row := range live {
		states[row.Auction.ID] = row.Auction.State()
	}
	return states
}

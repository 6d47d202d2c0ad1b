package db_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"martelo/db"
	"martelo/db/dbtest"
)

var (
	parameters = regexp.MustCompile(`\$(\d+)`)
	wholeTable = regexp.MustCompile(`Seq Scan on (auctions|bids|outbox|users|tokens|lots|listings)\b|JIT:`)
	// whatIsDue is read from its index only as far as the clock has come, and not filtered out of
	// all that is open.
	whatIsDue = regexp.MustCompile(`Index Cond: \(+(original_end_at|start_at) <= \$`)
)

// The statements that decide are planned once, for any arguments and however much there is by then
// (see Open). None of those plans may read a whole table, of which an auction house has large ones.
func TestPlansForAnyArgumentsReadByIndex(t *testing.T) {
	t.Parallel()
	pool, err := db.Open(dbtest.URL(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	exec := func(sql string) {
		t.Helper()
		if _, err := pool.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%.80s: %v", sql, err)
		}
	}
	exec(`VACUUM (ANALYZE) auctions, bids, outbox`) // PostgreSQL knows that they are empty
	for _, filled := range []bool{false, true} {
		if filled {
			fillMuch(exec)
		}
		for _, statement := range []string{
			db.AuctionsLock, db.BidsWrite, db.AuctionCancel, db.AuctionsDue, db.AuctionsDueIDs, db.AuctionsClose,
			db.AuctionsToOpenIDs, db.AuctionsOpen,
			db.AuctionByRequest, db.AuctionLock, db.AuctionNextDue,
			db.AuctionsOfSellerCount,
			db.AuctionsToOpen, db.AuctionVersions, db.AuctionsLive, db.BidMineIn, db.BidPaddles, db.BidsAfter,
			db.BidsBetween, db.BidsByRequest, db.BidsByRequestOfMany, db.BidPaddlesOfMany, db.BidsLatest,
			db.BidsLatestOfMany, db.AuctionBidsSettle, db.AuctionHotClose, db.AuctionHotDue, db.AuctionHotOpen,
			db.AuctionLockIfFree, db.AuctionMoveHot,
			db.AuctionMoveStandard, db.AuctionRow, db.BidPaddlesAll, db.ListingsFollow, db.ListingsBehind,
			db.ListingsInsertMissing, db.OutboxAuctions, db.OutboxBacklog, db.OutboxBids, db.OutboxDelete,
			db.OutboxHead,
		} {
			name, _, _ := strings.Cut(statement, "\n")
			exec("PREPARE it AS " + statement)
			rows, err := pool.Query(t.Context(), "EXPLAIN EXECUTE it"+nulls(statement), pgx.QueryExecModeSimpleProtocol)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			exec("DEALLOCATE it")
			plan := strings.Join(lines, "\n")
			due := slices.Contains([]string{
				db.AuctionsDue, db.AuctionsDueIDs, db.AuctionsToOpen, db.AuctionsToOpenIDs, db.AuctionHotDue,
			}, statement)
			if wholeTable.MatchString(plan) || due && !whatIsDue.MatchString(plan) {
				t.Errorf("filled: %v\n%s\n%s", filled, name, plan)
			}
		}
	}
}

func fillMuch(exec func(string)) {
	exec(`INSERT INTO users (name) SELECT 'somebody' FROM generate_series(1, 3000)`)
	exec(`INSERT INTO auctions (seller_id, currency, currency_digits, start_price, min_increment, current_price, status,
		start_at, end_at, original_end_at)
		SELECT (SELECT min(id) FROM users), 'USD', 2, 100, 1, 100, CASE WHEN n % 10 = 0 THEN 'SCHEDULED'
		ELSE 'OPEN' END,
		    now() + n * interval '1 ms', now() + interval '1 hour' + n * interval '1 ms',
		    now() + interval '1 hour' + n * interval '1 ms'
		FROM generate_series(1, 30000) AS n`)
	exec(`INSERT INTO bids (auction_id, seq, bidder_id, paddle, amount, request_id, accepted_at)
		SELECT a.id, n, u.id, 1, 100 + n, gen_random_uuid(), now()
		FROM (SELECT id FROM auctions ORDER BY id LIMIT 300) AS a, generate_series(1, 100) AS n,
		LATERAL (SELECT min(id) + n AS id FROM users) AS u`)
	exec(`INSERT INTO outbox (topic, auction_id) SELECT 'auction-closed', n FROM generate_series(1, 20000) AS n`)
	exec(`ANALYZE`)
}

// nulls are a statement's arguments, which a plan for any does not look at.
func nulls(statement string) string {
	count := 0
	for _, found := range parameters.FindAllStringSubmatch(statement, -1) {
		n, _ := strconv.Atoi(found[1])
		count = max(count, n)
	}
	if count == 0 {
		return ""
	}
	return " (" + strings.TrimSuffix(strings.Repeat("NULL, ", count), ", ") + ")"
}

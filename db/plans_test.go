package db_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"martelo/db"
	"martelo/db/dbtest"
)

var (
	parameters = regexp.MustCompile(`\$(\d+)`)
	wholeTable = regexp.MustCompile(`Seq Scan on (auctions|bids|outbox|users|tokens|lots)\b`)
)

// The statements that decide are planned once, for any arguments (see Open). None of those plans may read a whole table, of which an auction
// house has large ones.
func TestPlansForAnyArgumentsReadByIndex(t *testing.T) {
	t.Parallel()
	pool := dbtest.Pool(t)
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	exec := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%.80s: %v", sql, err)
		}
	}
	exec(`INSERT INTO users (name) SELECT 'somebody' FROM generate_series(1, 3000)`)
	exec(`INSERT INTO auctions (seller_id, currency, currency_digits, start_price, min_increment, current_price, status, start_at, end_at, original_end_at)
		SELECT (SELECT min(id) FROM users), 'USD', 2, 100, 1, 100, CASE WHEN n % 10 = 0 THEN 'SCHEDULED' ELSE 'OPEN' END,
		    now() + n * interval '1 ms', now() + interval '1 hour' + n * interval '1 ms', now() + interval '1 hour' + n * interval '1 ms'
		FROM generate_series(1, 30000) AS n`)
	exec(`INSERT INTO bids (auction_id, seq, bidder_id, paddle, amount, request_id, accepted_at)
		SELECT a.id, n, u.id, 1, 100 + n, gen_random_uuid(), now()
		FROM (SELECT id FROM auctions ORDER BY id LIMIT 300) AS a, generate_series(1, 100) AS n, LATERAL (SELECT min(id) + n AS id FROM users) AS u`)
	exec(`INSERT INTO outbox (topic, auction_id) SELECT 'auction-closed', n FROM generate_series(1, 20000) AS n`)
	exec(`ANALYZE`)
	exec(`SET plan_cache_mode = force_generic_plan`)
	for _, statement := range []string{
		db.AuctionBidsWrite, db.AuctionCancel, db.AuctionCloseDue, db.AuctionCloseOne, db.AuctionDueIDs, db.AuctionIDByRequest, db.AuctionLock, db.AuctionNextDue,
		db.AuctionOpenDue, db.AuctionVersions, db.AuctionsLive, db.BidMineIn, db.BidPaddles, db.BidsAfter, db.BidsBetween, db.BidsByRequest, db.BidsLatest,
		db.BidsLatestOfMany, db.AuctionBidsSettle, db.AuctionHotClose, db.AuctionHotDue, db.AuctionHotOpen, db.AuctionLockIfFree, db.AuctionMoveHot,
		db.AuctionMoveStandard, db.AuctionRow, db.BidPaddlesAll, db.OutboxAuctions, db.OutboxBacklog, db.OutboxBids, db.OutboxDelete, db.OutboxHead,
	} {
		name, _, _ := strings.Cut(statement, "\n")
		count := 0
		for _, found := range parameters.FindAllStringSubmatch(statement, -1) {
			n, _ := strconv.Atoi(found[1])
			count = max(count, n)
		}
		execute := "EXECUTE it"
		if count > 0 {
			execute += " (" + strings.TrimSuffix(strings.Repeat("NULL, ", count), ", ") + ")"
		}
		exec("PREPARE it AS " + statement)
		rows, err := conn.Query(t.Context(), "EXPLAIN "+execute, pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		exec("DEALLOCATE it")
		if plan := strings.Join(lines, "\n"); wholeTable.MatchString(plan) {
			t.Errorf("%s\n%s", name, plan)
		}
	}
}

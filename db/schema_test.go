package db_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pressly/goose/v3"

	"martelo/app/auction"
	"martelo/db"
	"martelo/db/dbtest"
	"martelo/migrations"
)

// fill makes an auction of each status, the open and closed one with a bid, and returns the
// statuses' ids.
func fill(t *testing.T, pool *pgxpool.Pool) map[string]int64 {
	ids := map[string]int64{}
	for status, values := range map[string]string{
		"SCHEDULED": `100, NULL::bigint, NULL::integer, 0, 0, 'SCHEDULED', now() + interval '1 hour',
			now() + interval '2 hours', NULL::timestamptz`,
		"OPEN": `150, bidder.id, 1, 1, 1, 'OPEN', now() - interval '1 hour', now() + interval '2 hours',
			NULL::timestamptz`,
		"CLOSED": `150, bidder.id, 1, 1, 1, 'CLOSED', now() - interval '2 hours', now() - interval '1 hour', now()`,
		"CANCELLED": `100, NULL::bigint, NULL::integer, 0, 0, 'CANCELLED', now() - interval '1 hour',
			now() + interval '1 hour', now()`,
	} {
		var id int64
		if err := pool.QueryRow(t.Context(), `
			WITH seller AS (INSERT INTO users (name) VALUES ('seller') RETURNING id), bidder
			AS (INSERT INTO users (name) VALUES ('bidder') RETURNING id)
			INSERT INTO auctions (seller_id, currency, currency_digits, start_price, min_increment, current_price,
			leader_id, leader_paddle, bid_count,
			    bidder_count, status, start_at, end_at, closed_at, original_end_at)
			SELECT seller.id, 'USD', 2, 100, 10, v.*, v.e FROM seller, bidder,
			LATERAL (SELECT `+values+`) AS v (p, l, lp, b, bb, s, st, e, c) RETURNING id`).Scan(&id); err != nil {
			t.Fatalf("%s: %v", status, err)
		}
		ids[status] = id
	}
	if _, err := pool.Exec(t.Context(), `INSERT INTO bids (auction_id, seq, bidder_id, paddle, amount, request_id,
		accepted_at)
		SELECT id, 1, leader_id, 1, 150, gen_random_uuid(), now() FROM auctions WHERE bid_count = 1`); err != nil {
		t.Fatal(err)
	}
	return ids
}

// refused runs a statement that the named constraint or trigger must refuse.
func refused(t *testing.T, pool *pgxpool.Pool, constraint, statement string, args ...any) {
	t.Helper()
	_, err := pool.Exec(t.Context(), statement, args...)
	var fault *pgconn.PgError
	if !errors.As(err, &fault) || fault.ConstraintName != constraint {
		t.Errorf("%s: %v, want %s", statement, err, constraint)
	}
}

func TestWhatIsOverNeverChanges(t *testing.T) {
	pool := dbtest.Pool(t)
	ids := fill(t, pool)
	for _, status := range []string{"CLOSED", "CANCELLED"} {
		for _, change := range []string{
			"status = 'OPEN', closed_at = NULL", "leader_id = seller_id", "current_price = current_price + 1000",
			"end_at = end_at + interval '1 hour'", "lane = 'hot'",
		} {
			refused(
				t, pool, "auctions_over_is_over", "UPDATE auctions SET version = version + 1, "+change+" WHERE id = $1",
				ids[status],
			)
		}
	}
	for _, id := range ids {
		refused(t, pool, "auctions_stay", "DELETE FROM auctions WHERE id = $1", id)
	}
}

func TestTheLogIsAppendOnly(t *testing.T) {
	pool := dbtest.Pool(t)
	fill(t, pool)
	for _, statement := range []string{"UPDATE bids SET amount = amount + 1", "DELETE FROM bids"} {
		refused(t, pool, "bids_append_only", statement)
	}
	refused(t, pool, "bids_stay_all", "TRUNCATE bids")
	refused(t, pool, "users_stay", "DELETE FROM users")
	refused(
		t, pool, "bids_pkey",
		"INSERT INTO bids (auction_id, seq, bidder_id, paddle, amount, request_id, accepted_at) SELECT auction_id, "+
			"seq, bidder_id, 1, amount, gen_random_uuid(), now() FROM bids",
	)
	refused(
		t, pool, "bids_request_key",
		"INSERT INTO bids (auction_id, seq, bidder_id, paddle, amount, request_id, accepted_at) SELECT auction_id, "+
			"seq + 1, bidder_id, 1, amount, request_id, now() FROM bids",
	)
}

// What other rows name is not removed, by no statement that the owner might send by mistake.
func TestWhatIsNamedStays(t *testing.T) {
	pool := dbtest.Pool(t)
	fill(t, pool)
	for _, statement := range []string{
		"INSERT INTO lots (auction_id, title) SELECT id, 'Watch' FROM auctions",
		"INSERT INTO outbox (topic, auction_id) VALUES ('auction-closed', 1)",
	} {
		if _, err := pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	refused(t, pool, "users_stay_all", "TRUNCATE users CASCADE")
	refused(t, pool, "auctions_stay_all", "TRUNCATE auctions CASCADE")
	refused(t, pool, "lots_stay", "DELETE FROM lots")
	refused(t, pool, "lots_stay_all", "TRUNCATE lots")
	refused(t, pool, "outbox_stay_all", "TRUNCATE outbox")
	if _, err := pool.Exec(t.Context(), "DELETE FROM outbox"); err != nil {
		t.Errorf("an event that has been told goes: %v", err)
	}
}

// Grant names every table, so that a new one is thought of.
func TestEveryTableHasItsRights(t *testing.T) {
	pool := dbtest.Pool(t)
	rows, err := pool.Query(t.Context(), "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(tables) < 8 {
		t.Fatal(tables, err)
	}
	for _, table := range tables {
		if !db.Granted(table) {
			t.Errorf("db.Grant does not say what serving needs of %s", table)
		}
	}
}

func TestAHouseHasOneIdentity(t *testing.T) {
	pool := dbtest.Pool(t)
	refused(t, pool, "house_stays", "DELETE FROM house")
	refused(t, pool, "house_stays", "TRUNCATE house")
	refused(t, pool, "house_pkey", "INSERT INTO house DEFAULT VALUES")
	refused(t, pool, "house_is_single", "INSERT INTO house (single) VALUES (false)")
	if row, err := db.New(pool).HouseIdentity(t.Context()); err != nil || row.ID == uuid.Nil || row.UnnamedEpochs != 0 {
		t.Errorf("%+v, %v", row, err)
	}
}

// A house from before there were identities keeps the names that it gave in Redis, and nodes that
// know no identity give no new ones.
func TestEpochsFromBeforeTheIdentityKeepTheirNames(t *testing.T) {
	url := dbtest.URL(t)
	pool, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	provider, err := goose.NewProvider(goose.DialectPostgres, pool, migrations.Files)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.DownTo(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	const draw = "SELECT nextval('auction_lane_epochs')"
	var last int64
	if err := pool.QueryRowContext(t.Context(), draw).Scan(&last); err != nil {
		t.Fatal(err)
	}
	if _, err := provider.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	var unnamed, next int64
	if err := pool.QueryRowContext(
		t.Context(), "SELECT unnamed_epochs, nextval('auction_hot_epochs') FROM house",
	).Scan(&unnamed, &next); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.ExecContext(t.Context(), draw); unnamed != last || next != last+1 || err == nil {
		t.Errorf("%d epochs without a name, the next is %d; an older node draws: %v", unnamed, next, err)
	}
}

func TestABrokenRowIsImpossible(t *testing.T) {
	pool := dbtest.Pool(t)
	open := fill(t, pool)["OPEN"]
	for change, constraint := range map[string]string{
		"start_price = 1":                                "auctions_terms_are_fixed",
		"min_increment = 1":                              "auctions_terms_are_fixed",
		"seller_id = leader_id":                          "auctions_terms_are_fixed",
		"original_end_at = end_at":                       "",
		"current_price = 99":                             "auctions_price_from_start",
		"current_price = 105":                            "auctions_price_moved_by_bids",
		"leader_id = NULL":                               "auctions_leader_with_bids",
		"bid_count = 0":                                  "auctions_bidder_count_range",
		"leader_id = seller_id":                          "auctions_leader_not_seller",
		"leader_id = 999999999":                          "auctions_leader_fkey",
		"end_at = original_end_at - interval '1 second'": "auctions_end_never_earlier",
		"end_at = 'infinity'":                            "auctions_times_finite",
		"status = 'CLOSED'":                              "auctions_closed_at_when_over",
		"status = 'CLOSED', closed_at = now()":           "auctions_closed_after_end",
		"status = 'SOLD'":                                "auctions_status_known",
		"bidder_count = 2":                               "auctions_bidder_count_range",
	} {
		statement := "UPDATE auctions SET version = version + 1, " + change + " WHERE id = $1"
		if constraint == "" {
			if _, err := pool.Exec(t.Context(), statement, open); err != nil {
				t.Errorf("%s: %v", change, err)
			}
			continue
		}
		refused(t, pool, constraint, statement, open)
	}
	refused(
		t, pool, "auctions_version_rises", "UPDATE auctions SET end_at = end_at + interval '1 minute' WHERE id = $1",
		open,
	)
}

func TestRowsReadAsStates(t *testing.T) {
	pool := dbtest.Pool(t)
	ids := fill(t, pool)
	rows, err := db.New(pool).AuctionsLive(t.Context(), []int64{ids["CLOSED"], ids["CANCELLED"], 999999999})
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, row := range rows {
		s := row.Auction.State()
		if won := s.Result().WinnerID != 0; won != (s.Status == auction.Closed) || s.ClosedAt.IsZero() ||
			s.EndAt.Location().String() != "UTC" {
			t.Errorf("%+v", s)
		}
	}
}

// Every migration can be taken back and applied again, and any number of nodes may migrate at once.
func TestMigrationsGoBackAndForth(t *testing.T) {
	dbtest.Long(t)
	url := dbtest.URL(t)
	pool, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	provider, err := goose.NewProvider(goose.DialectPostgres, pool, migrations.Files)
	if err != nil {
		t.Fatal(err)
	}
	down, err := provider.DownTo(t.Context(), 0)
	if err != nil || len(down) == 0 {
		t.Fatalf("%d taken back, %v", len(down), err)
	}
	served, err := db.Open(url, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer served.Close()
	if err := db.Ready(t.Context(), served); err == nil {
		t.Error("a database without a schema is ready")
	}
	if _, err := db.New(served).AuctionVersions(t.Context(), nil); !errors.Is(
		db.Unavailable(err), auction.ErrUnavailable,
	) {
		t.Errorf("a statement on a missing table is %v", err)
	}
	const nodes = 4
	applied, failed := make(chan int, nodes), make(chan error, nodes)
	for range nodes {
		go func() {
			n, err := db.Migrate(t.Context(), url, nil)
			applied <- n
			failed <- err
		}()
	}
	total := 0
	for range nodes {
		total += <-applied
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	if err := db.Ready(t.Context(), served); err != nil {
		t.Error(err)
	}
	if total != len(down) {
		t.Errorf("%d applied in all, %d taken back", total, len(down))
	}
}

// The migration that gives lists rows of their own fills them while auctions are opened, bid on and
// closed, by nodes that know nothing of it and under a role that was granted before. It goes back.
func TestListingsAreFilledWhileTheHouseGoesOn(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	pool, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	provider, err := goose.NewProvider(goose.DialectPostgres, pool, migrations.Files)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.DownTo(t.Context(), 8); err != nil {
		t.Fatal(err)
	}
	role := "old_node_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	exec := func(statement string) error {
		_, err := pool.ExecContext(t.Context(), statement)
		return err
	}
	const open = `INSERT INTO auctions (seller_id, currency, currency_digits, start_price, min_increment, current_price,
		status, start_at, end_at, original_end_at)
		SELECT (SELECT min(id) FROM users), 'USD', 2, 100, 1, 100, CASE n % 7 WHEN 0 THEN 'SCHEDULED' ELSE 'OPEN' END,
		    now() - interval '1 hour', now() - interval '1 minute', now() - interval '1 minute' FROM generate_series(1,
		`
	for _, statement := range []string{
		"CREATE ROLE " + role, "GRANT SELECT, INSERT, UPDATE ON auctions, users TO " + role,
		"INSERT INTO users (name) VALUES ('somebody')", open + "5000) AS n",
	} {
		if err := exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	defer func() {
		for _, statement := range []string{"DROP OWNED BY " + role, "DROP ROLE " + role} {
			if err := exec(statement); err != nil {
				t.Error(err)
			}
		}
	}()
	old, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	defer func() { _, _ = old.ExecContext(context.WithoutCancel(t.Context()), "RESET ROLE") }()
	ctx, stop := context.WithCancel(t.Context())
	went, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		var err error
		for round := 0; err == nil && ctx.Err() == nil; round++ {
			for _, statement := range []string{
				"SET ROLE " + role, open + "5) AS n",
				`UPDATE auctions SET status = 'CLOSED', closed_at = clock_timestamp(), version = version + 1
				WHERE id IN (SELECT id FROM auctions WHERE status = 'OPEN' ORDER BY id LIMIT 3)`,
				`UPDATE auctions SET status = 'CANCELLED', closed_at = clock_timestamp(), version = version + 1
				WHERE id = (SELECT max(id) FROM auctions)`,
			} {
				if err == nil {
					_, err = old.ExecContext(context.WithoutCancel(ctx), statement)
				}
			}
			select {
			case went <- struct{}{}:
			default:
			}
		}
		ended <- err
	}()
	goesOn := func() {
		t.Helper()
		select {
		case <-went:
		case err := <-ended:
			t.Fatalf("an old node: %v", err)
		}
	}
	defer stop()
	goesOn()
	if _, err := db.Migrate(t.Context(), url, nil); err != nil {
		t.Fatal(err)
	}
	goesOn()
	goesOn()
	stop()
	if err := <-ended; err != nil {
		t.Errorf("an old node: %v", err)
	}
	var auctions, same int
	if err := pool.QueryRowContext(t.Context(), `SELECT count(*), count(*) FILTER (WHERE
		(a.status, a.end_at, a.nominal_price, a.version) = (l.status, l.end_at, l.nominal_price, l.version))
		FROM auctions a LEFT JOIN listings l ON l.auction_id = a.id`).Scan(&auctions, &same); err != nil ||
		auctions < 5010 || same != auctions {
		t.Errorf("%d of %d are listed as they are, %v", same, auctions, err)
	}
	if _, err := provider.DownTo(t.Context(), 8); err != nil {
		t.Fatal(err)
	}
	if err := exec(open + "1) AS n"); err != nil {
		t.Errorf("after going back: %v", err)
	}
}

// While somebody reads a table for long, a migration that changes it lets bids pass, says whom it
// waits for, and is done soon after.
func TestAMigrationLetsBidsPass(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	url := dbtest.URL(t)
	pool, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	provider, err := goose.NewProvider(goose.DialectPostgres, pool, migrations.Files)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.DownTo(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	report, err := pgx.Connect(t.Context(), url+"&application_name=report")
	if err != nil {
		t.Fatal(err)
	}
	defer report.Close(context.WithoutCancel(t.Context()))
	if _, err := report.Exec(t.Context(), "BEGIN; SELECT FROM auctions"); err != nil {
		t.Fatal(err)
	}
	said, migrated := make(chan string, 10), make(chan error, 1)
	go func() {
		_, err := db.Migrate(t.Context(), url, func(sentence string) { said <- sentence })
		migrated <- err
	}()
	if sentence := <-said; !strings.Contains(sentence, "report") {
		t.Errorf("it says %q", sentence)
	}
	for done, began := 0, time.Now(); time.Since(began) < 2*time.Second; done++ {
		before := time.Now()
		if _, err := pool.ExecContext(
			t.Context(), "UPDATE auctions SET version = version + 1 WHERE false",
		); err != nil || time.Since(before) > time.Second {
			t.Fatalf("what bids do takes %s: %v", time.Since(before), err)
		}
	}
	if _, err := report.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := <-migrated; err != nil {
		t.Error(err)
	}
}

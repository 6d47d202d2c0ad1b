package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"martelo/app/auction"
	"martelo/app/catalog"
	"martelo/app/listing"
	"martelo/app/money"
	"martelo/app/refusal"
	"martelo/db"
	"martelo/db/dbtest"
)

// house is a catalog over some thousand auctions of all kinds: three in five open, half of them in
// yen.
type house struct {
	testing.TB
	pool    *pgxpool.Pool
	catalog *catalog.Catalog
	sellers []int64
}

const lotsMade = 5000

func open(t testing.TB) *house {
	t.Helper()
	pool, err := db.OpenReader(dbtest.URL(t), 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	h := &house{TB: t, pool: pool, catalog: catalog.New(pool)}
	for range 3 {
		user, err := db.New(pool).UserInsert(t.Context(), db.UserInsertParams{Name: "Seller", Role: "seller"})
		if err != nil {
			t.Fatal(err)
		}
		h.sellers = append(h.sellers, user.ID)
	}
	h.exec(`INSERT INTO auctions (seller_id, currency, currency_digits, start_price, min_increment, current_price,
		status, start_at, end_at, original_end_at, closed_at)
		SELECT ($1::bigint[])[1 + n % 3], CASE n % 2 WHEN 0 THEN 'USD' ELSE 'JPY' END, CASE n % 2 WHEN 0 THEN 2
		ELSE 0 END, p, 100, p,
			status, now() - interval '9 days', ends, ends, CASE WHEN status IN ('CLOSED', 'CANCELLED')
			THEN now() + interval '99 days' END
		FROM (SELECT n, (n * 7919) % 1000 * CASE n % 2 WHEN 0 THEN 100 ELSE 1 END AS p,
		now() + ((n * 104729) % 500 - 100) * interval '1 minute' AS ends,
			(ARRAY['OPEN', 'OPEN', 'OPEN', 'CLOSED', 'CANCELLED', 'SCHEDULED', 'OPEN'])[1 + n % 7] AS status
			FROM generate_series(1, $2::int) n) AS made`, h.sellers, lotsMade)
	h.exec(`INSERT INTO lots (auction_id, title, description)
		SELECT id, 'Lot number ' || id || CASE id % 50 WHEN 0 THEN ' rare e-mail watch, 12.50 mm O''Brien' ELSE '' END,
		'described' FROM auctions`)
	h.exec(`ANALYZE`)
	return h
}

func (h *house) exec(statement string, arguments ...any) {
	h.Helper()
	if _, err := h.pool.Exec(h.Context(), statement, arguments...); err != nil {
		h.Fatal(err)
	}
}

// follow brings the listings up to date, as a node does within a second.
func (h *house) follow() {
	h.Helper()
	follower := listing.New(h.pool, slog.New(slog.DiscardHandler), nil)
	for after := int64(-1); after != 0; {
		var err error
		if after, err = follower.Look(h.Context(), max(after, 0)); err != nil {
			h.Fatal(err)
		}
	}
	if err := follower.Follow(h.Context()); err != nil {
		h.Fatal(err)
	}
}

// walk reads a list to its end, page by page.
func (h *house) walk(f catalog.Filter) []catalog.Auction {
	h.Helper()
	var all []catalog.Auction
	for {
		page, err := h.catalog.List(h.Context(), f)
		if err != nil {
			h.Fatal(err)
		}
		if len(page.Auctions) > f.Limit {
			h.Fatalf("a page has %d auctions, at most %d were asked for", len(page.Auctions), f.Limit)
		}
		all = append(all, page.Auctions...)
		if page.Next == "" {
			return all
		}
		f.Cursor = page.Next
	}
}

func nominal(a catalog.Auction) int64 {
	n := a.CurrentPrice.Minor()
	for range 4 - a.Currency.Digits() {
		n *= 10
	}
	return n
}

func TestListsAreWholeAndInOrder(t *testing.T) {
	t.Parallel()
	h := open(t)
	orders := map[catalog.Sort]func(a, b catalog.Auction) bool{
		catalog.SortEnding: func(a, b catalog.Auction) bool {
			return inOrder(a, b)
		},
		catalog.SortPrice: func(a, b catalog.Auction) bool {
			return nominal(a) < nominal(b) || nominal(a) == nominal(b) && a.ID < b.ID
		},
		catalog.SortNewest: func(a, b catalog.Auction) bool { return a.ID > b.ID },
	}
	for sort, before := range orders {
		for _, c := range []struct {
			filter catalog.Filter
			where  string
		}{
			{catalog.Filter{}, "status = 'OPEN'"},
			{catalog.Filter{Status: auction.Closed}, "status = 'CLOSED'"},
			{catalog.Filter{Status: auction.Scheduled}, "status = 'SCHEDULED'"},
			{catalog.Filter{Status: catalog.All}, "true"},
			{catalog.Filter{Status: auction.Cancelled}, "status = 'CANCELLED'"},
			{catalog.Filter{SellerID: h.sellers[1], Status: catalog.All}, fmt.Sprintf("seller_id = %d", h.sellers[1])},
			{catalog.Filter{SellerID: h.sellers[1]}, fmt.Sprintf("seller_id = %d AND status = 'OPEN'", h.sellers[1])},
			{catalog.Filter{Query: "rare watch", Status: catalog.All}, "id % 50 = 0"},
			{
				catalog.Filter{Query: "WATCH rar", SellerID: h.sellers[0]},
				fmt.Sprintf("id %% 50 = 0 AND status = 'OPEN' AND seller_id = %d", h.sellers[0]),
			},
		} {
			var want int
			if err := h.pool.QueryRow(
				t.Context(), "SELECT count(*) FROM auctions WHERE "+c.where,
			).Scan(&want); err != nil {
				t.Fatal(err)
			}
			c.filter.Sort, c.filter.Limit = sort, 97
			got := h.walk(c.filter)
			if len(got) != want || want == 0 {
				t.Errorf("%s, %s: %d auctions, want %d", sort, c.where, len(got), want)
			}
			for i := 1; i < len(got); i++ {
				if !before(got[i-1], got[i]) {
					t.Errorf("%s, %s: auction %d comes before %d", sort, c.where, got[i-1].ID, got[i].ID)
					break
				}
			}
		}
	}
}

func TestWordsAreFoundAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	h := open(t)
	all := lotsMade / 50
	for query, want := range map[string]int{
		"watch": all, "wat": all, "WATCH": all, "e-mail": all, "12.50": all, "o'brien": all, "O'Br": all, "watch,": all,
		"atch": 0, "watch nothing": 0, "'": 0, "\\": 0, "!": 0,
		"& | ! ( ) :*": 0, "rare & watch": all, "rare ! watch": all, "\x00": 1, "  ": 1, "a b c d e f g h i j": 0,
		strings.Repeat("watch ", 100): all,
	} {
		got := h.walk(catalog.Filter{Query: query, Status: catalog.All, Limit: 100})
		if want == 1 { // nothing was searched for, so the list is not narrowed
			want = lotsMade
		}
		if len(got) != want {
			t.Errorf("%q finds %d, want %d", query, len(got), want)
		}
	}
}

func TestFiltersThatCannotBeRead(t *testing.T) {
	t.Parallel()
	h := open(t)
	page, err := h.catalog.List(t.Context(), catalog.Filter{Limit: 1})
	if err != nil || page.Next == "" {
		t.Fatal(err)
	}
	for field, f := range map[string]catalog.Filter{
		"status": {Status: "open"}, "sort": {Sort: "end"}, "limit": {Limit: 101}, "seller": {SellerID: -1},
		"cursor": {Sort: catalog.SortPrice, Cursor: page.Next},
	} {
		var wrong *refusal.FieldError
		if _, err := h.catalog.List(t.Context(), f); !errors.As(err, &wrong) || wrong.Field != field {
			t.Errorf("%+v: %v, want a refusal of %s", f, err, field)
		}
	}
}

// TestPlansOfTheLists holds the lists to their indexes: a table of a hundred thousand auctions must
// not be read through for a page of them.
func TestPlansOfTheLists(t *testing.T) {
	t.Parallel()
	h := open(t)
	plans := &explainer{}
	config, err := pgxpool.ParseConfig(h.pool.Config().ConnString())
	if err != nil {
		t.Fatal(err)
	}
	config.ConnConfig.Tracer = plans
	config.ConnConfig.RuntimeParams["plan_cache_mode"] = "force_custom_plan"
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	traced := catalog.New(pool)
	statuses := []auction.Status{auction.Open, auction.Closed, auction.Scheduled, auction.Cancelled, catalog.All}
	for _, sort := range []catalog.Sort{catalog.SortEnding, catalog.SortPrice, catalog.SortNewest} {
		for _, status := range statuses {
			for _, seller := range []int64{0, h.sellers[0]} {
				f := catalog.Filter{Status: status, Sort: sort, SellerID: seller, Limit: 20}
				for range 2 { // the first page and the one after it
					plans.statements = nil
					page, err := traced.List(t.Context(), f)
					if err != nil {
						t.Fatal(err)
					}
					f.Cursor = page.Next
					for _, s := range plans.statements {
						plan := h.plan(s)
						if strings.Contains(plan, "Seq Scan on auctions") ||
							strings.Contains(plan, "Seq Scan on listings") {
							t.Errorf("%+v reads a whole table:\n%s", f, plan)
						}
					}
				}
			}
		}
	}
	h.exec(
		"INSERT INTO bids (auction_id, seq, bidder_id, paddle, amount, request_id, accepted_at) SELECT id, 1, $1, "+
			"1, 1, gen_random_uuid(), now() FROM auctions",
		h.sellers[0],
	)
	h.exec("ANALYZE bids")
	plans.statements = nil
	if _, _, err := traced.MyBids(t.Context(), h.sellers[0], "", 20); err != nil {
		t.Fatal(err)
	}
	if plan := h.plan(plans.statements[0]); strings.Contains(plan, "Seq Scan on bids") ||
		strings.Contains(plan, "Seq Scan on auctions") {
		t.Errorf("my bids read a whole table:\n%s", plan)
	}
}

type statement struct {
	text      string
	arguments []any
}

// explainer keeps the statements that a pool sends.
type explainer struct{ statements []statement }

func (e *explainer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if strings.Contains(q.SQL, "Catalog") {
		e.statements = append(e.statements, statement{q.SQL, slices.Clone(q.Args)})
	}
	return ctx
}

func (*explainer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (h *house) plan(s statement) string {
	h.Helper()
	// A hint for the planner must not hide what it would do: all ways to read are open to it.
	rows, err := h.pool.Query(h.Context(), "EXPLAIN "+s.text, s.arguments...)
	if err != nil {
		h.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		h.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

func TestBidsAreReadForwardAndBack(t *testing.T) {
	t.Parallel()
	h := open(t)
	id := h.walk(catalog.Filter{Limit: 100})[0].ID
	h.exec(`INSERT INTO bids (auction_id, seq, bidder_id, paddle, amount, request_id, accepted_at)
		SELECT $1, n, $2, 1, n * 100, gen_random_uuid(), now() FROM generate_series(1, 1500) n`, id, h.sellers[0])
	forward, err := h.catalog.Bids(t.Context(), id, 10, 3)
	if err != nil || len(forward) != 3 || forward[0].Seq != 11 || forward[2].Seq != 13 {
		t.Errorf("%v %v", forward, err)
	}
	latest, err := h.catalog.Latest(t.Context(), auction.State{ID: id, Currency: money.MustCurrency("USD")}, 2)
	if err != nil || len(latest) != 2 || latest[0].Seq != 1500 || latest[1].Seq != 1499 {
		t.Errorf("%v %v", latest, err)
	}
	if most, err := h.catalog.Bids(t.Context(), id, 0, 1<<30); err != nil || len(most) != catalog.BidsMax {
		t.Errorf("%d %v", len(most), err)
	}
	if _, err := h.catalog.Bids(t.Context(), 1, 0, 1); !errors.Is(err, auction.ErrNotFound) {
		t.Errorf("bids of no auction: %v", err)
	}
	if _, err := h.catalog.One(t.Context(), 1); !errors.Is(err, auction.ErrNotFound) {
		t.Errorf("no auction: %v", err)
	}
	for bidder, want := range map[int64]bool{h.sellers[0]: true, h.sellers[1]: false} {
		if has, err := h.catalog.HasBid(t.Context(), id, bidder); err != nil || has != want {
			t.Errorf("bidder %d has bid: %v %v", bidder, has, err)
		}
	}
}

func TestMyBidsComeWithMyHighest(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.exec(`INSERT INTO bids (auction_id, seq, bidder_id, paddle, amount, request_id, accepted_at)
		SELECT a.id, n, ($1::bigint[])[1 + n % 2], 1, n * 100, gen_random_uuid(), now() FROM (SELECT id FROM auctions
		ORDER BY id LIMIT 45) a, generate_series(1, 9) n`, h.sellers)
	seen, after := map[int64]bool{}, ""
	for {
		page, next, err := h.catalog.MyBids(t.Context(), h.sellers[0], after, 20)
		if err != nil {
			t.Fatal(err)
		}
		for _, bid := range page {
			if seen[bid.ID] || bid.Highest.Minor() != 800 {
				t.Errorf("auction %d: highest %v, seen %v", bid.ID, bid.Highest, seen[bid.ID])
			}
			seen[bid.ID] = true
		}
		if after = next; after == "" {
			break
		}
	}
	if len(seen) != 45 {
		t.Errorf("%d auctions, want 45", len(seen))
	}
	if none, _, err := h.catalog.MyBids(t.Context(), h.sellers[2], "", 0); err != nil || len(none) != 0 {
		t.Errorf("%v %v", none, err)
	}
}

func TestAVanishedDatabaseIsARefusal(t *testing.T) {
	t.Parallel()
	server := dbtest.StartPostgres(t)
	pool, err := db.OpenReader(server.URL(), 2)
	if err != nil {
		t.Fatal(err)
	}
	c := catalog.New(pool)
	if _, err := c.Now(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.Pause()
	begin := time.Now()
	if _, err := c.One(t.Context(), 1); !errors.Is(err, auction.ErrUnavailable) {
		t.Errorf("paused: %v", err)
	}
	if took := time.Since(begin); took > 8*time.Second {
		t.Errorf("the refusal took %v", took)
	}
	server.Resume()
	server.Kill()
	if _, err := c.List(t.Context(), catalog.Filter{}); !errors.Is(err, auction.ErrUnavailable) {
		t.Errorf("gone: %v", err)
	}
	pool.Close()
}

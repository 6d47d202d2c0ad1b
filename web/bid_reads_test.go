package web_test

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"martelo/app/catalog"
)

// readsSeen keeps the names of the statements that a pool sends.
type readsSeen struct {
	mu    sync.Mutex
	names []string
}

var statementName = regexp.MustCompile(`^-- name: (\w+)`)

// TraceQueryStart is pgx.QueryTracer's.
func (r *readsSeen) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if name := statementName.FindStringSubmatch(q.SQL); name != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.names = append(r.names, name[1])
	}
	return ctx
}

// TraceQueryEnd is pgx.QueryTracer's.
func (r *readsSeen) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (r *readsSeen) taken() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.Sort(r.names)
	names := strings.Join(r.names, " ")
	r.names = nil
	return names
}

// The hottest answer of the house reads the lot and whether its bidder is there, and no more.
func TestABidsAnswerReadsOnlyWhatItShows(t *testing.T) {
	t.Parallel()
	seen := &readsSeen{}
	h := open(t)
	config := h.pool.Config()
	config.ConnConfig.Tracer = seen
	traced, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(traced.Close)
	h.handler.Catalog = catalog.New(traced)
	id := h.lot()
	b, _ := h.signedUp("ana@example.com")
	bid := func(amount string) answer {
		return b.submit(bidsOf(id), map[string]string{"key": uuid.NewString(), "amount": amount}, script)
	}
	seen.taken()
	bid("1010").page(t, 200).has(t, "Your bid of $1,010.00 was accepted")
	if reads := seen.taken(); reads != "CatalogOne" {
		t.Errorf("an accepted bid's answer reads %s", reads)
	}
	h.bid(id, h.buyer, "1100.00").status(t, 201)
	seen.taken()
	bid("1050").page(t, 409).has(t, "is too low")
	if reads := seen.taken(); reads != "BidMineIn CatalogOne" {
		t.Errorf("a refused bid's answer reads %s", reads)
	}
	b.get(auctionPath(id)).page(t, 200)
	if reads := seen.taken(); reads != "BidMineIn BidsLatest CatalogOne" {
		t.Errorf("a page reads %s", reads)
	}
}

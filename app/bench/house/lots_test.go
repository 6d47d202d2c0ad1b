package house

import (
	"testing"
	"time"

	"martelo/app/auction"
	"martelo/db/dbtest"
)

// PostgreSQL plans badly for a table that it knows to be empty, and a house's log of bids is not
// known to be that in real life. What was filled is known to be full.
func TestTidyLeavesEmptyTablesAlone(t *testing.T) {
	t.Parallel()
	h, err := Given(dbtest.URL(t), true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := h.Settle(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	ids, ends, err := h.Open(t.Context(), 500, Lots{Lane: auction.Standard, Ends: time.Hour, Apart: time.Second})
	if err != nil || len(ids) != 500 || time.Until(ends) > 2*time.Hour {
		t.Fatalf("%d auctions, %s, %v", len(ids), ends, err)
	}
	for table, known := range map[string]bool{"auctions": true, "lots": true, "bids": false, "outbox": false} {
		var rows float64
		const taken = `SELECT reltuples FROM pg_class WHERE oid = $1::regclass`
		err := h.Pool.QueryRow(t.Context(), taken, table).Scan(&rows)
		if err != nil || known != (rows >= 500) || !known && rows >= 0 {
			t.Errorf("%s is taken to have %g rows, %v", table, rows, err)
		}
	}
}

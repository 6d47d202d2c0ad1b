package catalog_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"martelo/app/auction"
	"martelo/app/catalog"
	"martelo/db"
	"martelo/db/dbtest"
)

// Searches that hang take a few connections for about a second, and whoever comes meanwhile is told
// so at once. What is no search goes on.
func TestSearchesThatHangAreFewAndShort(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	pool, err := db.OpenReader(url, 8)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	reads := catalog.New(pool)
	if _, err := reads.List(t.Context(), catalog.Filter{Query: "watch"}); err != nil {
		t.Fatal(err)
	}
	stuck, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer stuck.Close(t.Context()) //nolint:errcheck // the test is over
	if _, err := stuck.Exec(t.Context(), "BEGIN; LOCK TABLE lots"); err != nil {
		t.Fatal(err)
	}
	const searchers = 40
	errs := make([]error, searchers)
	took := make([]time.Duration, searchers)
	var all sync.WaitGroup
	for i := range searchers {
		all.Go(func() {
			begin := time.Now()
			_, errs[i] = reads.List(t.Context(), catalog.Filter{Query: "watch"})
			took[i] = time.Since(begin)
		})
	}
	all.Wait()
	tooLong, crowd := 0, 0
	for i, err := range errs {
		switch {
		case errors.Is(err, catalog.ErrSearchTooWide):
			tooLong++
		case errors.Is(err, catalog.ErrSearchCrowd):
			crowd++
		default:
			t.Errorf("a search ended with %v", err)
		}
		if !errors.Is(err, auction.ErrUnavailable) || took[i] > 2500*time.Millisecond {
			t.Errorf("after %v: %v", took[i], err)
		}
	}
	if tooLong == 0 || tooLong > 6 || crowd < searchers-6 {
		t.Errorf("of %d searches %d hung and %d were sent away", searchers, tooLong, crowd)
	}
	if free := pool.Stat(); free.AcquiredConns() > 0 {
		t.Errorf("%d connections are still taken", free.AcquiredConns())
	}
}

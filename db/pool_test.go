package db_test

import (
	"cmp"
	"net/url"
	"testing"

	"martelo/db"
	"martelo/db/dbtest"
)

// Connections are called martelo, unless the address calls them something else: an operator, or the
// load tool, tells nodes apart by that.
func TestConnectionsHaveAName(t *testing.T) {
	t.Parallel()
	address, err := url.Parse(dbtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, given := range []string{"", "node-7"} {
		query := address.Query()
		query.Del("application_name")
		if given != "" {
			query.Set("application_name", given)
		}
		address.RawQuery = query.Encode()
		pool, err := db.Open(address.String(), 1)
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		var name string
		err = pool.QueryRow(t.Context(), `SHOW application_name`).Scan(&name)
		if err != nil || name != cmp.Or(given, "martelo") {
			t.Errorf("given %q, connections are called %q, %v", given, name, err)
		}
	}
}

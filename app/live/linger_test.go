package live_test

import (
	"fmt"
	"testing"

	"martelo/app/live"
	"martelo/db/dbtest"
)

// What somebody asks about and is refused leaves nothing watched, and what was watched lingers
// within a bound.
func TestWhatNobodyWatchesIsBounded(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	const lingering = 10
	house := newHouse(t, dbtest.Pool(t), 40)
	n := run(t, house.pool, dbtest.Redis(t), func(h *live.Hub) { h.LingerAtMost(lingering) }).redisReady()
	missing, err := n.Known(t.Context(), append([]int64{999_999_999}, house.ids...))
	if err != nil || len(missing) != 1 || n.Topics() != 0 {
		t.Fatalf(
			"asked about %d that are and one that is not: %v missing, %v, %d watched", len(house.ids), missing, err,
			n.Topics(),
		)
	}
	for _, id := range house.ids {
		if missing, err := n.Known(t.Context(), []int64{id}); err != nil || len(missing) != 0 {
			t.Fatal(missing, err)
		}
	}
	if got := n.Topics(); got > lingering {
		t.Errorf("%d auctions that nobody watches linger", got)
	}
	// Viewers of more than may linger keep theirs.
	w := n.watch(house.ids...)
	first := house.ids[0]
	for _, id := range house.ids {
		w.sees(id, 1, patience)
	}
	version := house.bid(first).State.Version // nobody announces it: comparing finds it
	w.sees(first, version, patience)
	w.leave()
	eventually(t, patience, func() error {
		if got := n.Topics(); got > lingering {
			return fmt.Errorf("%d auctions linger", got)
		}
		return nil
	})
}

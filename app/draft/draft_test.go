package draft_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"martelo/app/draft"
	"martelo/app/loop"
	"martelo/db/dbtest"
)

func TestOldFormsAreDeleted(t *testing.T) {
	t.Parallel()
	pool := dbtest.Pool(t)
	var userID int64
	if err := pool.QueryRow(
		t.Context(), "INSERT INTO users (name) VALUES ('seller') RETURNING id",
	).Scan(&userID); err != nil {
		t.Fatal(err)
	}
	drafts, old, fresh := draft.New(pool), uuid.New(), uuid.New()
	for _, key := range []uuid.UUID{old, fresh} {
		if err := drafts.Keep(t.Context(), userID, key, []byte("typed")); err != nil {
			t.Fatal(err)
		}
	}
	_, err := pool.Exec(t.Context(), "UPDATE drafts SET kept_at = kept_at - interval '25 hours' WHERE key = $1", old)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	go drafts.Sweep(ctx, loop.New("drafts", slog.New(slog.DiscardHandler), prometheus.NewRegistry()))
	for err == nil && ctx.Err() == nil {
		_, err = drafts.Find(ctx, userID, old)
	}
	if !errors.Is(err, draft.ErrNone) {
		t.Errorf("the old form: %v", err)
	}
	kept, err := drafts.Find(t.Context(), userID, fresh)
	if err != nil || string(kept.Form) != "typed" || kept.AuctionID != 0 {
		t.Errorf("the fresh form: %+v %v", kept, err)
	}
	if _, err := drafts.Find(t.Context(), userID+1, fresh); !errors.Is(err, draft.ErrNone) {
		t.Errorf("somebody else's form: %v", err)
	}
}

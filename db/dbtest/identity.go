package dbtest

import (
	"log/slog"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"martelo/app/identity"
)

// Identity returns the identity of a database's house, known and with its mark in Redis.
func Identity(t testing.TB, pool *pgxpool.Pool, client *redis.Client) *identity.House {
	t.Helper()
	house := identity.New(pool, client, slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		if err := house.Close(); err != nil {
			t.Errorf("dbtest: %v", err)
		}
	})
	if err := house.Find(t.Context()); err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	return house
}

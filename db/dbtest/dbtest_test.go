package dbtest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"martelo/db/dbtest"
)

// shortly is how long a statement to a server that does not answer is waited for.
const shortly = 300 * time.Millisecond

func TestEachTestHasItsOwnDatabase(t *testing.T) {
	t.Parallel()
	first, second := dbtest.Pool(t), dbtest.Pool(t)
	exec(t, first, "CREATE TABLE only_here (n int)")
	exec(t, first, "INSERT INTO users (name) VALUES ('Ada')")
	if n := count(t, second, "SELECT count(*) FROM users"); n != 0 {
		t.Errorf("the second database has %d of the first one's users", n)
	}
	if n := count(t, second, "SELECT count(*) FROM pg_tables WHERE tablename = 'only_here'"); n != 0 {
		t.Error("the second database has the first one's table")
	}
}

func TestIDsOfTwoTablesAreNotAlike(t *testing.T) {
	t.Parallel()
	pool := dbtest.Pool(t)
	if n := count(t, pool, `
		SELECT count(*) - count(DISTINCT last_value) FROM pg_sequences
		WHERE schemaname = 'public' AND sequencename NOT LIKE 'goose%'`); n != 0 {
		t.Errorf("%d tables begin with another table's id", n)
	}
}

func TestEachTestHasItsOwnRedis(t *testing.T) {
	t.Setenv("REDIS_URL", "") // a given one is shared
	ctx := t.Context()
	client := dbtest.Redis(t)
	if err := client.Set(ctx, "key", "value", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if got, err := dbtest.Redis(t).Get(ctx, "key").Result(); err != nil || got != "value" {
		t.Errorf("another client of the same test reads %q, %v", got, err)
	}
	t.Run("another", func(t *testing.T) {
		if err := dbtest.Redis(t).Get(t.Context(), "key").Err(); !errors.Is(err, redis.Nil) {
			t.Errorf("another test reads the key: %v", err)
		}
	})
}

func TestKilledPostgresKeepsWhatWasCommitted(t *testing.T) {
	t.Parallel()
	server := dbtest.StartPostgres(t)
	pool := open(t, server.URL())
	exec(t, pool, "INSERT INTO users (name) VALUES ('Ada')")
	open, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open.Exec(t.Context(), "INSERT INTO users (name) VALUES ('Bob')"); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if err := open.Commit(t.Context()); err == nil {
		t.Error("a killed server took a commit")
	}
	server.Start()
	pool.Reset()
	if n := count(t, pool, "SELECT count(*) FROM users WHERE name = 'Ada'"); n != 1 {
		t.Errorf("the committed row is there %d times", n)
	}
	if n := count(t, pool, "SELECT count(*) FROM users WHERE name = 'Bob'"); n != 0 {
		t.Error("the row that was never committed is there")
	}
	server.Stop()
	server.Start()
	pool.Reset()
	if n := count(t, pool, "SELECT count(*) FROM users"); n != 1 {
		t.Errorf("after an orderly stop there are %d users", n)
	}
}

func TestPausedPostgresAnswersLater(t *testing.T) {
	t.Parallel()
	server := dbtest.StartPostgres(t)
	conn, err := pgx.Connect(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	server.Pause()
	answered := make(chan error, 1)
	go func() {
		_, err := conn.Exec(context.Background(), "SELECT 1")
		answered <- err
	}()
	select {
	case err := <-answered:
		t.Errorf("a paused server answered: %v", err)
	case <-time.After(shortly):
	}
	server.Resume()
	if err := <-answered; err != nil {
		t.Errorf("after the pause: %v", err)
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestKilledRedisKeepsWhatItAnswered(t *testing.T) {
	t.Parallel()
	server := dbtest.StartRedis(t)
	options, err := redis.ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	options.ReadTimeout, options.MaxRetries = shortly, -1
	client := redis.NewClient(options)
	defer client.Close()
	if err := client.Set(t.Context(), "key", "value", 0).Err(); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	server.Start()
	if got, err := client.Get(t.Context(), "key").Result(); err != nil || got != "value" {
		t.Errorf("after the crash the key is %q, %v", got, err)
	}
	server.Pause()
	if err := client.Ping(t.Context()).Err(); err == nil {
		t.Error("a paused server answered")
	}
	server.Resume()
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Errorf("after the pause: %v", err)
	}
}

func BenchmarkClone(b *testing.B) {
	dbtest.URL(b) // the server's start is not measured
	for b.Loop() {
		dbtest.URL(b)
	}
}

func open(t *testing.T, address string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func exec(t *testing.T, pool *pgxpool.Pool, statement string) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func count(t *testing.T, pool *pgxpool.Pool, query string) int {
	t.Helper()
	var n int
	if err := pool.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

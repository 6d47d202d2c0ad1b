// Package dbtest runs PostgreSQL and Redis for tests and for development: private servers with data
// folders and ports of their own, which leave alone whatever runs on the machine already.
//
// A test asks for what it needs and gets it fresh:
//
//	pool := dbtest.Pool(t)          // an empty, migrated database of its own, on a server shared by the test program
//	url := dbtest.URL(t)            // the same as an address, for a program that opens the pool itself
//	client := dbtest.Redis(t)       // a Redis of its own; RedisURL(t) is its address
//	server := dbtest.StartPostgres(t) // a migrated PostgreSQL of its own that may be killed, paused and started again
//	server := dbtest.StartRedis(t)  // the same for Redis
//
// When DATABASE_URL is set, Pool and URL make their databases on that server instead, whose account
// must be allowed to create databases; when REDIS_URL is set, Redis and RedisURL give that one. Ids
// start at different figures in every table, so that a test cannot pass by taking one kind of id
// for another, and at random ones on a shared Redis, so that tests do not hear each other.
//
// Everything ends and is removed with the test program, also when that is killed. [House] holds the
// services of a developer's machine, which keep their data.
package dbtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"martelo/db"
	"martelo/migrations"
)

const (
	// cloneWithin bounds the making or dropping of a test's database: under a tenth of a second on
	// an idle machine.
	cloneWithin = 60 * time.Second

	// poolMax is how many connections a test's pool opens at most: the server has 300 for all
	// parallel tests together.
	poolMax = 16

	// closeWithin is how long a pool may wait at the end of a test for connections that somebody
	// still holds.
	closeWithin = 10 * time.Second

	// templateLock is the advisory lock under which the template database is made on a server that
	// is not ours.
	templateLock = 7_305_001

	// idStep is the distance between the first ids of one table and the next; no test makes as many
	// rows.
	idStep = 100_000

	// idBaseMax bounds the random first id on a shared Redis, well inside PostgreSQL's bigint and a
	// JSON number.
	idBaseMax = 1_000_000_000
)

// clones counts the databases made by this test program.
var clones atomic.Int64

// Pool returns a pool on an empty, migrated database that belongs to this test alone. It is closed
// when the test ends; a connection that has not been given back by then is a fault of the test.
func Pool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	pool, err := db.Open(URL(t), poolMax)
	if err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	t.Cleanup(func() {
		closed := make(chan struct{})
		go func() {
			pool.Close()
			close(closed)
		}()
		select {
		case <-closed:
		case <-time.After(closeWithin):
			t.Error("dbtest: a connection was not given back to the pool")
		}
	})
	return pool
}

// URL returns the address of an empty, migrated database that belongs to this test alone.
func URL(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), cloneWithin)
	defer cancel()
	given := os.Getenv("DATABASE_URL")
	var address string
	var err error
	if given != "" {
		address, err = cloneGiven(ctx, t, given)
	} else {
		address, err = cloneOwn(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("REDIS_URL") != "" {
		if err := spreadIDs(ctx, address, rand.Int64N(idBaseMax)); err != nil {
			t.Fatal(err)
		}
	}
	// A clone has its template's identity, and copies of one house must not meet in one Redis.
	if err := execute(ctx, address, "UPDATE house SET id = gen_random_uuid()"); err != nil {
		t.Fatal(err)
	}
	return address
}

// cloneOwn clones the template on this test program's own server. The clone is not dropped, which
// takes PostgreSQL several times as long as making it: it goes with the server.
func cloneOwn(ctx context.Context) (string, error) {
	server, err := own()
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("test_%d", clones.Add(1))
	if err := execute(ctx, server.databaseURL("postgres"), createFrom(name, seedDatabase)); err != nil {
		return "", err
	}
	return server.databaseURL(name), nil
}

// cloneGiven clones the template on somebody's server, and drops the clone when the test ends.
func cloneGiven(ctx context.Context, t testing.TB, given string) (string, error) {
	template := "martelo_template_" + migrationsHash()
	if err := makeTemplate(ctx, given, template); err != nil {
		return "", err
	}
	name := fmt.Sprintf("martelo_test_%d_%08x_%d", os.Getpid(), rand.Uint32(), clones.Add(1))
	if err := execute(ctx, given, createFrom(name, template)); err != nil {
		return "", err
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), cloneWithin)
		defer cancel()
		if err := execute(ctx, given, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	return inDatabase(given, name)
}

// makeTemplate makes the migrated template database unless it is there. It gets its name last, so
// that a template by that name is always whole.
func makeTemplate(ctx context.Context, given, template string) error {
	conn, err := pgx.Connect(ctx, given)
	if err != nil {
		return fmt.Errorf("dbtest: DATABASE_URL: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx)) // the lock goes with the connection
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", templateLock); err != nil {
		return fmt.Errorf("dbtest: %w", err)
	}
	var found bool
	if err := conn.QueryRow(
		ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", template,
	).Scan(&found); err != nil {
		return fmt.Errorf("dbtest: %w", err)
	}
	if found {
		return nil
	}
	unfinished := template + "_unfinished"
	address, err := inDatabase(given, unfinished)
	if err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return execute(ctx, given, "DROP DATABASE IF EXISTS "+unfinished) },
		func() error { return execute(ctx, given, createFrom(unfinished, "template0")) },
		func() error { _, err := db.Migrate(ctx, address, nil); return err },
		func() error { return spreadIDs(ctx, address, 0) },
		func() error { return execute(ctx, given, "ALTER DATABASE "+unfinished+" RENAME TO "+template) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// createFrom writes the statement that makes a database. The names are this package's own.
func createFrom(name, template string) string {
	statement := "CREATE DATABASE " + name + " TEMPLATE " + template
	if template == "template0" {
		statement += " ENCODING 'UTF8' LC_COLLATE 'C.UTF-8' LC_CTYPE 'C.UTF-8'"
	}
	return statement
}

// inDatabase returns the address with another database's name in it.
func inDatabase(address, name string) (string, error) {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" {
		return "", errors.New("dbtest: DATABASE_URL must have the form postgres://user:password@host:port/database")
	}
	parsed.Path = "/" + name
	return parsed.String(), nil
}

// spreadIDs lets the ids of each table begin at a figure of its own above base.
func spreadIDs(ctx context.Context, address string, base int64) error {
	return execute(ctx, address, fmt.Sprintf(`
		SELECT setval(format('%%I.%%I', schemaname, sequencename)::regclass,
		              %d + %d * row_number() OVER (ORDER BY sequencename))
		FROM pg_sequences WHERE schemaname = 'public' AND sequencename NOT LIKE 'goose%%'`, base, idStep))
}

// execute runs one statement on a connection of its own.
func execute(ctx context.Context, address, statement string) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return fmt.Errorf("dbtest: %w", err)
	}
	_, failed := conn.Exec(ctx, statement)
	if failed != nil {
		failed = fmt.Errorf("dbtest: %s: %w", strings.TrimSpace(statement), failed)
	}
	return errors.Join(failed, conn.Close(context.WithoutCancel(ctx)))
}

// migrationsHash names the schema: another text of any migration is another schema.
var migrationsHash = sync.OnceValue(func() string {
	hash := sha256.New()
	names, _ := fs.Glob(migrations.Files, "*") // sorted; the pattern is valid
	for _, name := range names {
		text, err := migrations.Files.ReadFile(name)
		if err != nil {
			panic(err) // embedded files are read from memory
		}
		fmt.Fprintf(hash, "%s %d\n%s", name, len(text), text)
	}
	return hex.EncodeToString(hash.Sum(nil)[:6])
})

// redisOf holds the Redis of each running test, so that all nodes of one test share it.
var redisOf sync.Map // testing.TB → address

// RedisURL returns the address of a Redis that belongs to this test alone: channels have no name
// space, so that sharing one would let tests hear each other. Asked again by the same test, it is
// the same Redis.
func RedisURL(t testing.TB) string {
	t.Helper()
	if given := os.Getenv("REDIS_URL"); given != "" {
		return given
	}
	if address, found := redisOf.Load(t); found {
		return address.(string)
	}
	address := startRedis(t).URL()
	redisOf.Store(t, address)
	t.Cleanup(func() { redisOf.Delete(t) })
	return address
}

// Redis returns a client of the Redis at RedisURL. It is closed when the test ends.
func Redis(t testing.TB) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(RedisURL(t))
	if err != nil {
		t.Fatalf("dbtest: REDIS_URL: %v", err)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() {
		if err := client.Close(); err != nil && !errors.Is(err, redis.ErrClosed) {
			t.Errorf("dbtest: %v", err)
		}
	})
	return client
}

// Long leaves a test out of the quick run (go test -short), because it takes seconds: it needs a
// browser, kills something, puts a load on it or waits for a time-out. The full run has every test.
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("left out of the quick run")
	}
}

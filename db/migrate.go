package db

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib" // goose speaks database/sql
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"martelo/migrations"
)

const (
	// migrationLockWithin is how long a migration queues for a table. Everybody who comes after it
	// queues behind it, bids too: a fifth of a second is not felt, and enough wherever nobody holds
	// the table for long.
	migrationLockWithin = 200 * time.Millisecond
	// migrationPause is between two tries: bids have the table to themselves for most of the time.
	migrationPause = 800 * time.Millisecond
	// migrationTries bounds them, to about a minute. Who holds a table for longer must be asked to
	// let go.
	migrationTries = 60
	// migrationSayEvery is after how many tries it is said again what is waited for.
	migrationSayEvery = 10
)

// Migrate brings the schema up to date while the house takes bids. Any number of nodes may call it
// at once: a PostgreSQL session lock lets one at a time work, and the rest find nothing left to do.
// It returns how many migrations it applied. Say, which may be nil, is told in a sentence what is
// waited for.
func Migrate(ctx context.Context, databaseURL string, say func(sentence string)) (int, error) {
	config, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		return 0, fmt.Errorf("db: DATABASE_URL is not a PostgreSQL URL: %w", err)
	}
	config.RuntimeParams["application_name"] = "martelo migrate"
	config.RuntimeParams["lock_timeout"] = strconv.FormatInt(migrationLockWithin.Milliseconds(), 10)
	pool := stdlib.OpenDB(*config)
	defer pool.Close()
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return 0, fmt.Errorf("db: migration lock: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, pool, migrations.Files, goose.WithSessionLocker(locker))
	if err != nil {
		return 0, fmt.Errorf("db: migrations: %w", err)
	}
	applied := 0
	for try := 1; ; try++ {
		done, err := provider.Up(ctx)
		applied += len(done) + partly(err)
		var fault *pgconn.PgError
		if err == nil || !errors.As(err, &fault) || fault.Code != lockNotAvailable || ctx.Err() != nil {
			if err != nil {
				err = fmt.Errorf("db: migrate: %w", err)
			}
			return applied, err
		}
		waits := "A migration waits for a table that others are using" + oldestTransaction(ctx, config)
		if try == migrationTries {
			return applied, fmt.Errorf("db: migrate: gave up after %d tries. %s. End what holds the table, "+
				"and run martelo migrate again: %w", try, waits, err)
		}
		if say != nil && try%migrationSayEvery == 1 {
			say(waits + ". Bids go on; it is tried again until that ends.")
		}
		select {
		case <-ctx.Done():
			return applied, ctx.Err()
		case <-time.After(migrationPause):
		}
	}
}

// partly is how many migrations a failed run has applied before the one that failed.
func partly(err error) int {
	var partial *goose.PartialError
	if errors.As(err, &partial) {
		return len(partial.Applied)
	}
	return 0
}

// oldestTransaction says whose transaction has been open for the longest, which most likely holds
// the table. It says nothing when that cannot be seen.
func oldestTransaction(ctx context.Context, config *pgx.ConnConfig) string {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return ""
	}
	defer conn.Close(context.WithoutCancel(ctx))
	oldest, err := New(conn).TransactionOldest(ctx)
	if err != nil {
		return ""
	}
	name := oldest.ApplicationName
	if name == "" {
		name = "a program without a name"
	}
	return fmt.Sprintf(
		". The oldest open transaction is of %s (process %d), open for %d s", name, oldest.Pid, oldest.Seconds,
	)
}

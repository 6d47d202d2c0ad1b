package db

import (
	"context"
	"database/sql"
	"fmt"

	_ "github.com/jackc/pgx/v5/stdlib" // goose speaks database/sql
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"martelo/migrations"
)

// Migrate brings the schema up to date. Any number of nodes may call it at once: a PostgreSQL session lock lets one at a time work,
// and the rest find nothing left to do. It returns how many migrations it applied.
func Migrate(ctx context.Context, databaseURL string) (int, error) {
	pool, err := sql.Open("pgx", databaseURL)
	if err != nil {
		return 0, fmt.Errorf("db: open: %w", err)
	}
	defer pool.Close()
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return 0, fmt.Errorf("db: migration lock: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, pool, migrations.Files, goose.WithSessionLocker(locker))
	if err != nil {
		return 0, fmt.Errorf("db: migrations: %w", err)
	}
	applied, err := provider.Up(ctx)
	if err != nil {
		return len(applied), fmt.Errorf("db: migrate: %w", err)
	}
	return len(applied), nil
}

// Package db is the one door to PostgreSQL: the statements of queries/ as sqlc made them into
// methods, the pool, the migrations, and the reading of its rows and errors.
package db

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"martelo/migrations"
)

const (
	// connectWithin bounds opening a connection, so that a PostgreSQL that has vanished is noticed
	// within one request.
	connectWithin = 3 * time.Second
	// lockWithin bounds waiting for a row lock: longer than any batch takes, shorter than the desk
	// waits for a batch, so that PostgreSQL gives up first and no abandoned backend stays in the
	// queue for the lock.
	lockWithin = 2500 * time.Millisecond
	// statementWithin bounds one statement, so that a slow plan cannot hold a connection for ever.
	statementWithin = 8 * time.Second
	// idleInTransactionWithin frees an auction's row lock when the node that holds it has stopped
	// or vanished.
	idleInTransactionWithin = 3 * time.Second
	// connectionLife rotates connections, so that a failover or a changed setting reaches every
	// node within the hour.
	connectionLife = 30 * time.Minute
	// healthCheckEvery is how soon a pool notices connections that died while idle.
	healthCheckEvery = 5 * time.Second
)

// keepMemory has a backend allocate and free a megabyte once. From the size of what is freed
// glibc's malloc learns how much memory to keep (mallopt(3), M_TRIM_THRESHOLD); left at its first
// 128 KiB it gave memory back to the kernel after nearly every statement, a fifth of what the
// processors did for PostgreSQL under bids. Elsewhere it does nothing.
const keepMemory = "SELECT length(repeat('x', 1048576))"

// Open makes a pool of at most connectionsMax connections. It does not connect yet: a node may
// start while PostgreSQL is away. It fails only when databaseURL cannot be read.
//
// Its statements, which decide, are planned once for a connection: none has a better plan for some
// arguments than for others, and planning each cost a lone bid as much as running them. A plan that
// is made while a table is empty stays when it has grown, so none may read a whole table.
func Open(databaseURL string, connectionsMax int) (*pgxpool.Pool, error) {
	return open(
		databaseURL, connectionsMax,
		map[string]string{"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off"},
	)
}

// OpenReader is Open for what people read. The lists' statements serve several filters each, and
// only a plan made for the given arguments uses the right index; planning costs a fraction of a
// millisecond, the wrong index a hundred.
func OpenReader(databaseURL string, connectionsMax int) (*pgxpool.Pool, error) {
	return open(databaseURL, connectionsMax, map[string]string{"plan_cache_mode": "force_custom_plan"})
}

func open(databaseURL string, connectionsMax int, planning map[string]string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(databaseURL)
	if err != nil {
		return nil, fmt.Errorf("db: DATABASE_URL is not a PostgreSQL URL: %w", err)
	}
	config.MaxConns = int32(connectionsMax)
	config.MaxConnLifetime = connectionLife
	config.MaxConnLifetimeJitter = connectionLife / 5
	config.HealthCheckPeriod = healthCheckEvery
	config.ConnConfig.ConnectTimeout = connectWithin
	set := config.ConnConfig.RuntimeParams
	if set["application_name"] == "" { // an operator may call a node's connections something else
		set["application_name"] = "martelo"
	}
	set["timezone"] = "UTC"
	set["lock_timeout"] = milliseconds(lockWithin)
	set["statement_timeout"] = milliseconds(statementWithin)
	set["idle_in_transaction_session_timeout"] = milliseconds(idleInTransactionWithin)
	// Compiling a plan takes longer than running any of ours, and a plan that must read a whole
	// table all the same looks dear enough for it.
	set["jit"] = "off"
	maps.Copy(set, planning)
	config.ConnConfig.OnNotice = noteUnconfirmed
	config.PrepareConn = func(_ context.Context, c *pgx.Conn) (bool, error) { return Confirmed(c) == nil, nil }
	var pool *pgxpool.Pool
	usual := config.ConnConfig.OnPgError
	config.ConnConfig.OnPgError = func(c *pgconn.PgConn, fault *pgconn.PgError) bool {
		if fault.Code != readOnlyTransaction {
			return usual(c, fault)
		}
		// A connection keeps the mode it was opened in: none of before a failover, or of a time
		// when the database was read-only, may be used again.
		pool.Reset()
		return false
	}
	config.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		if _, err := c.Exec(ctx, keepMemory); err != nil {
			return err
		}
		c.TypeMap().RegisterType(&pgtype.Type{
			Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
		})
		return nil
	}
	pool, err = pgxpool.NewWithConfig(context.Background(), config)
	return pool, err
}

// Ready tells whether bids can be written: PostgreSQL has the schema that this program was built
// with, or a later one, takes writes to the tables that bids go to, and confirms a commit, with its
// synchronous standby where there is one.
func Ready(ctx context.Context, pool *pgxpool.Pool) error {
	var applied bool
	err := pool.QueryRow(
		ctx, "SELECT EXISTS (SELECT FROM goose_db_version WHERE version_id = $1 AND is_applied)", migrations.Latest(),
	).Scan(&applied)
	if err != nil {
		return err
	}
	if !applied {
		return fmt.Errorf("db: migration %d has not been applied; run martelo migrate", migrations.Latest())
	}
	return InTx(ctx, pool, func(tx pgx.Tx) error {
		q := New(tx)
		if err := q.WritesTaken(ctx); err != nil {
			return err
		}
		_, err := q.StandbyWait(ctx)
		return err
	})
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

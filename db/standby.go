package db

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"martelo/app/auction"
)

// errUnconfirmed says that PostgreSQL answered COMMIT without its synchronous standby.
var errUnconfirmed = fmt.Errorf("db: committed without the synchronous standby: %w", auction.ErrUnavailable)

// unconfirmed marks a connection whose last COMMIT gave up waiting for the standby.
const unconfirmed = "martelo.unconfirmed"

// noteUnconfirmed marks the connection when somebody has cancelled its wait for the standby
// (pg_cancel_backend): PostgreSQL then answers COMMIT as if all were well, with a warning before
// it. The warning has no code of its own and its text is translated; the name of the routine is
// not.
func noteUnconfirmed(c *pgconn.PgConn, n *pgconn.Notice) {
	if n.Routine == "SyncRepWaitForLSN" {
		c.CustomData()[unconfirmed] = true
	}
}

// Confirmed returns an error if the connection's last COMMIT was answered without the synchronous
// standby. Whoever answers for a commit asks.
func Confirmed(c *pgx.Conn) error {
	if c.PgConn().CustomData()[unconfirmed] != nil {
		return errUnconfirmed
	}
	return nil
}

// InTx runs work in a transaction and returns nil once it is committed, on the synchronous standby
// too where there is one.
func InTx(ctx context.Context, pool *pgxpool.Pool, work func(tx pgx.Tx) error) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if err := pgx.BeginFunc(ctx, conn, work); err != nil {
		return err
	}
	return Confirmed(conn.Conn())
}

// AwaitStandby returns nil once everything that was visible before the call is on the synchronous
// standby, where there is one. Whoever tells others what was only read asks first.
func AwaitStandby(ctx context.Context, pool *pgxpool.Pool) error {
	return InTx(ctx, pool, func(tx pgx.Tx) error {
		_, err := New(tx).StandbyWait(ctx)
		return err
	})
}

package db

import (
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"martelo/app/auction"
)

// SQLSTATE codes and classes the house tells apart (PostgreSQL manual, appendix A).
const (
	uniqueViolation      = "23505"
	lockNotAvailable     = "55P03"
	queryCanceled        = "57014"
	idleInTransactionEnd = "25P03"
	readOnlyTransaction  = "25006"
	undefinedTable       = "42P01"
	undefinedColumn      = "42703"
	classConnection      = "08"
	classResources       = "53"
	classOperator        = "57"
	classSystem          = "58"
)

// IsUnique tells whether an error is a violation of the named unique constraint.
func IsUnique(err error, constraint string) bool {
	var fault *pgconn.PgError
	return errors.As(err, &fault) && fault.Code == uniqueViolation && fault.ConstraintName == constraint
}

// IsNoRows tells whether a statement that wants one row found none.
func IsNoRows(err error) bool { return errors.Is(err, pgx.ErrNoRows) }

// IsTooLong tells whether a statement took longer than it may.
func IsTooLong(err error) bool {
	var fault *pgconn.PgError
	return errors.As(err, &fault) && fault.Code == queryCanceled
}

// Unavailable wraps what means "not now" (no connection, a server that stops or starts, a lock or statement that took too long,
// a schema that has not been migrated yet) in auction.ErrUnavailable, and leaves what PostgreSQL answered about the statement itself as it is: that is a fault of ours.
func Unavailable(err error) error {
	if err == nil || errors.Is(err, pgx.ErrNoRows) || errors.Is(err, auction.ErrUnavailable) {
		return err
	}
	var fault *pgconn.PgError
	if !errors.As(err, &fault) {
		return errors.Join(auction.ErrUnavailable, err)
	}
	switch fault.Code {
	case lockNotAvailable, idleInTransactionEnd, readOnlyTransaction, queryCanceled, undefinedTable, undefinedColumn:
		return errors.Join(auction.ErrUnavailable, err)
	}
	switch fault.Code[:2] {
	case classConnection, classResources, classOperator, classSystem:
		return errors.Join(auction.ErrUnavailable, err)
	}
	return err
}

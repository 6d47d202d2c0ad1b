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
	insufficientRights   = "42501"
	classConnection      = "08"
	classResources       = "53"
	classOperator        = "57"
	classSystem          = "58"
	classInternal        = "XX"
)

// IsUnique tells whether an error is a violation of the named unique constraint.
func IsUnique(err error, constraint string) bool {
	var fault *pgconn.PgError
	return errors.As(err, &fault) && fault.Code == uniqueViolation && fault.ConstraintName == constraint
}

// IsNoRows tells whether a statement that wants one row found none.
func IsNoRows(err error) bool { return errors.Is(err, pgx.ErrNoRows) }

// IsForbidden tells whether PostgreSQL does not allow the role to ask.
func IsForbidden(err error) bool {
	var fault *pgconn.PgError
	return errors.As(err, &fault) && fault.Code == insufficientRights
}

// IsReadOnly tells whether a statement was refused because the server, or the connection, takes no
// writes.
func IsReadOnly(err error) bool {
	var fault *pgconn.PgError
	return errors.As(err, &fault) && fault.Code == readOnlyTransaction
}

// IsStoreFault tells whether PostgreSQL answered that it cannot write at all: no writes are taken,
// no room, no such table, no right to it, or a fault of its own. A row that somebody else holds, or
// that breaks a rule, is no such fault.
func IsStoreFault(err error) bool {
	var fault *pgconn.PgError
	if !errors.As(err, &fault) {
		return false
	}
	switch fault.Code {
	case readOnlyTransaction, undefinedTable, undefinedColumn, insufficientRights:
		return true
	}
	class := fault.Code[:2]
	return class == classResources || class == classSystem || class == classInternal
}

// IsBadRow tells whether a statement failed because of a row it met: PostgreSQL refused it, or it
// holds what cannot be read. Tried without that row, the statement may work.
func IsBadRow(err error) bool {
	var fault *pgconn.PgError
	var unreadable pgx.ScanArgError
	return errors.As(err, &unreadable) || errors.As(err, &fault) && !errors.Is(Unavailable(err), auction.ErrUnavailable)
}

// IsTooLong tells whether a statement took longer than it may.
func IsTooLong(err error) bool {
	var fault *pgconn.PgError
	return errors.As(err, &fault) && fault.Code == queryCanceled
}

// Unavailable wraps what means "not now" (no connection, a server that stops or starts, a lock or
// statement that took too long, a schema that has not been migrated yet) in auction.ErrUnavailable,
// and leaves what PostgreSQL answered about the statement itself as it is: that is a fault of ours.
func Unavailable(err error) error {
	if err == nil || errors.Is(err, pgx.ErrNoRows) || errors.Is(err, auction.ErrUnavailable) {
		return err
	}
	var fault *pgconn.PgError
	if !errors.As(err, &fault) {
		return errors.Join(auction.ErrUnavailable, err)
	}
	switch fault.Code {
	case lockNotAvailable, idleInTransactionEnd, readOnlyTransaction, queryCanceled, undefinedTable, undefinedColumn,
		insufficientRights:
		return errors.Join(auction.ErrUnavailable, err)
	}
	switch fault.Code[:2] {
	case classConnection, classResources, classOperator, classSystem:
		return errors.Join(auction.ErrUnavailable, err)
	}
	return err
}

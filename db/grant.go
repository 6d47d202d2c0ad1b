package db

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// rights are what serving needs of each table. The log can be added to and read, and nothing of it
// changed or removed; rows go only where they are kept for a time. Sequences of identity columns
// need no rights of their own.
var rights = map[string]string{
	"users":            "SELECT, INSERT, UPDATE",
	"auctions":         "SELECT, INSERT, UPDATE",
	"lots":             "SELECT, INSERT, UPDATE",
	"listings":         "SELECT, INSERT, UPDATE",
	"bids":             "SELECT, INSERT",
	"outbox":           "SELECT, INSERT, DELETE",
	"tokens":           "SELECT, INSERT, DELETE",
	"sessions":         "SELECT, INSERT, UPDATE, DELETE",
	"devices":          "SELECT, INSERT, UPDATE, DELETE",
	"drafts":           "SELECT, INSERT, UPDATE, DELETE",
	"house":            "SELECT",
	"goose_db_version": "SELECT",
}

// sequencesUsed are those that statements draw from by name.
var sequencesUsed = []string{"auction_hot_epochs", "bids_id_seq"}

// Grant gives a role what martelo serve needs in the current schema, and takes what it had beyond
// that. Migrations need the owner.
func Grant(ctx context.Context, pool *pgxpool.Pool, role string) error {
	to := pgx.Identifier{role}.Sanitize()
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if err := grantable(ctx, tx, role); err != nil {
			return err
		}
		var schema string
		if err := tx.QueryRow(ctx, "SELECT quote_ident(current_schema())").Scan(&schema); err != nil {
			return fmt.Errorf("db: %w", err)
		}
		statements := []string{
			"REVOKE ALL ON ALL TABLES IN SCHEMA " + schema + " FROM " + to,
			"REVOKE ALL ON ALL SEQUENCES IN SCHEMA " + schema + " FROM " + to,
			"GRANT USAGE ON SCHEMA " + schema + " TO " + to,
		}
		for _, table := range slices.Sorted(maps.Keys(rights)) {
			statements = append(statements, "GRANT "+rights[table]+" ON "+pgx.Identifier{table}.Sanitize()+" TO "+to)
		}
		for _, sequence := range sequencesUsed {
			statements = append(statements, "GRANT USAGE ON SEQUENCE "+pgx.Identifier{sequence}.Sanitize()+" TO "+to)
		}
		for _, statement := range statements {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return fmt.Errorf("db: %s: %w", statement, err)
			}
		}
		return nil
	})
}

// grantable returns an error for a role that owns the tables or is above all rights: it needs no
// grant, and taking away what it has beyond serving would keep it from migrating.
func grantable(ctx context.Context, tx pgx.Tx, role string) error {
	var owns, super bool
	err := tx.QueryRow(ctx, `
		SELECT EXISTS (
		    SELECT FROM pg_class c
		    WHERE c.relnamespace = current_schema()::regnamespace AND pg_has_role(r.oid, c.relowner, 'MEMBER')),
		  r.rolsuper
		FROM pg_roles r WHERE r.rolname = $1`, role).Scan(&owns, &super)
	switch {
	case IsNoRows(err):
		return fmt.Errorf("db: there is no role %q: make it with CREATE ROLE … LOGIN", role)
	case err != nil:
		return fmt.Errorf("db: %w", err)
	case super:
		return fmt.Errorf("db: the role %q is a superuser and may do everything: make one of its own for serving", role)
	case owns:
		return fmt.Errorf("db: the role %q owns the tables, or is a member of who does: make another for serving", role)
	}
	return nil
}

// Granted tells whether Grant knows a table; a new one is to be named there.
func Granted(table string) bool { return rights[table] != "" }

// Package house is what the load tool measures: a house with a database of its own, the people that
// bids take, nodes that run martelo serve, and what they say of themselves.
package house

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"martelo/app/account"
	"martelo/db"
)

const (
	// ScratchPrefix begins the name of every database that is made here.
	ScratchPrefix = "martelo_bench_"
	// dropWithin bounds removing it, also after an interrupt.
	dropWithin = time.Minute
	// idsFrom and idsSpread are where ids begin: at random, since nodes of a scratch house may
	// share a Redis with a real one, where auctions and bidders are told apart by their ids.
	idsFrom, idsSpread = 1_000_000_000, 1_000_000_000_000
	// poolConnections is what this program itself needs for preparing and verifying.
	poolConnections = 8
	// LookAgain is the pause between two looks at a table, a log or a figure.
	LookAgain = 20 * time.Millisecond
)

// plausibleScratch are the names of databases that may be filled with a million bids without
// asking.
var plausibleScratch = regexp.MustCompile(`bench|scratch|test`)

// House is a house to bid in.
type House struct {
	DatabaseURL string
	Pool        *pgxpool.Pool
	Nodes       []*Node

	Seller  int64
	Token   string  // of a service, which bids for anybody
	Bidders []int64 // that Settle has brought

	folder string // for the nodes' logs
	drop   func() error
}

// Scratch makes a house with a database of its own on the server of an address. Close removes it.
func Scratch(ctx context.Context, serverURL string) (*House, error) {
	name := fmt.Sprintf("%s%08x", ScratchPrefix, rand.Uint32())
	address, err := url.Parse(serverURL)
	if err != nil || address.Host == "" {
		return nil, errors.New("bench: DATABASE_URL must have the form postgres://user:password@host:port/database")
	}
	address.Path = "/" + name
	create := "CREATE DATABASE " + name + " TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C.UTF-8' LC_CTYPE 'C.UTF-8'"
	h := &House{DatabaseURL: address.String(), drop: func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropWithin)
		defer cancel()
		return execute(ctx, serverURL, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
	}}
	from := idsFrom + rand.Int64N(idsSpread)
	ids := fmt.Sprintf("ALTER TABLE auctions ALTER COLUMN id RESTART WITH %d; "+
		"ALTER TABLE users ALTER COLUMN id RESTART WITH %d", from, from)
	for _, step := range []func() error{
		func() error { return execute(ctx, serverURL, create) },
		func() error { _, err := db.Migrate(ctx, h.DatabaseURL, nil); return err },
		func() error { return execute(ctx, h.DatabaseURL, ids) },
		h.open,
	} {
		if err := step(); err != nil {
			return nil, errors.Join(err, h.Close()) // an interrupted statement may have come to its end all the same
		}
	}
	return h, nil
}

// Given is the house behind nodes that run already. Unless told that this is meant, its database
// must not look like anybody's house.
func Given(databaseURL string, meant bool) (*House, error) {
	config, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		return nil, errors.New("bench: DATABASE_URL is not a PostgreSQL URL")
	}
	if !meant && !plausibleScratch.MatchString(config.Database) {
		return nil, fmt.Errorf("bench: the database %q does not look like one to try things in, and what is put there "+
			"stays for ever; --yes says that this is meant", config.Database)
	}
	h := &House{DatabaseURL: databaseURL, drop: func() error { return nil }}
	return h, h.open()
}

func (h *House) open() (err error) {
	if h.folder, err = os.MkdirTemp("", "martelo-bench"); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	h.Pool, err = db.Open(h.DatabaseURL, poolConnections)
	return err
}

// Close ends what was started and removes what was made.
func (h *House) Close() (err error) {
	for _, n := range h.Nodes {
		err = errors.Join(err, n.stop())
	}
	if h.Pool != nil {
		h.Pool.Close()
	}
	return errors.Join(err, h.drop(), os.RemoveAll(h.folder))
}

// Settle brings people: a seller who owns the service's token, and bidders, so that there are so
// many.
func (h *House) Settle(ctx context.Context, bidders int) error {
	if h.Seller == 0 {
		err := h.Pool.QueryRow(ctx,
			`INSERT INTO users (name, role) VALUES ('Bench', 'seller') RETURNING id`).Scan(&h.Seller)
		if err != nil {
			return fmt.Errorf("bench: seller: %w", err)
		}
		if h.Token, err = account.New(h.Pool).MakeToken(ctx, h.Seller, "bench", true); err != nil {
			return fmt.Errorf("bench: token: %w", err)
		}
	}
	more := bidders - len(h.Bidders)
	if more <= 0 {
		return nil
	}
	rows, err := h.Pool.Query(ctx,
		`INSERT INTO users (name) SELECT 'Bidder ' || n FROM generate_series(1, $1::integer) AS n RETURNING id`, more)
	if err != nil {
		return fmt.Errorf("bench: bidders: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return fmt.Errorf("bench: bidders: %w", err)
	}
	h.Bidders = append(h.Bidders, ids...)
	return nil
}

// execute runs a statement on a connection of its own, which has none of the pool's time limits.
func execute(ctx context.Context, databaseURL, statement string) error {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return fmt.Errorf("bench: DATABASE_URL: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("bench: %.40s: %w", statement, err)
	}
	return nil
}

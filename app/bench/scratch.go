package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"martelo/app/account"
	"martelo/db"
)

const (
	// scratchPrefix begins the name of every database that is made here.
	scratchPrefix = "martelo_bench_"
	// dropWithin bounds removing it, also after an interrupt.
	dropWithin = time.Minute
	// idsFrom and idsSpread are where ids begin: at random, since nodes of a scratch house may share a Redis with a real one, where
	// auctions and bidders are told apart by their ids.
	idsFrom, idsSpread = 1_000_000_000, 1_000_000_000_000
	// poolConnections is what this program itself needs for preparing and verifying.
	poolConnections = 8
)

// plausibleScratch are the names of databases that may be filled with a million bids without asking.
var plausibleScratch = regexp.MustCompile(`bench|scratch|test`)

// town is a database to bid in, with the people that bids take.
type town struct {
	databaseURL string
	pool        *pgxpool.Pool
	drop        func() error
	seller      int64
	token       string // of a service
	bidders     []int64
}

// newScratch makes a database of its own on the server of an address, with the house's schema.
func newScratch(ctx context.Context, serverURL string) (*town, error) {
	name := fmt.Sprintf("%s%08x", scratchPrefix, rand.Uint32())
	address, err := url.Parse(serverURL)
	if err != nil || address.Host == "" {
		return nil, errors.New("bench: DATABASE_URL must have the form postgres://user:password@host:port/database")
	}
	address.Path = "/" + name
	create := "CREATE DATABASE " + name + " TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C.UTF-8' LC_CTYPE 'C.UTF-8'"
	t := &town{databaseURL: address.String(), drop: func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropWithin)
		defer cancel()
		return execute(ctx, serverURL, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
	}}
	if err := execute(ctx, serverURL, create); err != nil {
		return nil, errors.Join(err, t.close()) // an interrupted statement may have come to its end all the same
	}
	if _, err := db.Migrate(ctx, t.databaseURL, nil); err != nil {
		return nil, errors.Join(err, t.close())
	}
	from := idsFrom + rand.Int64N(idsSpread)
	ids := fmt.Sprintf("ALTER TABLE auctions ALTER COLUMN id RESTART WITH %d; ALTER TABLE users ALTER COLUMN id RESTART WITH %d", from, from)
	if err := execute(ctx, t.databaseURL, ids); err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, t.open()
}

// givenTown is the database behind nodes that run already. Unless told that this is meant, it must not look like anybody's house.
func givenTown(databaseURL string, meant bool) (*town, error) {
	config, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		return nil, errors.New("bench: DATABASE_URL is not a PostgreSQL URL")
	}
	if !meant && !plausibleScratch.MatchString(config.Database) {
		return nil, fmt.Errorf("bench: the database %q does not look like one to try things in, and what is put there stays for ever; --yes says that this is meant", config.Database)
	}
	t := &town{databaseURL: databaseURL, drop: func() error { return nil }}
	return t, t.open()
}

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

func (t *town) open() (err error) {
	t.pool, err = db.Open(t.databaseURL, poolConnections)
	return err
}

func (t *town) close() error {
	if t.pool != nil {
		t.pool.Close()
	}
	return t.drop()
}

// settle brings people: a seller who owns the service's token, and bidders.
func (t *town) settle(ctx context.Context, bidders int) error {
	if t.seller == 0 {
		if err := t.pool.QueryRow(ctx, `INSERT INTO users (name, role) VALUES ('Bench', 'seller') RETURNING id`).Scan(&t.seller); err != nil {
			return fmt.Errorf("bench: seller: %w", err)
		}
		var err error
		if t.token, err = account.New(t.pool).MakeToken(ctx, t.seller, "bench", true); err != nil {
			return fmt.Errorf("bench: token: %w", err)
		}
	}
	if more := bidders - len(t.bidders); more > 0 {
		rows, err := t.pool.Query(ctx, `INSERT INTO users (name) SELECT 'Bidder ' || n FROM generate_series(1, $1::integer) AS n RETURNING id`, more)
		if err != nil {
			return fmt.Errorf("bench: bidders: %w", err)
		}
		ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil {
			return fmt.Errorf("bench: bidders: %w", err)
		}
		t.bidders = append(t.bidders, ids...)
	}
	return nil
}

// lot is what auctions are opened with: cents throughout, in steps of one, without soft close.
type lot struct {
	lane string
	ends time.Duration // from now on, by the database's clock
	// apart is by how much later each ends than the one before.
	apart time.Duration
}

// statementsWithin bounds filling a table; the pool's own bound is for what a house asks.
const statementsWithin = 5 * time.Minute

// tidy does at once what PostgreSQL would do in the background after so many rows, in the middle of what is measured.
func (t *town) tidy(ctx context.Context) error {
	if err := execute(ctx, t.databaseURL, `VACUUM (ANALYZE) auctions, lots, bids, outbox, users`); err != nil {
		return err
	}
	_ = execute(ctx, t.databaseURL, `CHECKPOINT`) // not everybody may
	return nil
}

// openLots opens auctions in one statement, tidies up after itself, and returns their ids and the first end.
func (t *town) openLots(ctx context.Context, count int, l lot) (ids []int64, ends time.Time, err error) {
	err = pgx.BeginFunc(ctx, t.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, fmt.Sprintf("SET LOCAL statement_timeout = %d", statementsWithin.Milliseconds())); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, `SELECT clock_timestamp() + make_interval(secs => $1)`, l.ends.Seconds()).Scan(&ends); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			WITH made AS (
			    INSERT INTO auctions (seller_id, currency, currency_digits, start_price, min_increment, current_price, status, lane,
			        soft_close_window_seconds, soft_close_extend_seconds, start_at, end_at, original_end_at)
			    SELECT $1, 'USD', 2, 0, 1, 0, 'OPEN', $2, 0, 0, clock_timestamp() - interval '1 second', at, at
			    FROM (SELECT $3::timestamptz + n * make_interval(secs => $4) AS at FROM generate_series(0, $5::integer - 1) AS n) AS ends
			    RETURNING id)
			INSERT INTO lots (auction_id, title, description)
			SELECT id, 'Lot ' || id || ', steel, about 1960', 'Serviced last spring, with its box. Collection or post.' FROM made
			RETURNING auction_id`, t.seller, strings.ToLower(l.lane), ends, l.apart.Seconds(), count)
		if err != nil {
			return err
		}
		ids, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	})
	if err != nil {
		return nil, ends, fmt.Errorf("bench: auctions: %w", err)
	}
	if count > 1 {
		err = t.tidy(ctx)
	}
	return ids, ends, err
}

package catalog

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"martelo/app/auction"
	"martelo/db"
)

const (
	// searchesMax search at once on a node. A search is the one question whose price the asker
	// sets, so it may never take all of the connections that everybody reads with.
	searchesMax = 3
	// searchWaitMax is how long a search waits for its turn. An ordinary one takes some
	// milliseconds, so who waits longer is behind a crowd.
	searchWaitMax = 200 * time.Millisecond
	// searchWithin bounds one search: ten times what the dearest sensible one takes.
	searchWithin = time.Second
)

// Refusals of a search. Both wrap auction.ErrUnavailable.
var (
	// ErrSearchCrowd is for a search that would have to wait for others.
	ErrSearchCrowd = fmt.Errorf("catalog: too many searches at once: %w", auction.ErrUnavailable)
	// ErrSearchTooWide is for one that takes too long.
	ErrSearchTooWide = fmt.Errorf("catalog: the search took too long: %w", auction.ErrUnavailable)
)

// inTurn searches when it is its turn, and for a bounded time.
func (c *Catalog) inTurn(ctx context.Context, search func(*db.Queries) error) error {
	leave, err := c.enterSearch(ctx)
	if err != nil {
		return err
	}
	defer leave()
	err = pgx.BeginTxFunc(ctx, c.pool, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		queries := db.New(tx)
		if err := queries.CatalogSearchWithin(ctx, strconv.FormatInt(searchWithin.Milliseconds(), 10)); err != nil {
			return err
		}
		return search(queries)
	})
	if db.IsTooLong(err) {
		return errors.Join(ErrSearchTooWide, err)
	}
	return err
}

// enterSearch waits for a turn to search. The error wraps auction.ErrUnavailable.
func (c *Catalog) enterSearch(ctx context.Context) (leave func(), err error) {
	timer := time.NewTimer(searchWaitMax)
	defer timer.Stop()
	select {
	case c.searching <- struct{}{}:
		return func() { <-c.searching }, nil
	case <-timer.C:
		return nil, ErrSearchCrowd
	case <-ctx.Done():
		return nil, fmt.Errorf("catalog: search: %w: %w", auction.ErrUnavailable, ctx.Err())
	}
}

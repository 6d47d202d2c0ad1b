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
	// searchesMax search at once on a node. A search is the one question whose price the asker sets, so it may never take all of the
	// connections that everybody reads with.
	searchesMax = 3
	// searchWaitMax is how long a search waits for its turn. An ordinary one takes some milliseconds, so who waits longer is behind a crowd.
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

// search lists what has words in it.
func (c *Catalog) search(ctx context.Context, words string, f Filter, from cursor, limit int32) ([]Auction, error) {
	leave, err := c.enterSearch(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	arg := db.CatalogSearchParams{
		Words: words, Status: oneStatus(f.Status), Sort: string(f.Sort),
		AfterEndAt: from.endAt, AfterPrice: from.price, AfterID: from.id, BeforeID: from.id, RowLimit: limit,
	}
	if f.SellerID != 0 {
		arg.SellerID = &f.SellerID
	}
	var rows []db.CatalogSearchRow
	err = pgx.BeginTxFunc(ctx, c.pool, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		queries := db.New(tx)
		if err := queries.CatalogSearchWithin(ctx, strconv.FormatInt(searchWithin.Milliseconds(), 10)); err != nil {
			return err
		}
		rows, err = queries.CatalogSearch(ctx, arg)
		return err
	})
	if db.IsTooLong(err) {
		return nil, errors.Join(ErrSearchTooWide, err)
	}
	return readMany(rows, func(r db.CatalogSearchRow) db.CatalogOneRow { return db.CatalogOneRow(r) }, err)
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

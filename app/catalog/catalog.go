// Package catalog is everything people read: one auction, lists and searches, an auction's bids,
// and what a person has bid on or sells.
package catalog

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"martelo/app/auction"
	"martelo/app/hot"
	"martelo/app/money"
	"martelo/db"
)

const (
	// answerWithin bounds each question to PostgreSQL, so that one that has vanished is a refusal
	// and not a hang.
	answerWithin = 3 * time.Second
	// BidsMax is how many bids may be asked for at once.
	BidsMax = 1000
)

// Auction is an auction with its words, as it was at Now.
type Auction struct {
	auction.State
	Title       string
	Description string
	Seller      Seller
	Now         time.Time // the database's clock when the auction was read

	// listed is where the auction stands in lists, which follows its bids within a second. Nil in
	// lists that are ordered by the auctions themselves.
	listed *listed
}

type listed struct {
	endAt time.Time
	price int64 // as nominalPrice
}

// Seller is how buyers see a seller: never by the person's own name.
type Seller struct {
	Name  string    // "" shows the number alone
	Since time.Time // selling since; zero when that is not known
}

// Catalog reads. It may be shared by any number of goroutines.
type Catalog struct {
	pool      *pgxpool.Pool
	queries   *db.Queries
	searching chan struct{} // holds a place for each search under way
	hot       *hot.Lane     // nil: PostgreSQL alone is asked
}

// New makes a catalog of the house kept in a database. The pool is best one of db.OpenReader.
func New(pool *pgxpool.Pool) *Catalog {
	return &Catalog{pool: pool, queries: db.New(pool), searching: make(chan struct{}, searchesMax)}
}

// WithHot lets one auction be read as the hot lane has it, whose state is exact at once. Lists and
// logs follow within two seconds.
func (c *Catalog) WithHot(lane *hot.Lane) *Catalog {
	c.hot = lane
	return c
}

// One returns an auction, or auction.ErrNotFound.
func (c *Catalog) One(ctx context.Context, id int64) (Auction, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	row, err := c.queries.CatalogOne(ctx, id)
	if db.IsNoRows(err) {
		return Auction{}, auction.ErrNotFound
	}
	if err != nil {
		return Auction{}, db.Unavailable(err)
	}
	found := read(row)
	if c.hot != nil && found.Lane == auction.Hot {
		if newest, _, knows := c.hot.Show(ctx, row.Auction); knows {
			found.State = newest
		}
	}
	return found, nil
}

// Now is the house's clock.
func (c *Catalog) Now(ctx context.Context) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	now, err := c.queries.Clock(ctx)
	return now, db.Unavailable(err)
}

// Bids returns up to limit of an auction's bids after a sequence number, in order, or
// auction.ErrNotFound.
func (c *Catalog) Bids(ctx context.Context, id, after int64, limit int) ([]auction.Bid, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	stored, err := c.queries.CatalogCurrency(ctx, id)
	if db.IsNoRows(err) {
		return nil, auction.ErrNotFound
	}
	if err != nil {
		return nil, db.Unavailable(err)
	}
	bids, err := c.queries.BidsAfter(ctx, db.BidsAfterParams{
		AuctionID: id, AfterSeq: after, RowLimit: int32(min(limit, BidsMax)),
	})
	if err != nil {
		return nil, db.Unavailable(err)
	}
	return db.AcceptedMany(bids, money.StoredCurrency(stored.Currency, int(stored.CurrencyDigits))), nil
}

// Latest returns up to limit of the newest bids of an auction that was read already, newest first.
func (c *Catalog) Latest(ctx context.Context, of auction.State, limit int) ([]auction.Bid, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	bids, err := c.queries.BidsLatest(ctx, db.BidsLatestParams{AuctionID: of.ID, RowLimit: int32(min(limit, BidsMax))})
	if err != nil {
		return nil, db.Unavailable(err)
	}
	return db.AcceptedMany(bids, of.Currency), nil
}

// HasBid tells whether a person has bid in an auction.
func (c *Catalog) HasBid(ctx context.Context, id, bidderID int64) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	_, err := c.queries.BidMineIn(ctx, db.BidMineInParams{BidderID: bidderID, AuctionID: id})
	if db.IsNoRows(err) {
		return false, nil
	}
	return err == nil, db.Unavailable(err)
}

// read turns a row of any of the catalog's statements into an auction: they all have the same
// columns.
func read(row db.CatalogOneRow) Auction {
	return Auction{
		State: row.Auction.State(), Title: row.Title, Description: row.Description,
		Seller: seller(row.SellerName, row.SellingSince), Now: row.Now,
	}
}

func seller(name string, since *time.Time) Seller {
	s := Seller{Name: name}
	if since != nil {
		s.Since = *since
	}
	return s
}

// Seller returns how somebody is shown who has put up a lot at any time, or auction.ErrNotFound:
// who never did is as unknown as who does not exist.
func (c *Catalog) Seller(ctx context.Context, id int64) (Seller, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	row, err := c.queries.CatalogSeller(ctx, id)
	if db.IsNoRows(err) {
		return Seller{}, auction.ErrNotFound
	}
	return seller(row.SellerName, row.SellingSince), db.Unavailable(err)
}

// readMany is read for a list, whose rows as has the same columns under the name of its own
// statement.
func readMany[Row any](rows []Row, as func(Row) db.CatalogOneRow, err error) ([]Auction, error) {
	if err != nil {
		return nil, db.Unavailable(err)
	}
	auctions := make([]Auction, len(rows))
	for i, row := range rows {
		auctions[i] = read(as(row))
	}
	return auctions, nil
}

// readListed is readMany for a list in the order of the listings.
func readListed[Row any](rows []Row, as func(Row) db.CatalogByEndRow, err error) ([]Auction, error) {
	if err != nil {
		return nil, db.Unavailable(err)
	}
	auctions := make([]Auction, len(rows))
	for i := range rows {
		row := as(rows[i])
		auctions[i] = read(db.CatalogOneRow{
			Auction: row.Auction, Title: row.Title, Description: row.Description,
			SellerName: row.SellerName, SellingSince: row.SellingSince, Now: row.Now,
		})
		auctions[i].listed = &listed{endAt: row.ListedEndAt, price: row.ListedPrice}
	}
	return auctions, nil
}

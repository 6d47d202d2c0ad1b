package catalog

import (
	"context"

	"martelo/app/auction"
	"martelo/db"
)

// Sort is the order of a list.
type Sort string

// The orders, as the contract spells them.
const (
	SortEnding Sort = "ending" // soonest end first
	SortNewest Sort = "newest"
	SortPrice  Sort = "price" // lowest figure first, whatever the currency
)

// All is the status of a list that is not narrowed to one.
const All auction.Status = "ALL"

const (
	// PageDefault is how many auctions a page of a list has unless asked otherwise.
	PageDefault = 20
	// PageMax is how many it may have.
	PageMax = 100
)

// Filter says which auctions a list has. The zero value is the first page of the open ones, soonest end first.
type Filter struct {
	Query    string
	Status   auction.Status // "" is OPEN; All is every status
	SellerID int64          // 0: everybody's
	Sort     Sort           // "" is SortEnding
	Limit    int            // 0 is PageDefault
	Cursor   string         // Page.Next of the page before; "" is the first
}

// Page is a stretch of a list.
type Page struct {
	Auctions []Auction
	Next     string // the cursor of the page after this one; "" on the last
}

// List returns a page of the auctions a filter lets through. It returns an *auction.FieldError for a filter that cannot be read.
func (c *Catalog) List(ctx context.Context, f Filter) (Page, error) {
	f, err := f.checked()
	if err != nil {
		return Page{}, err
	}
	from, err := readCursor(f.Cursor, f.Sort)
	if err != nil {
		return Page{}, err
	}
	words, searches := searchWords(f.Query)
	if searches && words == "" {
		return Page{}, nil // nothing that could be found
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	var found []Auction
	limit := int32(f.Limit + 1) // one more than shown tells whether there is a next page
	switch {
	case searches:
		found, err = c.search(ctx, words, f, from, limit)
	case f.SellerID != 0:
		found, err = c.ofSeller(ctx, f, from, limit)
	default:
		found, err = c.plain(ctx, f, from, limit)
	}
	if err != nil {
		return Page{}, err
	}
	return cut(found, f.Limit, f.Sort), nil
}

// cut makes a page of rows of which the last may only show that there are more.
func cut(found []Auction, limit int, sort Sort) Page {
	if len(found) <= limit {
		return Page{Auctions: found}
	}
	found = found[:limit]
	return Page{Auctions: found, Next: cursorAt(found[limit-1], sort).String()}
}

func (f Filter) checked() (Filter, error) {
	switch f.Status {
	case "":
		f.Status = auction.Open
	case All, auction.Scheduled, auction.Open, auction.Closed, auction.Cancelled:
	default:
		return f, fieldError("status", "The status is SCHEDULED, OPEN, CLOSED, CANCELLED or ALL.")
	}
	switch f.Sort {
	case "":
		f.Sort = SortEnding
	case SortEnding, SortNewest, SortPrice:
	default:
		return f, fieldError("sort", "The sort is ending, newest or price.")
	}
	switch {
	case f.Limit == 0:
		f.Limit = PageDefault
	case f.Limit < 0 || f.Limit > PageMax:
		return f, fieldError("limit", "The limit is from 1 to %d.", PageMax)
	}
	if f.SellerID < 0 {
		return f, fieldError("seller", "The seller is a user's id.")
	}
	return f, nil
}

// plain lists what a status and an order say.
func (c *Catalog) plain(ctx context.Context, f Filter, from cursor, limit int32) ([]Auction, error) {
	withOpen := f.Status == All || f.Status == auction.Open
	var still []string // the statuses other than OPEN
	switch f.Status {
	case All:
		still = []string{string(auction.Scheduled), string(auction.Closed), string(auction.Cancelled)}
	case auction.Open:
		still = []string{}
	default:
		still = []string{string(f.Status)}
	}
	switch f.Sort {
	case SortEnding:
		rows, err := c.queries.CatalogByEnd(ctx, db.CatalogByEndParams{
			RowLimit: limit, WithOpen: withOpen, StillStatuses: still, AfterEndAt: from.endAt, AfterID: from.id,
		})
		return readMany(rows, func(r db.CatalogByEndRow) db.CatalogOneRow { return db.CatalogOneRow(r) }, err)
	case SortPrice:
		rows, err := c.queries.CatalogByPrice(ctx, db.CatalogByPriceParams{
			RowLimit: limit, WithOpen: withOpen, StillStatuses: still, AfterPrice: from.price, AfterID: from.id,
		})
		return readMany(rows, func(r db.CatalogByPriceRow) db.CatalogOneRow { return db.CatalogOneRow(r) }, err)
	default:
		rows, err := c.queries.CatalogByNewest(ctx, db.CatalogByNewestParams{Status: oneStatus(f.Status), BeforeID: from.id, RowLimit: limit})
		return readMany(rows, func(r db.CatalogByNewestRow) db.CatalogOneRow { return db.CatalogOneRow(r) }, err)
	}
}

// ofSeller lists what one seller has.
func (c *Catalog) ofSeller(ctx context.Context, f Filter, from cursor, limit int32) ([]Auction, error) {
	if f.Sort == SortNewest {
		rows, err := c.queries.CatalogOfSeller(ctx, db.CatalogOfSellerParams{
			SellerID: f.SellerID, Status: oneStatus(f.Status), BeforeID: from.id, RowLimit: limit,
		})
		return readMany(rows, func(r db.CatalogOfSellerRow) db.CatalogOneRow { return db.CatalogOneRow(r) }, err)
	}
	rows, err := c.queries.CatalogOfSellerBy(ctx, db.CatalogOfSellerByParams{
		SellerID: f.SellerID, Status: oneStatus(f.Status), Sort: string(f.Sort),
		AfterEndAt: from.endAt, AfterPrice: from.price, AfterID: from.id, RowLimit: limit,
	})
	return readMany(rows, func(r db.CatalogOfSellerByRow) db.CatalogOneRow { return db.CatalogOneRow(r) }, err)
}

func oneStatus(status auction.Status) *string {
	if status == All {
		return nil
	}
	text := string(status)
	return &text
}

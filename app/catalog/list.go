package catalog

import (
	"context"
	"math"
	"slices"
	"time"

	"martelo/app/auction"
	"martelo/app/refusal"
	"martelo/db"
)

// Sort is the order of a list.
type Sort string

// The orders, as the contract spells them.
const (
	SortEnding Sort = "ending" // what is open or to come, soonest end first; then what is over, latest end first
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

// Filter says which auctions a list has. The zero value is the first page of the open ones, soonest
// end first.
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
	// Named is the auction whose number was searched for, on the first page. It stands first in
	// Auctions where the filter lets it through.
	Named *Auction
}

// List returns a page of the auctions a filter lets through. It returns a *refusal.FieldError for a
// filter that cannot be read.
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
	if searches && len(words) == 0 {
		return Page{}, nil // nothing that could be found
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	var found []Auction
	limit := int32(f.Limit + 1) // one more than shown tells whether there is a next page
	switch {
	case searches:
		return c.search(ctx, words, f, from)
	case f.SellerID != 0:
		found, err = c.ofSeller(ctx, f, from, limit)
	case f.Sort == SortEnding:
		found, err = c.byEnd(ctx, f.Status, from, limit)
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
	last := cursor{sort: sort}
	if limit > 0 {
		last = cursorAt(found[limit-1], sort)
	}
	return Page{Auctions: found[:limit], Next: last.String()}
}

func (f Filter) checked() (Filter, error) {
	switch f.Status {
	case "":
		f.Status = auction.Open
	case All, auction.Scheduled, auction.Open, auction.Closed, auction.Cancelled:
	default:
		return f, refusal.Of("status", refusal.Unknown)
	}
	switch f.Sort {
	case "":
		f.Sort = SortEnding
	case SortEnding, SortNewest, SortPrice:
	default:
		return f, refusal.Of("sort", refusal.Unknown)
	}
	switch {
	case f.Limit == 0:
		f.Limit = PageDefault
	case f.Limit < 0 || f.Limit > PageMax:
		return f, refusal.Of("limit", refusal.OutOfRange{Min: 1, Max: PageMax})
	}
	if f.SellerID < 0 {
		return f, refusal.Of("seller", refusal.OutOfRange{Min: 1, Max: math.MaxInt64})
	}
	return f, nil
}

// byEnd lists what is not over, soonest end first, and then what is over, latest end first. Those
// are two stretches of indexes; an auction that is closed between the two looks is found by both.
func (c *Catalog) byEnd(ctx context.Context, status auction.Status, from cursor, limit int32) ([]Auction, error) {
	var found []Auction
	withOpen, withScheduled := status == All || status == auction.Open, status == All || status == auction.Scheduled
	if (withOpen || withScheduled) && !from.over {
		rows, err := c.queries.CatalogByEnd(ctx, db.CatalogByEndParams{
			RowLimit: limit, WithOpen: withOpen, WithScheduled: withScheduled, AfterEndAt: from.endAt(),
			AfterID: from.id,
		})
		found, err = readListed(rows, func(r db.CatalogByEndRow) db.CatalogByEndRow { return r }, err)
		if err != nil || len(found) == int(limit) {
			return found, err
		}
	}
	var statuses []string
	for _, over := range []auction.Status{auction.Closed, auction.Cancelled} {
		if status == All || status == over {
			statuses = append(statuses, string(over))
		}
	}
	if len(statuses) == 0 {
		return found, nil
	}
	before := cursor{key: latestEnd.UnixMicro(), id: math.MaxInt64}
	if from.over {
		before = from
	}
	rows, err := c.queries.CatalogByEndOver(ctx, db.CatalogByEndOverParams{
		RowLimit: limit, Statuses: statuses, BeforeEndAt: before.endAt(), BeforeID: before.id,
	})
	over, err := readListed(
		rows, func(r db.CatalogByEndOverRow) db.CatalogByEndRow { return db.CatalogByEndRow(r) }, err,
	)
	if err != nil {
		return nil, err
	}
	over = slices.DeleteFunc(over, func(a Auction) bool { return has(found, a.ID) })
	found = append(found, over...)
	return found[:min(len(found), int(limit))], nil
}

// latestEnd is after every auction's end.
var latestEnd = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

func has(auctions []Auction, id int64) bool {
	return slices.ContainsFunc(auctions, func(a Auction) bool { return a.ID == id })
}

// plain lists what a status says, by price or newest first.
func (c *Catalog) plain(ctx context.Context, f Filter, from cursor, limit int32) ([]Auction, error) {
	if f.Sort == SortNewest {
		rows, err := c.queries.CatalogByNewest(
			ctx, db.CatalogByNewestParams{Status: oneStatus(f.Status), BeforeID: from.before(), RowLimit: limit},
		)
		return readMany(rows, func(r db.CatalogByNewestRow) db.CatalogOneRow { return db.CatalogOneRow(r) }, err)
	}
	still := []string{} // the statuses other than OPEN
	switch f.Status {
	case All:
		still = []string{string(auction.Scheduled), string(auction.Closed), string(auction.Cancelled)}
	case auction.Scheduled, auction.Closed, auction.Cancelled:
		still = []string{string(f.Status)}
	}
	_, price, id := from.after()
	rows, err := c.queries.CatalogByPrice(ctx, db.CatalogByPriceParams{
		RowLimit: limit, WithOpen: f.Status == All || f.Status == auction.Open, StillStatuses: still, AfterPrice: price,
		AfterID: id,
	})
	return readListed(rows, func(r db.CatalogByPriceRow) db.CatalogByEndRow { return db.CatalogByEndRow(r) }, err)
}

// ofSeller lists what one seller has.
func (c *Catalog) ofSeller(ctx context.Context, f Filter, from cursor, limit int32) ([]Auction, error) {
	if f.Sort == SortNewest {
		rows, err := c.queries.CatalogOfSeller(ctx, db.CatalogOfSellerParams{
			SellerID: f.SellerID, Status: oneStatus(f.Status), BeforeID: from.before(), RowLimit: limit,
		})
		return readMany(rows, func(r db.CatalogOfSellerRow) db.CatalogOneRow { return db.CatalogOneRow(r) }, err)
	}
	over, place, tie := from.after()
	rows, err := c.queries.CatalogOfSellerBy(ctx, db.CatalogOfSellerByParams{
		SellerID: f.SellerID, Status: oneStatus(f.Status), Sort: string(f.Sort), AfterOver: over, AfterPlace: place,
		AfterTie: tie, RowLimit: limit,
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

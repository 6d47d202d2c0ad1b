package catalog

import (
	"context"

	"martelo/app/money"
	"martelo/db"
)

// MyBid is an auction that a person has bid on.
type MyBid struct {
	Auction
	Highest money.Amount // the person's own highest bid
}

// MyBids returns a page of the auctions that a person has bid on, newest auction first. A limit of
// 0 is PageDefault. It returns an *refusal.FieldError for a cursor or a limit that cannot be read.
func (c *Catalog) MyBids(
	ctx context.Context, userID int64, after string, limit int,
) (bids []MyBid, next string, err error) {
	f, err := Filter{Sort: SortNewest, Limit: limit, Cursor: after}.checked()
	if err != nil {
		return nil, "", err
	}
	from, err := readCursor(after, SortNewest)
	if err != nil {
		return nil, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	rows, err := c.queries.CatalogMyBids(
		ctx, db.CatalogMyBidsParams{BidderID: userID, BeforeID: from.before(), RowLimit: int32(f.Limit + 1)},
	)
	if err != nil {
		return nil, "", db.Unavailable(err)
	}
	for _, row := range rows {
		a := read(db.CatalogOneRow{
			Auction: row.Auction, Title: row.Title, Description: row.Description,
			SellerName: row.SellerName, SellingSince: row.SellingSince, Now: row.Now,
		})
		bids = append(bids, MyBid{Auction: a, Highest: money.FromMinor(row.MyAmount, a.Currency)})
	}
	if len(bids) > f.Limit {
		bids = bids[:f.Limit]
		next = cursorAt(bids[f.Limit-1].Auction, SortNewest).String()
	}
	return bids, next, nil
}

// MyAuctions returns a page of a seller's own auctions of every status, newest first. A limit of 0
// is PageDefault.
func (c *Catalog) MyAuctions(ctx context.Context, sellerID int64, after string, limit int) (Page, error) {
	return c.List(ctx, Filter{Status: All, SellerID: sellerID, Sort: SortNewest, Limit: limit, Cursor: after})
}

package auctioneer

import (
	"context"
	"fmt"
	"time"

	"martelo/app/auction"
	"martelo/db"
)

// ErrKeyReused refuses a draft whose key has opened another auction. It wraps auction.ErrKeyReused.
var ErrKeyReused = fmt.Errorf("auctioneer: another auction was opened with this key: %w", auction.ErrKeyReused)

// opened returns the id of the auction that a draft's key has opened, if the draft is the same. It
// returns ErrKeyReused if it is another, and pgx.ErrNoRows if the key is new.
func (a *Auctioneer) opened(ctx context.Context, q *db.Queries, draft auction.Draft) (int64, error) {
	row, err := q.AuctionByRequest(ctx, db.AuctionByRequestParams{SellerID: draft.SellerID, RequestID: &draft.Key})
	if err != nil {
		return 0, err
	}
	if row.Title != draft.CleanTitle() || row.Description != draft.Description || !sameTerms(row.Auction, draft) {
		return 0, ErrKeyReused
	}
	return row.Auction.ID, nil
}

// sameTerms tells whether a draft is the one that an auction was opened with. A start that is not
// given, or was past by then, means the moment of opening. The lane of an auction that was moved
// into the hot lane tells nothing.
func sameTerms(row db.Auction, draft auction.Draft) bool {
	now := row.StartAt.Before(row.CreatedAt) || row.StartAt.Equal(row.CreatedAt)
	sameStart := draft.StartAt.Equal(row.StartAt) || now && !draft.StartAt.After(row.CreatedAt)
	sameLane := row.Lane == string(draft.Lane) || row.LaneEpoch > 0
	return sameStart && sameLane && draft.EndAt.Equal(row.OriginalEndAt) &&
		row.Currency == draft.Currency.Code() && row.StartPrice == draft.StartPrice.Minor() &&
		row.MinIncrement == draft.MinIncrement.Minor() &&
		row.SoftCloseWindowSeconds == int32(draft.SoftClose.Window/time.Second) &&
		row.SoftCloseExtendSeconds == int32(draft.SoftClose.Extend/time.Second)
}

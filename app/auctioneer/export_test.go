package auctioneer

import (
	"context"
	"time"
)

// Remember has a node remember each auction's price from the first bid on, for as long as told.
func (a *Auctioneer) Remember(fresh time.Duration) { a.early.fresh, a.early.company = fresh, 1 }

// CloseHot closes the hot auctions that are due until ctx ends.
func (a *Auctioneer) CloseHot(ctx context.Context) { a.closeHot(ctx) }

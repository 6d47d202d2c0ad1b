package main

import (
	"context"
	"log/slog"

	"github.com/jackc/pgx/v5/pgxpool"

	"martelo/app/auctioneer"
)

// newDesk is the house's own way of taking bids, as a node has it, and how that ends.
func newDesk(pool *pgxpool.Pool) (take placer, stop func(context.Context) error) {
	own := auctioneer.New(auctioneer.Options{Database: pool, Log: slog.New(slog.DiscardHandler)})
	return own, own.Stop
}

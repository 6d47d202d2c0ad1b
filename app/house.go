package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"martelo/app/identity"
	"martelo/db"
)

// houseCommand changes which house the database is: renew for a copy, claim for a house that has
// moved.
func houseCommand(ctx context.Context, args []string, out io.Writer) error {
	if len(args) != 1 || args[0] != "renew" && args[0] != "claim" {
		return errors.New(
			"house: say either renew, for a copy of a house, or claim, for a house that has moved to another database",
		)
	}
	needed := []string{"DATABASE_URL"}
	if args[0] == "claim" {
		needed = append(needed, "REDIS_URL")
	}
	s, err := readSettings(needed...)
	if err != nil {
		return err
	}
	pool, err := db.Open(s.DatabaseURL, 1) // one connection, so that those of nodes can be counted
	if err != nil {
		return err
	}
	defer pool.Close()
	var id string
	if args[0] == "renew" {
		id, err = identity.Renew(ctx, pool)
	} else {
		id, err = claim(ctx, pool, s)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, id)
	return err
}

func claim(ctx context.Context, pool *pgxpool.Pool, s settings) (string, error) {
	options, err := redis.ParseURL(s.RedisURL)
	if err != nil {
		return "", fmt.Errorf("REDIS_URL: %w", err)
	}
	client := redis.NewClient(options)
	defer client.Close()
	house := identity.New(pool, client, slog.New(slog.DiscardHandler))
	defer house.Close()
	return house.Claim(ctx)
}

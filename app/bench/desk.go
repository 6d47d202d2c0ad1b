package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"martelo/app/auction"
	"martelo/app/bench/house"
	"martelo/app/bench/load"
	"martelo/app/bench/report"
	"martelo/app/money"
	"martelo/db"
	"martelo/db/dbtest/published"
)

const (
	// deskConnections is what a node has for bids by default, half of DATABASE_CONNECTIONS. The
	// other designs get one for each bidder.
	deskConnections = 12
	// otherConnections is how many connections of the server are left to others: to this program's
	// preparing and looking, and to who looks after the server.
	otherConnections = 16
	// designsName is what the designs' connections are called.
	designsName = "martelo-bench"
)

// placer is a way to take bids.
type placer interface {
	Place(context.Context, auction.Request) (auction.Bid, bool, error)
}

// design is a way to take bids that is compared with others.
type design struct {
	name string
	placer
	connections int
}

// designs are the house's way to take bids and the two that it is compared with, for so many
// bidders.
func (b *bench) designs(ctx context.Context, bidders int) (all []design, stop func() error, err error) {
	spare, err := b.spareConnections(ctx)
	if err != nil {
		return nil, nil, err
	}
	pool, err := connected(ctx, b.house, deskConnections)
	if err != nil {
		return nil, nil, err
	}
	others, err := connected(ctx, b.house, min(bidders, spare-deskConnections))
	if err != nil {
		pool.Close()
		return nil, nil, err
	}
	desk, stopDesk := newDesk(pool)
	stop = func() error {
		err := stopDesk(context.WithoutCancel(ctx))
		pool.Close()
		others.Close()
		return err
	}
	many := int(others.Config().MaxConns)
	return []design{
		{"the house", desk, deskConnections},
		{"published transaction", published.Transaction{Pool: others}, many},
		{"one conditional statement", published.Statement{Pool: others}, many},
	}, stop, nil
}

// spareConnections is how many connections the server has left for the designs. Those of earlier
// designs do not count: they have been closed, and are gone in a moment.
func (b *bench) spareConnections(ctx context.Context) (spare int, err error) {
	err = b.house.Pool.QueryRow(ctx, `
		SELECT current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
		    - (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND application_name <> $1)`,
		designsName).Scan(&spare)
	if err != nil {
		return 0, fmt.Errorf("bench: %w", err)
	}
	if spare -= otherConnections; spare <= deskConnections {
		return 0, fmt.Errorf("bench: PostgreSQL has no connections left; raise max_connections")
	}
	return spare, nil
}

// connected opens a pool and its connections, one after the other: sixty processes that PostgreSQL
// starts at once are no part of a measurement.
func connected(ctx context.Context, h *house.House, connections int) (pool *pgxpool.Pool, err error) {
	address, err := house.Named(h.DatabaseURL, designsName)
	if err != nil {
		return nil, err
	}
	if pool, err = db.Open(address, connections); err != nil {
		return nil, err
	}
	held := make([]*pgxpool.Conn, 0, connections)
	defer func() {
		for _, conn := range held {
			conn.Release()
		}
		if err != nil {
			pool.Close() // it waits for connections that are held
		}
	}()
	for range connections {
		conn, err := pool.Acquire(ctx)
		if err != nil {
			return pool, fmt.Errorf("bench: %w", err)
		}
		held = append(held, conn)
	}
	return pool, nil
}

// desk compares the designs on one auction each, which is bid on as fast as each design can.
func (b *bench) desk(ctx context.Context) error {
	if err := b.house.Settle(ctx, slices.Max(b.bidders)); err != nil {
		return err
	}
	return b.compare(ctx, func() ([]int64, int64, error) {
		ids, _, err := b.house.Open(ctx, 1, house.Lots{Lane: auction.Standard, Ends: lotEnds})
		return ids, 0, err
	})
}

// compare measures the designs with each number of bidders. They take turns, in another order each
// round, so that none has the better moments. Next is what a load bids on, and what that stands at.
func (b *bench) compare(ctx context.Context, next func() (auctions []int64, above int64, err error)) error {
	for _, bidders := range b.bidders {
		designs, stop, err := b.designs(ctx, bidders)
		if err != nil {
			return err
		}
		rows, err := b.takeTurns(ctx, designs, bidders, next)
		if err := errors.Join(err, stop()); err != nil {
			return err
		}
		for _, row := range rows {
			if row.Accepted > 0 {
				row.Figures["the house accepts times as many"] = rows[0].Accepted / row.Accepted
			}
			b.report.Add(row)
		}
	}
	return nil
}

func (b *bench) takeTurns(ctx context.Context, designs []design, bidders int,
	next func() ([]int64, int64, error)) (medians []report.Row, err error) {
	rounds := make([][]report.Row, len(designs))
	for round := range b.rounds {
		for turn := range designs {
			which := (turn + round) % len(designs)
			auctions, above, err := next()
			if err != nil {
				return nil, err
			}
			row, err := b.closedLoop(ctx, designs[which], bidders, auctions, above)
			if err != nil {
				return nil, err
			}
			rounds[which] = append(rounds[which], row)
		}
	}
	for _, rows := range rounds {
		medians = append(medians, report.Median(rows))
	}
	return medians, nil
}

// loop is what bidders of a closed loop share.
type loop struct {
	design
	auctions                 []int64
	above                    int64
	keys                     house.Keys
	begin                    time.Time
	next, answered, accepted atomic.Int64
}

// closedLoop has bidders bid on auctions as fast as they are answered. Of two that bid on one
// auction at once, one may be too low.
func (b *bench) closedLoop(
	ctx context.Context, d design, bidders int, auctions []int64, above int64) (report.Row, error) {
	seen := b.house.Observe(ctx)
	l := &loop{design: d, auctions: auctions, above: above, keys: house.NewKeys(), begin: time.Now()}
	times, failures := make([]*load.Times, bidders), make([]error, bidders)
	var all sync.WaitGroup
	for w, bidder := range b.house.Bidders[:bidders] {
		times[w] = load.NewTimes()
		all.Go(func() { failures[w] = l.bid(ctx, bidder, times[w], b.warm, b.span) })
	}
	all.Wait()
	figures := seen()
	if err := errors.Join(append(failures, ctx.Err())...); err != nil {
		return report.Row{}, err
	}
	for _, other := range times[1:] {
		times[0].Merge(other)
	}
	row := report.Row{
		What:     fmt.Sprintf("%s, %d bidders", d.name, bidders),
		Answered: float64(l.answered.Load()) / b.span.Seconds(),
		Accepted: float64(l.accepted.Load()) / b.span.Seconds(),
		Figures:  figures,
	}
	row.Figures["connections"] = float64(d.connections)
	row.Take(times[0])
	return row, nil
}

// bid bids for one bidder until the time is over.
func (l *loop) bid(ctx context.Context, bidder int64, times *load.Times, warm, span time.Duration) error {
	for ctx.Err() == nil && time.Since(l.begin) < warm+span {
		i := int(l.next.Add(1) - 1)
		asked := time.Now()
		_, _, err := l.Place(ctx, auction.Request{
			AuctionID: l.auctions[i*scatter%len(l.auctions)], BidderID: bidder, Key: l.keys.Of(i),
			Amount: cents(l.above + int64(i/len(l.auctions)) + 1),
		})
		if err != nil && !auction.IsRefusal(err) {
			return err
		}
		if asked.Sub(l.begin) < warm {
			continue
		}
		times.Record(time.Since(asked))
		l.answered.Add(1)
		if err == nil {
			l.accepted.Add(1)
		}
	}
	return nil
}

func cents(n int64) money.Decimal {
	decimal, err := money.Parse(string(appendCents(nil, n)))
	if err != nil {
		panic("bench: " + err.Error()) // digits, a point and two digits
	}
	return decimal
}

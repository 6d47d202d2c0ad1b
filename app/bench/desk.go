package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/jackc/pgx/v5/pgxpool"

	"martelo/app/auction"
	"martelo/app/auctioneer"
	"martelo/app/money"
	"martelo/db"
)

const (
	// biddingOr is how many bid at once unless told otherwise, each its next bid as soon as the last is answered.
	biddingOr = 64
	// deskConnections is what a node's desk has by default, half of DATABASE_CONNECTIONS. The other designs get one for each bidder.
	deskConnections = 12
)

// placer is a way to place a bid.
type placer struct {
	name  string
	place func(context.Context, auction.Request) (auction.Bid, bool, error)
	stop  func()
}

// ownDesk is a desk as a node has it.
func (b *bench) ownDesk(ctx context.Context) (placer, error) {
	pool, err := b.connected(ctx, deskConnections)
	if err != nil {
		return placer{}, err
	}
	desk := auctioneer.New(auctioneer.Options{Database: pool, Log: slog.New(slog.DiscardHandler)})
	return placer{"the desk", desk.Place, func() { _ = desk.Stop(context.Background()); pool.Close() }}, nil
}

// placers are the house's desk and the designs it is compared with.
func (b *bench) placers(ctx context.Context) ([]placer, error) {
	desk, err := b.ownDesk(ctx)
	if err != nil {
		return nil, err
	}
	pool, err := b.connected(ctx, b.bidding)
	if err != nil {
		desk.stop()
		return nil, err
	}
	others := &published{pool: pool}
	return []placer{desk, {"published transaction", others.transaction, func() {}}, {"one conditional statement", others.statement, pool.Close}}, nil
}

// connected opens a pool and its connections, one after the other: sixty processes that PostgreSQL starts at once are no part of a
// measurement.
func (b *bench) connected(ctx context.Context, connections int) (pool *pgxpool.Pool, err error) {
	pool, err = db.Open(b.town.databaseURL, connections)
	if err != nil {
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

// desk compares the designs on one hot auction each, one after the other, in a loop that is closed: what is compared is how many bids
// a second each accepts.
func (b *bench) desk(ctx context.Context) error {
	if err := b.town.settle(ctx, b.bidding); err != nil {
		return err
	}
	placers, err := b.placers(ctx)
	if err != nil {
		return err
	}
	warm, span := otherwise(b.warm, time.Second, 3*time.Second, b), otherwise(b.span, 8*time.Second, 30*time.Second, b)
	var first float64
	for _, p := range placers {
		defer p.stop()
		ids, _, err := b.town.openLots(ctx, 1, lot{lane: string(auction.Standard), ends: lotEnds})
		if err != nil {
			return err
		}
		row, err := b.closedLoop(ctx, p, ids, warm, span)
		if err != nil {
			return err
		}
		if first == 0 {
			first = row.Accepted
		} else if row.Accepted > 0 {
			row.Figures["the desk accepts times as many"] = first / row.Accepted
		}
		if err := b.report.add(row); err != nil {
			return err
		}
	}
	return nil
}

// closedLoop has bidders bid on auctions as fast as they are answered. Of the two that bid on one auction at once, one may be too low.
func (b *bench) closedLoop(ctx context.Context, p placer, auctions []int64, warm, span time.Duration) (Row, error) {
	var (
		next, accepted, answered atomic.Int64
		all                      sync.WaitGroup
		times                    = make([]*hdrhistogram.Histogram, b.bidding)
		failures                 = make([]error, b.bidding)
		keys                     = newKeys()
	)
	before, begin := b.figures(ctx), time.Now()
	for w := range b.bidding {
		times[w] = newTimes()
		all.Go(func() {
			for ctx.Err() == nil && time.Since(begin) < warm+span {
				i := int(next.Add(1) - 1)
				request := auction.Request{
					AuctionID: auctions[i*scatter%len(auctions)], BidderID: b.town.bidders[w], Key: keys.of(i),
					Amount: cents(int64(i/len(auctions)) + 1),
				}
				asked := time.Now()
				_, _, err := p.place(ctx, request)
				if asked.Sub(begin) >= warm && ctx.Err() == nil {
					record(times[w], time.Since(asked))
					answered.Add(1)
				}
				switch {
				case err == nil && asked.Sub(begin) >= warm:
					accepted.Add(1)
				case err != nil && !auction.IsRefusal(err):
					failures[w] = errors.Join(failures[w], err)
					return
				}
			}
		})
	}
	all.Wait()
	if err := errors.Join(append(failures, ctx.Err())...); err != nil {
		return Row{}, err
	}
	for _, other := range times[1:] {
		times[0].Merge(other)
	}
	row := Row{What: p.name, Answered: float64(answered.Load()) / span.Seconds(), Accepted: float64(accepted.Load()) / span.Seconds()}
	row.take(times[0])
	row.Figures = b.figures(ctx).since(before, time.Since(begin))
	return row, nil
}

func cents(n int64) money.Decimal {
	decimal, err := money.Parse(string(appendCents(nil, n)))
	if err != nil {
		panic("bench: " + err.Error()) // digits, a point and two digits
	}
	return decimal
}

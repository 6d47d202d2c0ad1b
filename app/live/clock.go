package live

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"martelo/db"
)

const (
	// clockEvery is how often the clock is compared with PostgreSQL's; clocks of machines drift
	// apart by some ms a minute at worst.
	clockEvery = 30 * time.Second
	// clockSamples are taken each time; the one with the shortest round trip counts.
	clockSamples = 5
	// clockWithin bounds one comparison.
	clockWithin = 2 * time.Second
	// clockAgain is how soon a failed comparison is tried again.
	clockAgain = time.Second
)

// Clock estimates PostgreSQL's clock, to show it and count down by it. Nothing is ever decided by
// it. Between comparisons it runs on this machine's monotonic clock, so that setting the machine's
// time does not move it.
type Clock struct {
	pool   *pgxpool.Pool
	began  time.Time    // with its monotonic reading
	offset atomic.Int64 // nanoseconds PostgreSQL is ahead of began + the time since
}

func newClock(pool *pgxpool.Pool) *Clock { return &Clock{pool: pool, began: time.Now()} }

// Now is about what PostgreSQL's clock_timestamp() would say, in UTC: off by half a round trip at
// most. Before PostgreSQL was reached for the first time it is this machine's time.
func (c *Clock) Now() time.Time {
	return c.local().Add(time.Duration(c.offset.Load())).UTC()
}

func (c *Clock) local() time.Time { return c.began.Add(time.Since(c.began)) }

func (c *Clock) run(ctx context.Context) {
	for {
		pause := clockEvery
		if c.compare(ctx) != nil {
			pause = clockAgain
		}
		if !sleep(ctx, pause) {
			return
		}
	}
}

// compare measures the offset: the server's time lies, most likely, in the middle of the shortest
// round trip.
func (c *Clock) compare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, clockWithin)
	defer cancel()
	conn, err := c.pool.Acquire(ctx) // once, so that waiting for a connection is not measured
	if err != nil {
		return err
	}
	defer conn.Release()
	queries := db.New(conn)
	shortest := clockWithin
	var offset time.Duration
	for range clockSamples {
		sent := c.local()
		now, err := queries.Clock(ctx)
		if err != nil {
			return err
		}
		if trip := c.local().Sub(sent); trip < shortest {
			shortest, offset = trip, now.Sub(sent.Add(trip/2))
		}
	}
	c.offset.Store(int64(offset))
	return nil
}

package auctioneer_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"martelo/app/auction"
	"martelo/db"
)

// BenchmarkOneAuction lets bidders bid on one auction without a pause, each the least amount that
// it believes to be enough, in either lane at the same durability: PostgreSQL's commit, and Redis's
// answer after the fsync of its append-only file.
func BenchmarkOneAuction(b *testing.B) {
	for _, lane := range []auction.Lane{auction.Standard, auction.Hot} {
		for _, bidders := range []int{1, 8, 64, 256} {
			b.Run(fmt.Sprintf("%s/%d", lane, bidders), func(b *testing.B) { benchmarkOneAuction(b, lane, bidders) })
		}
	}
}

func benchmarkOneAuction(b *testing.B, lane auction.Lane, bidders int) {
	h := newHouseIn(b, lane, bidders)
	desk := h.desk()
	id := h.open(hour, auction.SoftClose{})
	h.warm(id, desk)
	var next, left, accepted atomic.Int64
	left.Store(int64(b.N))
	took := make([][]time.Duration, bidders)
	var bidding sync.WaitGroup
	b.ResetTimer()
	for i, bidder := range h.bidders {
		bidding.Go(func() {
			for left.Add(-1) >= 0 {
				r := request(id, bidder, 100000+next.Add(1)*1000)
				begun := time.Now()
				_, _, err := desk.Place(b.Context(), r)
				took[i] = append(took[i], time.Since(begun))
				if err == nil {
					accepted.Add(1)
				}
			}
		})
	}
	over := make(chan struct{})
	lag := make(chan time.Duration, 1)
	go func() { lag <- h.largestLag(id, over) }()
	bidding.Wait()
	b.StopTimer()
	close(over)
	all := slices.Sorted(slices.Values(slices.Concat(took...)))
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decided/s")
	b.ReportMetric(float64(accepted.Load())/b.Elapsed().Seconds(), "accepted/s")
	b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric((<-lag).Seconds(), "lag-s")
	if err := h.faults(id, nil); err != nil {
		b.Error(err)
	}
}

// largestLag looks, until it is over, how far the log is behind the newest bid, by the bids' own
// times.
func (h *house) largestLag(id int64, over <-chan struct{}) (largest time.Duration) {
	if h.lane != auction.Hot {
		return 0
	}
	every := time.NewTicker(50 * time.Millisecond)
	defer every.Stop()
	for {
		select {
		case <-over:
			return largest
		case <-every.C:
		}
		logged, err := db.New(h.pool).BidsLatest(h.Context(), db.BidsLatestParams{AuctionID: id, RowLimit: 1})
		_, recent, knows := h.reader.Show(h.Context(), h.row(id))
		if err == nil && knows && len(logged) > 0 && len(recent) > 0 {
			largest = max(largest, recent[0].AcceptedAt.Sub(logged[0].AcceptedAt))
		}
	}
}

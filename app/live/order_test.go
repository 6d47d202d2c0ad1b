package live_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"martelo/app/auction"
	"martelo/app/live"
	"martelo/app/money"
	"martelo/db"
)

// state is auction 1 after n bids, in version n + 1.
func state(n int64) auction.State {
	usd := money.MustCurrency("USD")
	at := time.Date(2030, 1, 1, 12, 0, 0, 123456000, time.UTC)
	s := auction.State{
		ID: 1, SellerID: 2, Currency: usd, StartPrice: money.FromMinor(100000, usd),
		MinIncrement: money.FromMinor(1000, usd),
		CurrentPrice: money.FromMinor(100000+1000*n, usd), Status: auction.Open, Lane: auction.Standard,
		SoftClose: auction.DefaultSoftClose,
		StartAt:   at, EndAt: at.Add(time.Hour), OriginalEndAt: at.Add(time.Hour), BidCount: n, Version: n + 1,
	}
	if n > 0 {
		s.LeaderID, s.LeaderPaddle, s.BidderCount = 3, 1, 1
	}
	return s
}

// history is the newest bids up to the n-th, at most so many.
func history(n, most int64) []auction.Bid {
	var bids []auction.Bid
	for seq := n; seq > 0 && seq > n-most; seq-- {
		s := state(seq)
		bids = append(
			bids,
			auction.Bid{
				ID: 100 + seq, AuctionID: 1, Seq: seq, BidderID: 3, Paddle: 1, Amount: s.CurrentPrice, Key: uuid.New(),
				AcceptedAt: s.StartAt,
			},
		)
	}
	return bids
}

// unconnected is a hub that is not running and has nothing to talk to.
func unconnected(t testing.TB) *live.Hub {
	t.Helper()
	pool, err := db.Open("postgres://nobody@127.0.0.1:1/none", 1)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	hub, _ := newHub(t, pool, client, live.Limits{}, io.Discard)
	t.Cleanup(func() {
		pool.Close()
		client.Close()
	})
	return hub
}

// However updates are ordered, repeated, lost and shortened, a viewer never sees a version go back,
// and in the end has the newest.
func TestVersionsNeverGoBack(t *testing.T) {
	t.Parallel()
	hub := unconnected(t)
	hub.Pace(0)
	rapid.Check(t, func(t *rapid.T) {
		versions := rapid.SliceOfN(rapid.Int64Range(0, 40), 1, 60).Draw(t, "bids")
		hub.Watch(auction.Update{State: state(0)})
		viewer, err := hub.Admit(live.Viewing{Auctions: []int64{1}, As: allNotes})
		if err != nil {
			t.Fatal(err)
		}
		sent := make(chan []byte, len(versions)+8)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() {
			ended <- viewer.Serve(ctx, func(frames [][]byte) error {
				for _, frame := range frames {
					sent <- frame
				}
				return nil
			})
		}()
		var newest int64
		for i, n := range versions {
			length := rapid.Int64Range(0, auction.RecentMax).Draw(t, "length")
			hub.Take(auction.Update{State: state(n), Recent: history(n, length)})
			newest = max(newest, n)
			if rapid.Bool().Draw(t, "tick") || i == len(versions)-1 {
				hub.Step()
			}
		}
		var seen int64
		for seen < newest+1 {
			select {
			case frame := <-sent:
				var n note
				if err := json.Unmarshal(frame, &n); err != nil {
					t.Fatal(err)
				}
				if n.Clock {
					continue
				}
				if n.Version < seen {
					t.Fatalf("version %d came after %d", n.Version, seen)
				}
				seen = n.Version
			case <-time.After(patience):
				t.Fatalf("version %d seen, %d was the newest", seen, newest+1)
			}
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if hub.Viewers() != 0 {
			t.Fatal("the viewer is still in")
		}
		hub.Forget()
	})
}

// A short announcement is completed by what was seen before, as far as there is no gap.
func TestHistoryIsContinued(t *testing.T) {
	t.Parallel()
	hub := unconnected(t)
	hub.Watch(auction.Update{State: state(20), Recent: history(20, 10)})
	for _, step := range []struct {
		bids, announced int64
		length          int
		complete        bool
	}{
		{21, 1, 10, true},
		{24, 3, 10, true},
		{26, 1, 1, false}, // bid 25 was never heard of
		{26, 10, 10, true},
		{26, 3, 10, true}, // says less than is known
	} {
		hub.Take(auction.Update{State: state(step.bids), Recent: history(step.bids, step.announced)})
		version, length, complete := hub.History(1)
		if version != step.bids+1 || length != step.length || complete != step.complete {
			t.Errorf("after bid %d with %d announced: version %d, %d bids, complete %v; wanted %d and %v",
				step.bids, step.announced, version, length, complete, step.length, step.complete)
		}
	}
	closed := state(26)
	closed.Status, closed.Version, closed.ClosedAt = auction.Closed, closed.Version+1, closed.EndAt
	hub.Take(auction.Update{State: closed})
	if version, length, complete := hub.History(1); version != 28 || length != 10 || !complete {
		t.Errorf("a closing without bids left version %d with %d bids, complete %v", version, length, complete)
	}
}

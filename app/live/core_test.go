package live_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"martelo/app/auction"
	"martelo/app/live"
	"martelo/db/dbtest"
)

// guest is a viewer of auction 1 on a hub that is moved by hand. Each write waits until the test
// takes it.
type guest struct {
	t       testing.TB
	hub     *live.Hub
	writing chan struct{} // a write has begun
	writes  chan []note
}

func visit(t testing.TB, hub *live.Hub) *guest {
	t.Helper()
	v, err := hub.Admit(live.Viewing{Auctions: []int64{1}, As: allNotes})
	if err != nil {
		t.Fatal(err)
	}
	g := &guest{t: t, hub: hub, writing: make(chan struct{}, 100), writes: make(chan []note)}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = v.Serve(ctx, func(frames [][]byte) error {
			var notes []note
			for _, frame := range frames {
				var n note
				if err := json.Unmarshal(frame, &n); err != nil {
					return err
				}
				if !n.Clock {
					notes = append(notes, n)
				}
			}
			g.writing <- struct{}{}
			select {
			case g.writes <- notes:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return g
}

// gets takes the next write and checks that it holds the versions.
func (g *guest) gets(versions ...int64) {
	g.t.Helper()
	select {
	case notes := <-g.writes:
		if len(notes) != len(versions) {
			g.t.Fatalf("it was sent %+v, not the versions %v", notes, versions)
		}
		for i, n := range notes {
			if n.Version != versions[i] {
				g.t.Fatalf("it was sent %+v, not the versions %v", notes, versions)
			}
		}
	case <-time.After(patience):
		g.t.Fatalf("it was never sent the versions %v", versions)
	}
}

// getsNothing checks that the next that comes is a clock that was asked for, alone.
func (g *guest) getsNothing() {
	g.t.Helper()
	g.hub.Beat()
	g.gets()
}

// What comes while a viewer is being sent something is sent to it afterwards, once, and only the
// newest.
func TestNewsDuringAWriteIsNotLost(t *testing.T) {
	t.Parallel()
	hub := unconnected(t)
	hub.Pace(0)
	hub.Watch(auction.Update{State: state(0)})
	g := visit(t, hub)
	<-g.writing
	for n := range int64(5) {
		hub.Take(auction.Update{State: state(n + 1)})
		hub.Step()
	}
	g.gets(1)
	g.gets(6)
	g.getsNothing()
}

// A change right after a viewer came waits for the next tick: it has just been sent a state.
func TestNewcomersHaveTheirPace(t *testing.T) {
	t.Parallel()
	hub := unconnected(t)
	hub.Pace(time.Hour)
	hub.Watch(auction.Update{State: state(0)})
	v, err := hub.Admit(live.Viewing{Auctions: []int64{1}, As: allNotes})
	if err != nil {
		t.Fatal(err)
	}
	server, client := pair(t)
	v.TakeOver(server, nil) // from here on what a tick sends is written before it returns
	defer hub.Cut()
	for n := range int64(2) {
		hub.Take(auction.Update{State: state(n + 1)})
		hub.Step()
	}
	reader := bufio.NewReader(client)
	for _, want := range []string{`"Version":1`, `"Clock":true`, `"Version":3`} {
		if line, err := reader.ReadString('\n'); err != nil || !strings.Contains(line, want) {
			t.Errorf("it was sent %q, %v, not %s", line, err, want)
		}
	}
}

// Whatever is learned about an auction after its end, its last state is sent once.
func TestLastStateIsSentOnce(t *testing.T) {
	t.Parallel()
	hub := unconnected(t)
	hub.Pace(0)
	hub.Watch(auction.Update{State: state(12), Recent: history(12, 1)})
	g := visit(t, hub)
	g.gets(13)
	closed := state(12)
	closed.Status, closed.Version, closed.ClosedAt = auction.Closed, 14, closed.EndAt
	hub.Take(auction.Update{State: closed, Recent: history(12, 1)})
	hub.Step()
	g.gets(14)
	hub.Take(auction.Update{State: closed, Recent: history(12, 10)})
	hub.Step()
	g.getsNothing()
}

// While it lasts, history that was missing is sent when it is found.
func TestFoundHistoryIsSent(t *testing.T) {
	t.Parallel()
	hub := unconnected(t)
	hub.Pace(0)
	hub.Watch(auction.Update{State: state(12), Recent: history(12, 1)})
	g := visit(t, hub)
	g.gets(13)
	hub.Take(auction.Update{State: state(12), Recent: history(12, 10)})
	hub.Step()
	g.gets(13)
}

// What a node itself commits reaches its viewers without Redis and without the database.
func TestOwnAnnouncementsNeedNobody(t *testing.T) {
	t.Parallel()
	hub := unconnected(t)
	hub.Pace(0)
	hub.Watch(auction.Update{State: state(0)})
	g := visit(t, hub)
	g.gets(1)
	hub.Announce(auction.Update{State: state(1)})
	hub.Step()
	g.gets(2)
}

// After a subscription was lost and made again, the database is asked at once what went by
// meanwhile.
func TestResubscribingCatchesUp(t *testing.T) {
	t.Parallel()
	house := newHouse(t, dbtest.Pool(t), 1)
	server := dbtest.StartRedis(t)
	node := run(t, house.pool, redisAt(t, server.URL()), func(h *live.Hub) { h.ReconcileEvery(time.Hour) }).redisReady()
	id := house.ids[0]
	viewer := node.watch(id)
	viewer.sees(id, 1, patience)
	for range 3 {
		server.Kill()
		u := house.bid(id) // nobody hears of it
		server.Start()
		viewer.sees(id, u.State.Version, patience)
	}
}

// A viewer whose goroutine is busy with a write when the hub ends is ended too.
func TestTheEndReachesBusyViewers(t *testing.T) {
	t.Parallel()
	house := newHouse(t, dbtest.Pool(t), 1)
	hub, _ := newHub(t, house.pool, dbtest.Redis(t), live.Limits{}, &quiet{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		hub.Run(ctx)
		close(ended)
	}()
	if _, err := hub.Known(ctx, house.ids); err != nil {
		t.Fatal(err)
	}
	v, err := hub.Admit(live.Viewing{Auctions: house.ids, As: allNotes})
	if err != nil {
		t.Fatal(err)
	}
	near, far := net.Pipe() // a write to it waits for a reader, who never comes
	defer near.Close()
	v.TakeOver(far, nil)
	cancel()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("the hub did not end")
	}
	if _, err := hub.Admit(live.Viewing{Auctions: house.ids, As: allNotes}); !errors.Is(err, live.ErrDraining) {
		t.Errorf("after the end somebody was let in: %v", err)
	}
}

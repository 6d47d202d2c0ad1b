package live_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"martelo/app/auction"
	"martelo/app/live"
	"martelo/db/dbtest"
)

// One connection watches a hundred auctions: it gets a hundred states, and then only what changes.
func TestManyAuctionsOnOneConnection(t *testing.T) {
	t.Parallel()
	house := newHouse(t, dbtest.Pool(t), 100)
	node := run(t, house.pool, dbtest.Redis(t), nil)
	viewer := node.watch(house.ids...)
	for _, id := range house.ids {
		viewer.sees(id, 1, patience)
	}
	moved := house.ids[7]
	node.Announce(house.bid(moved))
	viewer.sees(moved, 2, patience)
	node.Announce(house.bid(moved))
	viewer.sees(moved, 3, patience)
	for _, id := range house.ids {
		if _, count := viewer.seen(id); count != 1 && id != moved {
			t.Errorf("auction %d did not change and was sent %d times", id, count)
		}
	}
	if _, count := viewer.seen(moved); count != 3 {
		t.Errorf("three states were sent in %d notes", count)
	}
}

// However fast an auction moves, a viewer gets one state in 150 ms, and always the newest.
func TestChangesBetweenTwoTicksAreOne(t *testing.T) {
	t.Parallel()
	house := newHouse(t, dbtest.Pool(t), 1)
	node := run(t, house.pool, dbtest.Redis(t), nil)
	id := house.ids[0]
	viewer := node.watch(id)
	viewer.sees(id, 1, patience)
	began := time.Now()
	var last auction.Update
	bids := 0
	for time.Since(began) < time.Second {
		last = house.bid(id)
		node.Announce(last)
		bids++
	}
	viewer.sees(id, last.State.Version, patience)
	took := time.Since(began)
	_, count := viewer.seen(id)
	if most := 2 + int(took/(150*time.Millisecond)); count > most {
		t.Errorf("%d notes in %v, at most %d were allowed", count, took, most)
	}
	if count < 3 || bids < 20 {
		t.Errorf("%d bids, %d notes: the test has tested nothing", bids, count)
	}
}

// What is over is told once, as the last of an auction, and as the first to who comes later. The
// clock goes on.
func TestLastStateIsLast(t *testing.T) {
	t.Parallel()
	house := newHouse(t, dbtest.Pool(t), 2)
	node := run(t, house.pool, dbtest.Redis(t), nil)
	over, open := house.ids[0], house.ids[1]
	viewer := node.watch(over, open)
	cancelled := house.cancel(over)
	node.Announce(cancelled)
	viewer.sees(over, 2, patience)
	node.Announce(cancelled)
	node.Announce(house.bid(open))
	viewer.sees(open, 2, patience)
	node.Beat()
	late := node.watch(over)
	late.sees(over, 2, patience)
	node.Beat()
	for _, w := range []*watcher{viewer, late} {
		eventually(t, patience, func() error {
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.clocks < 2 {
				return errors.New("no clock")
			}
			return nil
		})
	}
	if _, count := viewer.seen(over); count != 2 {
		t.Errorf("two states were sent in %d notes", count)
	}
	if n, count := late.seen(over); count != 1 || !n.Over {
		t.Errorf("who came late got %d notes, the last %+v", count, n)
	}
}

// big makes notes so long that a viewer who does not read is noticed after a few.
var big = func() *live.Representation {
	as := notes()
	small := as.Price
	padding := strings.Repeat(" ", 4<<10)
	as.Price = func(u auction.Update, now time.Time) []byte {
		return append([]byte(padding), small(u, now)...)
	}
	return as
}()

// Viewers that never read delay nobody and are cut; what they held is given back.
func TestStalledViewersDelayNobody(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	house := newHouse(t, dbtest.Pool(t), 1)
	node := run(t, house.pool, dbtest.Redis(t), func(h *live.Hub) { h.Hurry(time.Minute, time.Second) })
	id := house.ids[0]
	healthy := node.watch(id)
	delays := func() (worst time.Duration) {
		for range 10 {
			u := house.bid(id)
			announced := time.Now()
			node.Announce(u)
			healthy.sees(id, u.State.Version, patience)
			worst = max(worst, time.Since(announced))
		}
		return worst
	}
	alone := delays()
	const stalled = 20
	for range stalled {
		node.stall(id)
	}
	eventually(t, patience, func() error {
		if n := node.Viewers(); n != stalled+1 {
			return fmt.Errorf("%d viewers are in", n)
		}
		return nil
	})
	together := delays()
	// A viewer that waited for the stalled ones would be late by their deadline.
	if limit := alone + time.Second/2; together > limit {
		t.Errorf("with %d stalled viewers the healthy one waited up to %v, without up to %v", stalled, together, alone)
	}
	eventually(t, patience, func() error {
		node.Announce(house.bid(id))
		if n := node.Viewers(); n != 1 {
			return fmt.Errorf("%d viewers are in", n)
		}
		return nil
	})
	last := house.bid(id)
	node.Announce(last)
	healthy.sees(id, last.State.Version, patience)
	if cut := node.metric("martelo_live_cuts_total", "stalled"); cut != stalled {
		t.Errorf("%v viewers were cut as stalled, not %d", cut, stalled)
	}
}

// pair is a TCP connection's two ends.
func pair(t testing.TB) (server, client net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if client, err = net.Dial("tcp", listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	if server, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	return server, client
}

// stall lets a viewer in that never reads, with as little room for what it is sent as the system
// allows.
func (n *node) stall(id int64) {
	n.t.Helper()
	server, client := pair(n.t)
	if err := client.(*net.TCPConn).SetReadBuffer(1); err != nil {
		n.t.Fatal(err)
	}
	v, err := n.Admit(live.Viewing{Auctions: []int64{id}, As: big})
	if err != nil {
		n.t.Fatal(err)
	}
	v.TakeOver(server, nil)
}

// Thousands of joins, leaves and changes at once: whoever is in at the end has the newest state of
// everything.
func TestChurnConverges(t *testing.T) {
	t.Parallel()
	house := newHouse(t, dbtest.Pool(t), 10)
	node := run(t, house.pool, dbtest.Redis(t), func(h *live.Hub) { h.Hurry(10*time.Millisecond, time.Second) })
	const crowds, visits = 8, 60
	var busy, bidding sync.WaitGroup
	stop := make(chan struct{})
	for i := range 2 {
		bidding.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					node.Announce(house.bid(house.ids[(rand.IntN(5)*2+i)%len(house.ids)]))
				}
			}
		})
	}
	for range crowds {
		busy.Go(func() {
			for range visits {
				ids := append([]int64(nil), house.ids...)
				rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
				conn := node.dial(ids[:1+rand.IntN(len(ids))])
				reader := bufio.NewReader(conn)
				for range rand.IntN(4) {
					if _, err := reader.ReadBytes('\n'); err != nil {
						t.Error(err)
						break
					}
				}
				conn.Close()
			}
		})
	}
	var stay []*watcher
	for range 10 {
		stay = append(stay, node.watch(house.ids...))
	}
	busy.Wait()
	close(stop)
	bidding.Wait()
	for _, w := range stay {
		for _, id := range house.ids {
			w.sees(id, house.read(id).State.Version, patience)
		}
	}
	eventually(t, patience, func() error {
		node.Beat() // finds who has left
		if n := node.Viewers(); n != len(stay) {
			return fmt.Errorf("%d viewers are in, %d stayed", n, len(stay))
		}
		return nil
	})
}

// An auction that nobody watches any more is forgotten after a while, and found again when somebody
// comes.
func TestUnwatchedIsForgotten(t *testing.T) {
	t.Parallel()
	house := newHouse(t, dbtest.Pool(t), 3)
	node := run(t, house.pool, dbtest.Redis(t), func(h *live.Hub) { h.Hurry(time.Millisecond, time.Second) })
	first := node.watch(house.ids...)
	first.sees(house.ids[2], 1, patience)
	first.conn.Close()
	eventually(t, patience, func() error {
		node.Beat()
		if n := node.Topics(); n != 0 {
			return fmt.Errorf("%d auctions are still watched", n)
		}
		return nil
	})
	moved := house.bid(house.ids[0])
	node.watch(house.ids...).sees(house.ids[0], moved.State.Version, patience)
}

// Limits refuse who comes on top, and forget who has left.
func TestLimits(t *testing.T) {
	t.Parallel()
	hub := unconnected(t)
	hub.Limit(3, 2)
	hub.Watch(auction.Update{State: state(0)})
	admit := func(address string) (*live.Viewer, error) {
		return hub.Admit(live.Viewing{Auctions: []int64{1}, As: allNotes, Address: address})
	}
	first, err := admit("a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admit("a"); err != nil {
		t.Fatal(err)
	}
	var refusal *live.Refusal
	if _, err := admit("a"); !errors.Is(err, live.ErrFull) || !errors.As(err, &refusal) ||
		refusal.RetryAfter() < time.Second {
		t.Errorf("a third viewer of one address: %v", err)
	}
	if _, err := admit("b"); err != nil {
		t.Fatal(err)
	}
	if _, err := admit(""); !errors.Is(err, live.ErrFull) {
		t.Errorf("a fourth viewer: %v", err)
	}
	first.Leave()
	if _, err := admit("a"); err != nil {
		t.Errorf("after one left: %v", err)
	}
}

// A node that is about to stop asks its viewers, evenly, to come back in a while, and lets nobody
// in.
func TestDrain(t *testing.T) {
	t.Parallel()
	house := newHouse(t, dbtest.Pool(t), 1)
	node := run(t, house.pool, dbtest.Redis(t), nil)
	var watchers []*watcher
	for range 40 {
		watchers = append(watchers, node.watch(house.ids[0]))
	}
	began := time.Now()
	node.Drain(t.Context(), 400*time.Millisecond)
	took := time.Since(began)
	if took < 380*time.Millisecond || node.Viewers() != 0 {
		t.Errorf("a drain over 400 ms took %v and left %d viewers", took, node.Viewers())
	}
	waits := map[string]bool{}
	for _, w := range watchers {
		<-w.done
		var ms int
		if _, err := fmt.Sscanf(w.last, "retry %d\n", &ms); err != nil || ms < 300 || ms > 1500 {
			t.Errorf("the last word was %q", w.last)
		}
		waits[w.last] = true
	}
	if len(waits) < 10 {
		t.Errorf("40 viewers were sent away for %d different times", len(waits))
	}
	conn := node.dial(house.ids)
	defer conn.Close()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a draining node answered %v, %v", response, err)
	} else if text, _ := io.ReadAll(response.Body); !strings.Contains(string(text), live.ErrDraining.Error()) {
		t.Errorf("a draining node answered %q", text)
	}
}

// A connection that cannot be written to without waiting is served all the same, and ends with the
// hub.
func TestOtherConnections(t *testing.T) {
	t.Parallel()
	house := newHouse(t, dbtest.Pool(t), 1)
	node := run(t, house.pool, dbtest.Redis(t), nil)
	id := house.ids[0]
	if missing, err := node.Known(t.Context(), []int64{id, 1}); err != nil || len(missing) != 1 || missing[0] != 1 {
		t.Fatalf("missing %v, %v", missing, err)
	}
	if missing, err := node.Known(t.Context(), house.ids); err != nil || len(missing) != 0 {
		t.Fatalf("missing %v, %v", missing, err)
	}
	v, err := node.Admit(live.Viewing{Auctions: []int64{id}, As: allNotes})
	if err != nil {
		t.Fatal(err)
	}
	near, far := net.Pipe()
	defer near.Close()
	v.TakeOver(far, []byte("head\n"))
	reader := bufio.NewReader(near)
	read := func() string {
		line, err := reader.ReadString('\n')
		if err != nil {
			t.Error(err)
		}
		return line
	}
	if head, first, clock := read(), read(), read(); head != "head\n" || !strings.Contains(first, `"Version":1`) ||
		!strings.Contains(clock, `"Clock":true`) {
		t.Errorf("it began with %q, %q, %q", head, first, clock)
	}
	node.Announce(house.bid(id))
	for line := read(); !strings.Contains(line, `"Version":2`); line = read() {
		if !strings.Contains(line, `"Clock":true`) {
			t.Fatalf("after a bid it got %q", line)
		}
	}
}

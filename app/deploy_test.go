package main_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"martelo/db/dbtest"
)

// awayMax is the longest that a deploy may leave a viewer without the current price.
const awayMax = 3 * time.Second

// follower keeps a stream open as a browser's EventSource does: it comes back after what the last
// retry line asked for, to whichever node answers, as through a proxy that asks the next node when
// one refuses.
type follower struct {
	addresses []string
	path      string
	version   atomic.Int64  // of the newest state it was shown
	moves     int           // how often its stream ended
	away      time.Duration // its longest time without a stream
	fault     string
}

func (f *follower) follow(ctx context.Context, streams *http.Client) {
	pause, ended := 50*time.Millisecond, time.Now()
	for ctx.Err() == nil {
		for _, address := range f.addresses {
			request, err := http.NewRequestWithContext(ctx, "GET", "http://"+address+f.path, nil)
			if err != nil {
				f.fault = err.Error()
				return
			}
			response, err := streams.Do(request)
			if err != nil {
				continue
			}
			if response.StatusCode == http.StatusOK {
				pause = f.read(response, ended, pause)
				ended = time.Now()
			}
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				break
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// read takes in a stream until it ends, and returns after which pause to come back.
func (f *follower) read(response *http.Response, ended time.Time, pause time.Duration) time.Duration {
	here := false
	event := ""
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "retry":
			if ms, err := strconv.Atoi(value); err == nil {
				pause = time.Duration(ms) * time.Millisecond
			}
		case "event":
			event = value
		case "data":
			var price priceEvent
			if event != "price" {
				continue
			}
			if err := json.Unmarshal([]byte(value), &price); err != nil {
				f.fault = err.Error()
			}
			if price.Version < f.version.Load() {
				f.fault = fmt.Sprintf("version %d was shown after %d", price.Version, f.version.Load())
			}
			f.version.Store(price.Version)
			if !here && f.moves > 0 {
				f.away = max(f.away, time.Since(ended))
			}
			here = true
		}
	}
	f.moves++
	return pause
}

// Two nodes are replaced one after the other, each told to leave while bids come in: nobody who
// watches is without the current price for long, nobody is shown an older one, and all end on the
// last.
func TestADeployLosesNoViewerForLong(t *testing.T) {
	dbtest.Long(t)
	town := newDefaultTown(t)
	addresses := []string{freeAddress(t), freeAddress(t)}
	nodes := []*node{town.start("LISTEN_ADDR=" + addresses[0]), town.start("LISTEN_ADDR=" + addresses[1])}
	auction := nodes[0].open(time.Hour)
	crowd := town.crowd(auction.ID, nodes[0].bidders(10), nodes...)

	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	var watching sync.WaitGroup
	followers := make([]*follower, 60)
	for i := range followers {
		followers[i] = &follower{
			addresses: []string{addresses[i%2], addresses[(i+1)%2]},
			path:      fmt.Sprintf("/auctions/%d/events", auction.ID),
		}
		watching.Go(func() { followers[i].follow(ctx, &http.Client{Transport: transport}) })
	}
	all := func(version int64) bool {
		for _, f := range followers {
			if f.version.Load() < version {
				return false
			}
		}
		return true
	}
	eventually(t, startWithin, "all watch", func() bool { return all(1) })
	var renewed []*node
	crowd.during(func() {
		for i, old := range nodes {
			old.leave()
			renewed = append(renewed, town.start("LISTEN_ADDR="+addresses[i]))
		}
	})
	crowd.check(renewed[0])
	last := renewed[1].auction(auction.ID)
	eventually(t, awayMax, "all show the last price", func() bool { return all(last.Version) })
	leave()
	watching.Wait()
	longest := time.Duration(0)
	for i, f := range followers {
		longest = max(longest, f.away)
		if f.fault != "" || f.away > awayMax || f.moves < 2 {
			t.Errorf("viewer %d: away for %s, %d streams, %s", i, f.away, f.moves, f.fault)
		}
	}
	t.Logf("the longest that a viewer was away: %s", longest)
}

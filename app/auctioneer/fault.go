package auctioneer

import (
	"sync"
	"time"

	"martelo/db"
)

// faultyFor is for how long a commit that failed makes the node unready, unless one succeeds: long
// enough for a balancer to see it, and short, since without bids nothing else would tell that it is
// over.
const faultyFor = 5 * time.Second

// fault is the last failure to write that was not one auction's own, such as a disk that is full.
type fault struct {
	mu    sync.Mutex
	err   error
	until time.Time // on the monotonic clock
}

// note remembers how a batch went.
func (f *fault) note(err error) {
	if err != nil && !db.IsStoreFault(err) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err, f.until = err, time.Now().Add(faultyFor)
}

// lately returns what kept the last bids from being written, if that was a moment ago and nothing
// was written since.
func (f *fault) lately() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Now().After(f.until) {
		return nil
	}
	return f.err
}

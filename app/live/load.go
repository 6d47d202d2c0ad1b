package live

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"martelo/app/auction"
	"martelo/db"
)

// loadWithin bounds how long somebody waits for a first state.
const loadWithin = 3 * time.Second

// load is somebody who waits for the states of auctions.
type load struct {
	ctx     context.Context
	ids     []int64
	missing []int64
	err     error
	done    chan struct{}
}

// waiting is who waits for first states, in the order they came.
type waiting struct {
	mu    sync.Mutex
	loads []*load
	work  chan struct{}
}

// take takes from the front what one query asks about; those who have given up are passed over.
// Nobody waits for the end of a crowd that came with them, and no work is done for who is gone.
func (w *waiting) take() (loads []*load) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, ids := 0, 0
	for n < len(w.loads) && ids < askedMax {
		if l := w.loads[n]; l.ctx.Err() == nil {
			loads = append(loads, l)
			ids += len(l.ids)
		}
		n++
	}
	w.loads = slices.Delete(w.loads, 0, n)
	return loads
}

// load makes topics of the auctions with their newest states, or returns those that do not exist
// and makes none. Requests that come while a query runs are asked together in the next.
func (s *store) load(ctx context.Context, ids []int64) ([]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, loadWithin)
	defer cancel()
	l := &load{ctx: ctx, ids: ids, done: make(chan struct{})}
	s.waiting.mu.Lock()
	s.waiting.loads = append(s.waiting.loads, l)
	s.waiting.mu.Unlock()
	wake(s.waiting.work)
	select {
	case <-l.done:
		return l.missing, l.err
	case <-ctx.Done():
		return nil, fmt.Errorf("live: first states: %w: %w", auction.ErrUnavailable, ctx.Err())
	}
}

// serve answers those who wait.
func (s *store) serve(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.waiting.work:
		}
		for loads := s.waiting.take(); len(loads) > 0; loads = s.waiting.take() {
			s.answer(ctx, loads)
		}
	}
}

func (s *store) answer(ctx context.Context, loads []*load) {
	var ids []int64
	for _, l := range loads {
		ids = append(ids, l.ids...)
	}
	slices.Sort(ids)
	looks, err := s.fetch(ctx, slices.Compact(ids), loadWithin)
	found := make(map[int64]look, len(looks))
	for _, l := range looks {
		found[l.State.ID] = l
	}
	var wanted []look
	for _, l := range loads {
		if err != nil {
			l.err = fmt.Errorf("live: first states: %w", db.Unavailable(err))
			continue
		}
		l.missing = slices.DeleteFunc(slices.Clone(l.ids), func(id int64) bool { _, ok := found[id]; return ok })
		if len(l.missing) > 0 {
			continue // it is refused, so that nobody watches what it named
		}
		for _, id := range l.ids {
			wanted = append(wanted, found[id])
		}
	}
	s.hub.watch(wanted)
	for _, l := range loads {
		close(l.done)
	}
}

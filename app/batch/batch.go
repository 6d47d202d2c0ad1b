// Package batch collects while one is under way. Items that come while a batch is being worked on
// wait together and make the next one: a lone item waits for nobody, and a thousand share a commit
// or a round trip.
//
// A queue has no goroutine and calls nobody. Whoever adds to one that nobody works on is told so,
// and starts a worker, which takes batch after batch until [Queue.Take] returns none:
//
//	if start, err := queue.Add(key, item); err == nil && start {
//		go func() {
//			for items := queue.Take(); items != nil; items = queue.Take() {
//				work(items)
//			}
//		}()
//	}
package batch

import (
	"errors"
	"sync"
)

// ErrFull says that as many items of the key wait already as may.
var ErrFull = errors.New("batch: too many wait")

// turnMin is how many items of a key a batch takes before it takes more of any other. Few enough
// that many keys fit into a batch, and enough that a key with some items is not cut into pieces.
const turnMin = 4

// Queue holds items that wait, each under a key. It has one worker at most.
type Queue[Key comparable, Item any] struct {
	batchMax, keyMax int

	mu      sync.Mutex
	waiting map[Key][]Item
	turns   []Key // the keys that have items, in the order in which they are taken from
	working bool
}

// New makes a queue whose batches have at most batchMax items. At most keyMax items of a key wait.
func New[Key comparable, Item any](batchMax, keyMax int) *Queue[Key, Item] {
	return &Queue[Key, Item]{batchMax: batchMax, keyMax: keyMax, waiting: map[Key][]Item{}}
}

// Add puts items behind those of their key. Start tells that nobody works on the queue, so that the
// caller has to. It returns ErrFull, and adds nothing, if there is no room for all of them.
func (q *Queue[Key, Item]) Add(key Key, items ...Item) (start bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	before := q.waiting[key]
	if len(before)+len(items) > q.keyMax {
		return false, ErrFull
	}
	if len(items) == 0 {
		return false, nil
	}
	if len(before) == 0 {
		q.turns = append(q.turns, key)
	}
	q.waiting[key] = append(before, items...)
	start = !q.working
	q.working = true
	return start, nil
}

// Take hands the next batch to the worker: items of a key in the order they came, one key's after
// the other's. It returns nil when nobody waits; from then on the caller is no longer the worker.
//
// Every key gets a turn before any gets a second, so that a backlog of one makes no other wait
// longer than for the batches that hold the keys before it.
func (q *Queue[Key, Item]) Take() []Item {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.turns) == 0 {
		q.working = false
		return nil
	}
	shares := q.shares()
	var items []Item
	var behind []Key // what has had its turn and has more goes behind those that had none
	for i, share := range shares {
		key := q.turns[i]
		items = append(items, q.waiting[key][:share]...)
		if rest := q.waiting[key][share:]; len(rest) > 0 {
			q.waiting[key] = rest
			behind = append(behind, key)
		} else {
			delete(q.waiting, key)
		}
	}
	q.turns = append(q.turns[len(shares):len(q.turns):len(q.turns)], behind...)
	return items
}

// shares is how many items the next batch takes of each of the first keys: a turn of each, and what
// is then left of the batch to those that have more.
func (q *Queue[Key, Item]) shares() []int {
	left := q.batchMax
	var shares []int
	for _, key := range q.turns {
		if left == 0 {
			break
		}
		share := min(turnMin, len(q.waiting[key]), left)
		shares = append(shares, share)
		left -= share
	}
	for i := range shares {
		more := min(len(q.waiting[q.turns[i]])-shares[i], left)
		shares[i] += more
		left -= more
	}
	return shares
}

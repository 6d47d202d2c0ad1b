package batch

import "sync"

// Keyed is a queue for each key, each with a worker of its own, so that no key waits for another. A
// key for which nothing waits and nobody works costs nothing.
type Keyed[Key comparable, Item any] struct {
	batchMax, keyMax int

	mu     sync.Mutex
	queues map[Key][]Item // of the keys that have a worker
}

// NewKeyed makes queues whose batches have at most batchMax items. At most keyMax items of a key
// wait.
func NewKeyed[Key comparable, Item any](batchMax, keyMax int) *Keyed[Key, Item] {
	return &Keyed[Key, Item]{batchMax: batchMax, keyMax: keyMax, queues: map[Key][]Item{}}
}

// Add puts items behind those of their key. Start tells that nobody works for the key, so that the
// caller has to. It returns ErrFull, and adds nothing, if there is no room for all of them.
func (k *Keyed[Key, Item]) Add(key Key, items ...Item) (start bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before, worked := k.queues[key]
	if len(before)+len(items) > k.keyMax {
		return false, ErrFull
	}
	k.queues[key] = append(before, items...)
	return !worked, nil
}

// Take hands a key's next batch to its worker, in the order the items came. It returns nil when
// nobody waits; from then on the key has no worker.
func (k *Keyed[Key, Item]) Take(key Key) []Item {
	k.mu.Lock()
	defer k.mu.Unlock()
	waiting := k.queues[key]
	if len(waiting) == 0 {
		delete(k.queues, key)
		return nil
	}
	n := min(k.batchMax, len(waiting))
	k.queues[key] = waiting[n:]
	return waiting[:n:n]
}

// Working tells whether a key has a worker.
func (k *Keyed[Key, Item]) Working(key Key) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, working := k.queues[key]
	return working
}

// Len is how many keys have a worker.
func (k *Keyed[Key, Item]) Len() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.queues)
}

package account

import (
	"sync"
	"time"
)

const (
	// tokensRememberedMax bounds what a node remembers of tokens: some 3 MB.
	tokensRememberedMax = 10_000
	// idsRememberedMax bounds each of the two halves of what a node remembers of user ids: some 4
	// MB a half.
	idsRememberedMax = 200_000
)

// tokenCache remembers whose tokens were seen lately. A token that is not known is not remembered:
// it may be made at any moment.
type tokenCache struct {
	mu         sync.Mutex
	found      map[tokenHash]tokenEntry
	generation uint64 // rises with everything forgotten
}

type tokenEntry struct {
	who   Identity
	until time.Time // by this process's own clock, which measures a span here and decides nothing else
}

func (c *tokenCache) get(hash tokenHash) (Identity, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry, found := c.found[hash]
	return entry.who, found && time.Now().Before(entry.until)
}

// now names the moment at which a question begins, so that put can tell whether something was
// forgotten while it was answered.
func (c *tokenCache) now() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.generation
}

func (c *tokenCache) put(hash tokenHash, who Identity, generation uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.generation != generation {
		return // the answer may be older than what was revoked meanwhile
	}
	if len(c.found) >= tokensRememberedMax {
		c.makeRoom()
	}
	c.found[hash] = tokenEntry{who: who, until: time.Now().Add(TokenRevokedWithin)}
}

// makeRoom drops what has run out, and everything if that is not enough: it is looked up again at
// the price of a query each.
func (c *tokenCache) makeRoom() {
	now := time.Now()
	for hash, entry := range c.found {
		if !now.Before(entry.until) {
			delete(c.found, hash)
		}
	}
	if len(c.found) > tokensRememberedMax/2 {
		clear(c.found)
	}
}

func (c *tokenCache) forget(hash tokenHash) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation++
	delete(c.found, hash)
}

func (c *tokenCache) forgetUser(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation++
	for hash, entry := range c.found {
		if entry.who.ID == id {
			delete(c.found, hash)
		}
	}
}

// knownIDs remembers ids of users, in two halves: when the younger is full the older is dropped, so
// that memory is bounded and those who bid stay known. The zero value is ready.
type knownIDs struct {
	mu           sync.RWMutex
	young, older map[int64]struct{}
}

// has tells whether an id is known, and keeps one that is asked for among the young.
func (k *knownIDs) has(id int64) bool {
	k.mu.RLock()
	_, young := k.young[id]
	_, older := k.older[id]
	k.mu.RUnlock()
	if older && !young {
		k.add(id)
	}
	return young || older
}

func (k *knownIDs) add(id int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.young == nil || len(k.young) >= idsRememberedMax {
		k.older, k.young = k.young, map[int64]struct{}{}
	}
	k.young[id] = struct{}{}
}

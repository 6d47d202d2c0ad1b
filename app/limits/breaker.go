package limits

import (
	"sync"
	"time"
)

const (
	// failuresMax in a row open the breaker; fewer are a hiccup, and each costs one bid askWithin.
	failuresMax = 3
	// restFor is how long Redis is left alone then. After it one question at a time tries whether
	// Redis is back.
	restFor = time.Second
)

// breaker tells when Redis is not worth asking. The zero value is closed: everybody asks.
type breaker struct {
	mu       sync.Mutex
	failures int
	// until is when the next question may be asked, by this process's own clock, which measures a
	// span here. It matters while the breaker is open.
	until time.Time
}

// open tells whether Redis has failed too often to be asked for everybody.
func (b *breaker) open() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failures >= failuresMax
}

func (b *breaker) allows() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < failuresMax {
		return true
	}
	now := time.Now()
	if now.Before(b.until) {
		return false
	}
	b.until = now.Add(restFor) // this one tries; the others pass by until it has its answer
	return true
}

// succeeded tells whether this closed the breaker.
func (b *breaker) succeeded() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	closed := b.failures >= failuresMax
	b.failures = 0
	return closed
}

// failed tells whether this opened the breaker.
func (b *breaker) failed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures++
	b.until = time.Now().Add(restFor)
	return b.failures == failuresMax
}

// release lets the next question try if this one was the one that tried.
func (b *breaker) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.until = time.Time{}
}

package web

import (
	"context"
	"sync"
	"time"

	"martelo/app/loop"
)

const (
	// probeWithin bounds the question whether a store takes writes, and answerFor is for how long
	// its answer counts: together they make readiness known within about a second.
	probeWithin = 600 * time.Millisecond
	answerFor   = 500 * time.Millisecond
)

// probe asks whether a store takes writes, one question at a time and no oftener than every
// answerFor, however many want to know.
type probe struct {
	ask func(context.Context) error

	mu    sync.Mutex
	done  chan struct{} // closed when the present question is answered; nil: none has been asked
	until time.Time     // when the answer is too old, on the monotonic clock; zero while there is none
	err   error
}

// answer returns the answer at hand, or waits for that to the present question.
func (p *probe) answer(ctx context.Context) error {
	p.mu.Lock()
	asking := p.done != nil && p.until.IsZero()
	if !asking && time.Now().After(p.until) {
		p.done, p.until = make(chan struct{}), time.Time{}
		go p.put(p.done)
	}
	done := p.done
	p.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
		return ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// put asks the question. It does not end with whoever asked first.
func (p *probe) put(done chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), probeWithin)
	defer cancel()
	err := loop.Safely(func() error { return p.ask(ctx) })
	p.mu.Lock()
	p.err, p.until = err, time.Now().Add(answerFor)
	p.mu.Unlock()
	close(done)
}

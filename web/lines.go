package web

import (
	"sync"
	"time"
)

// linesMax is how many ordinary requests a second get a line in the log: all of them, but in the
// minutes when writing lines would take a tenth of the node from those who bid. The next line then
// says how many got none; faults always get theirs, and the figures count everybody.
const linesMax = 1000

// lines decides which ordinary requests get a line. The zero value is ready.
type lines struct {
	mu      sync.Mutex
	until   time.Time // by this process's own clock, which measures a span here
	left    int
	skipped int64
}

// next tells whether a request gets a line, and how many since the last line got none.
func (l *lines) next(now time.Time) (skipped int64, write bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !now.Before(l.until) {
		l.until, l.left = now.Add(time.Second), linesMax
	}
	if l.left == 0 {
		l.skipped++
		return 0, false
	}
	l.left--
	skipped, l.skipped = l.skipped, 0
	return skipped, true
}

// Package loop keeps the endless work of a node going. A turn that fails or panics is counted and
// told once, until it goes well again; it ends neither the loop nor the program.
package loop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// againAfter is the pause before work that panicked is begun anew, so that a fault that stays does
// not spin.
const againAfter = time.Second

// PanicError is a panic that was caught, with the stack of where it was.
type PanicError struct {
	Value any
	Stack string
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Safely does some work and returns a panic in it as a *PanicError.
func Safely(work func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{Value: value, Stack: string(debug.Stack())}
		}
	}()
	return work()
}

// Guard does some work of its own, such as one connection's; a panic in it is logged and ends
// nothing else.
func Guard(log *slog.Logger, name string, work func()) {
	err := Safely(func() error {
		work()
		return nil
	})
	if err != nil {
		log.Error(name+": panic", attributes(err)...)
	}
}

// Loop counts and tells the failures of one loop of a node. It may be shared by goroutines.
type Loop struct {
	name     string
	log      *slog.Logger
	failures prometheus.Counter

	mu    sync.Mutex
	state state
}

// state is how the last turn went. Only a change of it is told.
type state int

const (
	well state = iota
	failing
	panicking
)

// New makes a loop. Its failures are counted as martelo_loop_failures_total, under its name; all
// loops of a registry share that metric. Without a registry nobody reads it.
func New(name string, log *slog.Logger, metrics prometheus.Registerer) *Loop {
	failures := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "martelo_loop_failures_total", Help: "Turns of the node's endless work that failed, by loop.",
	}, []string{"loop"})
	if metrics == nil {
		return &Loop{name: name, log: log, failures: failures.WithLabelValues(name)}
	}
	var known prometheus.AlreadyRegisteredError
	if err := metrics.Register(failures); errors.As(err, &known) {
		if shared, ok := known.ExistingCollector.(*prometheus.CounterVec); ok {
			failures = shared
		}
	}
	return &Loop{name: name, log: log, failures: failures.WithLabelValues(name)}
}

// Turn does one turn and notes how it went. A panic in it is returned as an error.
func (l *Loop) Turn(ctx context.Context, turn func(context.Context) error) error {
	err := Safely(func() error { return turn(ctx) })
	l.Note(ctx, err)
	return err
}

// Note counts a failed turn, and tells when turns begin to fail and when they go well again. A turn
// that was cut short by the end of ctx says nothing.
func (l *Loop) Note(ctx context.Context, err error) {
	if err != nil && ctx.Err() != nil {
		return
	}
	now := well
	var fault *PanicError
	switch {
	case errors.As(err, &fault):
		now = panicking
	case err != nil:
		now = failing
	}
	l.mu.Lock()
	before := l.state
	l.state = now
	l.mu.Unlock()
	if err != nil {
		l.failures.Inc()
	}
	switch {
	case now == before:
	case now == panicking:
		l.log.Error(l.name+": panic", attributes(err)...)
	case now == well:
		l.log.Info(l.name + ": works again")
	case before == well:
		l.log.Warn(l.name+": fails, and is tried again until it works", attributes(err)...)
	}
}

// Keep runs work that has turns of its own until ctx ends. After a panic it begins anew.
func (l *Loop) Keep(ctx context.Context, work func(context.Context)) {
	for ctx.Err() == nil {
		err := l.Turn(ctx, func(ctx context.Context) error {
			work(ctx)
			return nil
		})
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(againAfter):
		}
	}
}

func attributes(err error) []any {
	attributes := []any{"error", err}
	var fault *PanicError
	if errors.As(err, &fault) {
		attributes = append(attributes, "stack", fault.Stack)
	}
	return attributes
}

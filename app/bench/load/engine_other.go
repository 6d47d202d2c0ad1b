//go:build !linux

package load

import (
	"context"
	"errors"
	"time"
)

// errLinux says that the load generator stands on epoll.
var errLinux = errors.New("bench: loads can be made on Linux only")

// Engine makes loads on Linux.
type Engine struct{}

// NewEngine fails.
func NewEngine() (*Engine, error) { return nil, errLinux }

// Close does nothing.
func (*Engine) Close() {}

// Now is nothing.
func (*Engine) Now() time.Duration { return 0 }

// Listen fails.
func (*Engine) Listen(string, []byte, func([]byte), func()) error { return errLinux }

// Wait fails.
func (*Engine) Wait(time.Duration) error { return errLinux }

// Run fails.
func (*Engine) Run(context.Context, ...Offer) ([][]*Outcome, error) { return nil, errLinux }

// ProcessorTime is not known.
func ProcessorTime() time.Duration { return 0 }

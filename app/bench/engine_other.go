//go:build !linux

package bench

import (
	"context"
	"errors"
	"os/exec"
	"time"
)

// errLinux says that the load generator stands on epoll.
var errLinux = errors.New("bench: loads can be made on Linux only")

type engine struct {
	heard func(*link, []byte)
}

type link struct {
	listens bool
	known   int64
	lost    bool
}

func newEngine() (*engine, error)                              { return nil, errLinux }
func (*engine) close()                                         {}
func (*engine) now() time.Duration                             { return 0 }
func (*engine) connect(string) (*link, error)                  { return nil, errLinux }
func (*engine) wait(time.Duration, func(*link, *answer)) error { return errLinux }
func (*engine) run(context.Context, offer) (*outcome, error)   { return nil, errLinux }
func (*link) send([]byte) bool                                 { return false }
func apart(*exec.Cmd)                                          {}
func processorTime() time.Duration                             { return 0 }
func processOf(int) (time.Duration, int64)                     { return 0, 0 }

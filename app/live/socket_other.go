//go:build !linux

package live

import (
	"context"
	"net"
)

// Listen listens on a TCP address for the house's HTTP server.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	var config net.ListenConfig
	config.SetMultipathTCP(false)
	return config.Listen(ctx, "tcp", address)
}

// socket stands for a connection that can be written to without waiting. There is none here.
type socket struct{}

func newSocket(net.Conn) *socket { return nil }

func (*socket) alive() bool { return true }

type pen struct{ frames [][]byte }

func newPen() *pen { return &pen{} }

func (*pen) write(*socket) (net.Buffers, error) { panic("live: no socket") }

func (*pen) forget() {}

func filesMax() int { return 1024 } // what most systems give a process at least

package live

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// What of the live side needs Linux. Elsewhere socket_other.go stands in, and a viewer costs a
// goroutine.

// Listen listens on a TCP address for the house's HTTP server. Its connections end when sent data
// has not been acknowledged for a while: with small writes a deadline never comes for a phone that
// vanished, since the system's buffer takes them all. The option needs plain TCP; Go would listen
// with multipath TCP.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	config := net.ListenConfig{
		Control: func(_, _ string, raw syscall.RawConn) error {
			var failed error
			err := raw.Control(func(fd uintptr) {
				failed = unix.SetsockoptInt(
					int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(acknowledgedWithin/time.Millisecond),
				)
			})
			if err != nil {
				return err
			}
			return failed
		},
	}
	config.SetMultipathTCP(false)
	return config.Listen(ctx, "tcp", address)
}

// socket is a connection that can be written to without waiting.
type socket struct{ raw syscall.RawConn }

// newSocket returns nil for connections that are not plain TCP.
func newSocket(conn net.Conn) *socket {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	_ = tcp.SetWriteBuffer(sendBuffer) // it bounds memory; without it there is only more
	return &socket{raw: raw}
}

// alive looks whether the peer has closed the connection, which nobody reads from.
func (s *socket) alive() bool {
	open := false
	err := s.raw.Control(func(fd uintptr) {
		var one [1]byte
		n, _, err := unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		open = n > 0 || err == unix.EAGAIN || err == unix.EINTR
	})
	return open && err == nil
}

// pen writes frames to sockets. It is used by one goroutine at a time.
type pen struct {
	frames  [][]byte
	left    [][]byte
	failed  error
	attempt func(fd uintptr) bool // made once: a closure for every write would be garbage
}

func newPen() *pen {
	p := &pen{}
	p.attempt = p.try
	return p
}

// write makes one attempt to send p.frames and returns a copy of what the socket did not take.
func (p *pen) write(s *socket) (net.Buffers, error) {
	p.left, p.failed = p.frames, nil
	if err := s.raw.Write(p.attempt); err != nil {
		return nil, err
	}
	if p.failed != nil || len(p.left) == 0 {
		return nil, p.failed
	}
	return append(net.Buffers(nil), p.left...), nil
}

// try always reports that it is done, so that the runtime never waits for the socket.
func (p *pen) try(fd uintptr) bool {
	for len(p.left) > 0 {
		n, err := send(int(fd), p.left)
		switch {
		case err == nil:
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return true
		default:
			p.failed = err
			return true
		}
		for n > 0 || len(p.left) > 0 && len(p.left[0]) == 0 {
			taken := min(n, len(p.left[0]))
			n -= taken
			if p.left[0] = p.left[0][taken:]; len(p.left[0]) == 0 {
				p.left = p.left[1:]
			}
		}
	}
	return true
}

// buffersMax is the most that Linux takes in one writev.
const buffersMax = 1024

func send(fd int, frames [][]byte) (int, error) {
	if len(frames) == 1 {
		return unix.Write(fd, frames[0])
	}
	return unix.Writev(fd, frames[:min(len(frames), buffersMax)])
}

// forget lets go of the frames.
func (p *pen) forget() {
	p.left = nil
	clear(p.frames[:cap(p.frames)])
	p.frames = p.frames[:0]
}

// filesMax is how many files the process may have open, connections among them.
func filesMax() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > viewersMax*8 {
		return viewersMax * 8
	}
	return int(limit.Cur)
}

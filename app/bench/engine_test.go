//go:build linux

package bench

import (
	"net"
	"testing"
)

// A link whose node is gone must not write into a connection that was given its old number: the answer would be taken for
// that of another request.
func TestALinkToADeadNodeHasNoConnection(t *testing.T) {
	dead, alive := listen(t), listen(t)
	e, err := newEngine()
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	lost, err := e.connect(dead.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	e.again(lost, 0, func(*link, *answer) { t.Error("the dead node was connected to again") })
	other, err := e.connect(alive.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if lost.send([]byte("x")) {
		t.Error("the link to the dead node wrote into another connection")
	}
	e.again(lost, 0, func(*link, *answer) { t.Error("the dead node was connected to again") })
	if !other.send([]byte("x")) {
		t.Error("the link to the dead node closed another connection")
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

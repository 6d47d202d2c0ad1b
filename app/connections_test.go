package main_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"martelo/db/dbtest"
)

// connectionEndsWithin is the longest that a client may hold a connection with nothing to show for
// it.
const connectionEndsWithin = 15 * time.Second

// files counts what the node's process has open, connections among it.
func (n *node) files() int {
	n.Helper()
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", n.cmd.Process.Pid))
	if err != nil {
		n.Fatal(err)
	}
	return len(open)
}

// Clients that begin something and never go on are let go, and leave nothing behind.
func TestAStuckClientIsLetGo(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	n := newDefaultTown(t).start()
	id := n.open(time.Hour).ID
	upgrade := fmt.Sprintf("GET /ws/auctions/%d HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", id)
	stuck := []string{
		"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n",
		"POST /auctions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
		"POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 70000\r\n\r\n",
		"GET /healthz HT",
		upgrade + "\x82\xff\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00ten bytes.",
	}
	before := n.files()
	var ended sync.WaitGroup
	for _, sent := range stuck {
		for range 10 {
			conn, err := net.Dial("tcp", strings.TrimPrefix(n.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			ended.Go(func() {
				if _, err := io.WriteString(conn, sent); err != nil {
					t.Error(err)
				}
				_ = conn.SetReadDeadline(time.Now().Add(connectionEndsWithin))
				_, err := io.Copy(io.Discard, conn)
				var timeout net.Error
				if errors.As(err, &timeout) && timeout.Timeout() {
					t.Errorf("not ended within %v: %.40q", connectionEndsWithin, sent)
				}
			})
		}
	}
	ended.Wait()
	// The stores' connections come and go; the clients were fifty.
	eventually(
		t, connectionEndsWithin, "the connections' files are closed", func() bool { return n.files() < before+25 },
	)
}

package live_test

import (
	"fmt"
	"net"
	"runtime"
	"testing"

	"martelo/db/dbtest"
)

// An idle viewer costs no goroutine and at most 5 KiB, whether many watch one auction or each
// another. The test's own end of each connection is in the figure.
func TestIdleViewersAreCheap(t *testing.T) {
	dbtest.Long(t)
	const viewers, most = 2000, 5 << 10
	house := newHouse(t, dbtest.Pool(t), viewers)
	for _, id := range house.ids[:3] {
		house.bid(id)
	}
	for _, auctions := range []int{1, viewers} {
		t.Run(fmt.Sprintf("%d auctions", auctions), func(t *testing.T) {
			node := run(t, house.pool, dbtest.Redis(t), nil).redisReady()
			node.watch(house.ids[0]) // the server and its first connections are there
			before, goroutines := memory(), runtime.NumGoroutine()
			conns := make([]net.Conn, viewers)
			for i := range conns {
				conns[i] = node.dial([]int64{house.ids[i%auctions]})
			}
			eventually(t, patience, func() error {
				if n := node.Viewers(); n != viewers+1 {
					return fmt.Errorf("%d viewers are in", n)
				}
				if more := runtime.NumGoroutine() - goroutines; more > 20 {
					return fmt.Errorf("%d goroutines more", more)
				}
				return nil
			})
			each := (memory() - before) / viewers
			t.Logf("%d bytes for each idle viewer", each)
			if each > most {
				t.Errorf("an idle viewer costs %d bytes", each)
			}
			for _, conn := range conns {
				conn.Close()
			}
			runtime.KeepAlive(conns)
		})
	}
}

// memory is what the program holds in heap and stacks once garbage is gone.
func memory() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what pools kept over the first
	runtime.ReadMemStats(&m)
	return int(m.HeapInuse + m.StackInuse)
}

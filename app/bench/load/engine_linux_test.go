package load

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A link whose node is gone must not write into a connection that was given its old number: the
// answer would be taken for that of another request.
func TestALinkToADeadNodeHasNoConnection(t *testing.T) {
	dead, alive := listen(t), listen(t)
	e := newEngine(t)
	load := &run{engine: e, Offer: Offer{
		Targets: []string{dead.Addr().String()}, Connections: 1,
		Read: func(int, Answer) { t.Error("the dead node answered") },
	}}
	if err := load.connect(); err != nil {
		t.Fatal(err)
	}
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	lost := load.links[0]
	e.replace(lost)
	if load.canSend() {
		t.Error("the link to the dead node is still used")
	}
	other, err := e.connect(link{address: alive.Addr().String(), run: load})
	if err != nil {
		t.Fatal(err)
	}
	if lost.send([]byte("x")) {
		t.Error("the link to the dead node wrote into another connection")
	}
	e.replace(lost)
	if !other.send([]byte("x")) {
		t.Error("the link to the dead node closed another connection")
	}
}

// Times run from the moment a request was meant for, so that one that had to wait for its turn is
// charged with the wait. A load beside it has connections of its own and does not wait.
func TestAStallIsChargedToAllWhoCameMeanwhile(t *testing.T) {
	t.Parallel()
	const stall = 400 * time.Millisecond
	slow := serve(t, func(n int, _ string) string {
		if n == 10 {
			time.Sleep(stall) // this is what is measured
		}
		return "200 OK"
	})
	quick := serve(t, func(int, string) string { return "200 OK" })
	e := newEngine(t)
	answers := 0
	offer := Offer{
		Targets: []string{slow}, Rate: 100, Phases: []time.Duration{0, time.Second}, Connections: 1,
		Write: numbered, Read: func(int, Answer) { answers++ },
	}
	beside := offer
	beside.Targets = []string{quick}
	outcomes, err := e.Run(t.Context(), offer, beside)
	if err != nil {
		t.Fatal(err)
	}
	// A closed loop would see one slow answer of a hundred. Some 40 were meant to be sent during
	// the stall.
	stalled, smooth := outcomes[0][1], outcomes[1][1]
	if answers != 200 || stalled.Answered() != 100 || stalled.Unanswered != 0 || stalled.Times.Count() != 100 {
		t.Errorf("%d answers, %+v", answers, stalled)
	}
	if stalled.Times.At(80) < stall/4 || stalled.Times.Max() < stall {
		t.Errorf("a fifth took longer than %s, the longest %s", stalled.Times.At(80), stalled.Times.Max())
	}
	if smooth.Answered() != 100 || smooth.Times.At(80) >= stall/4 {
		t.Errorf("the load beside it waited: %s", smooth.Times.At(80))
	}
}

// Each request counts in the phase it was meant for, and none twice.
func TestPhasesAreToldApart(t *testing.T) {
	t.Parallel()
	node := serve(t, func(n int, _ string) string {
		if n > 40 {
			return "409 Conflict"
		}
		return "201 Created"
	})
	e := newEngine(t)
	outcomes, err := e.Run(t.Context(), Offer{
		Targets: []string{node}, Rate: 200, Connections: 1, Write: numbered, Read: func(int, Answer) {},
		Phases: []time.Duration{100 * time.Millisecond, 100 * time.Millisecond, 100 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{201, 201, 409} {
		if o := outcomes[0][i]; o.Statuses[want] != 20 || o.Answered() != 20 || o.Times.Count() != 20 {
			t.Errorf("phase %d: %+v", i, o)
		}
	}
}

// A request whose answer is not final is sent again as it was, and is charged for all of it.
func TestARequestIsSentAgainUntilItsAnswerIsFinal(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	times := map[string]int{}
	node := serve(t, func(_ int, path string) string {
		mu.Lock()
		defer mu.Unlock()
		times[path]++
		if path == "/1" && times[path] == 1 {
			return "503 Service Unavailable"
		}
		return "201 Created"
	})
	e := newEngine(t)
	outcomes, err := e.Run(t.Context(), Offer{
		Targets: []string{node}, Rate: 30, Connections: 1, Write: numbered, Read: func(int, Answer) {},
		Phases: []time.Duration{0, 100 * time.Millisecond}, Final: func(a Answer) bool { return a.Status != 503 },
	})
	if err != nil {
		t.Fatal(err)
	}
	o := outcomes[0][1]
	if o.Again != 1 || o.Statuses[201] != 3 || o.Answered() != 3 || o.Unanswered != 0 || o.Times.Max() < againAfter {
		t.Errorf("%+v, the longest %s", o, o.Times.Max())
	}
	mu.Lock()
	defer mu.Unlock()
	if times["/1"] != 2 || times["/0"] != 1 || times["/2"] != 1 {
		t.Errorf("asked for %v", times)
	}
}

// Nodes take turns, also when one connection would do. A node that does not answer gets no more
// than its connections.
func TestNodesTakeTurns(t *testing.T) {
	t.Parallel()
	var asked [2]atomic.Int32
	targets := make([]string, 2)
	for i := range targets {
		targets[i] = serve(t, func(int, string) string { asked[i].Add(1); return "200 OK" })
	}
	offer := Offer{
		Targets: targets, Rate: 100, Connections: 2, Write: numbered, Read: func(int, Answer) {},
		Phases: []time.Duration{0, 200 * time.Millisecond}, AnswerWithin: 100 * time.Millisecond,
	}
	outcomes, err := newEngine(t).Run(t.Context(), offer)
	if err != nil {
		t.Fatal(err)
	}
	if one, other := asked[0].Load(), asked[1].Load(); one != 10 || other != 10 {
		t.Errorf("they were asked %d and %d times: %+v", one, other, outcomes[0][1])
	}
	offer.Targets = []string{serve(t, func(int, string) string { return "200 OK" }), listen(t).Addr().String()}
	if outcomes, err = newEngine(t).Run(t.Context(), offer); err != nil {
		t.Fatal(err)
	}
	if o := outcomes[0][1]; o.Answered() != 19 || o.Unanswered != 1 {
		t.Errorf("beside a node that does not answer: %+v", o)
	}
}

// A node that dies takes what it was asked with it; the others get the rest.
func TestANodeThatDiesIsLeftOut(t *testing.T) {
	t.Parallel()
	dying := listen(t)
	go func() {
		conn, err := dying.Accept()
		if err != nil {
			return
		}
		_, _ = http.ReadRequest(bufio.NewReader(conn))
		_ = dying.Close()
		_ = conn.Close()
	}()
	alive := serve(t, func(int, string) string { return "200 OK" })
	outcomes, err := newEngine(t).Run(t.Context(), Offer{
		Targets: []string{dying.Addr().String(), alive}, Rate: 100, Connections: 2, Write: numbered,
		Read: func(int, Answer) {}, Phases: []time.Duration{0, 200 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	if o := outcomes[0][1]; o.Answered() != 19 || o.Unanswered != 1 || o.Broken != 1 || o.Times.Count() != 20 {
		t.Errorf("%+v", o)
	}
}

// What is never answered, or never could be sent, is counted as such.
func TestWhatIsNotAnsweredIsCounted(t *testing.T) {
	t.Parallel()
	mute := listen(t)
	e := newEngine(t)
	outcomes, err := e.Run(t.Context(), Offer{
		Targets: []string{mute.Addr().String()}, Rate: 100, Connections: 2, Write: numbered, Read: func(int, Answer) {},
		Phases: []time.Duration{0, 100 * time.Millisecond}, AnswerWithin: 100 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	if o := outcomes[0][1]; o.Unanswered != 10 || o.Times.Count() != 10 || o.Answered() != 0 {
		t.Errorf("%+v", o)
	}
}

func newEngine(t *testing.T) *Engine {
	t.Helper()
	e, err := NewEngine()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func numbered(to []byte, i int) []byte {
	return fmt.Appendf(to, "GET /%d HTTP/1.1\r\nHost: x\r\n\r\n", i)
}

// serve answers the requests of one connection, the first of which is number 1.
func serve(t *testing.T, answer func(n int, path string) (status string)) (address string) {
	listener := listen(t)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		lines := bufio.NewReader(conn)
		for n := 1; ; n++ {
			request, err := http.ReadRequest(lines)
			if err != nil {
				return
			}
			request.Body.Close()
			status := answer(n, request.URL.Path)
			if _, err := fmt.Fprintf(conn, "HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n", status); err != nil {
				return
			}
		}
	}()
	return listener.Addr().String()
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

package bench

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestReadAnswer(t *testing.T) {
	t.Parallel()
	const bid = "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{\"seq\":307}"
	const page = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
	const nothing = "HTTP/1.1 204 No Content\r\nDate: x\r\n\r\n"
	for text, status := range map[string]int{bid: 201, page: 200, nothing: 204} {
		for cut := range len(text) {
			if _, whole, err := readAnswer([]byte(text[:cut])); whole || err != nil {
				t.Fatalf("%d of %q: whole is %v, %v", cut, text, whole, err)
			}
		}
		a, whole, err := readAnswer([]byte(text + "HTTP/1.1 2"))
		if !whole || err != nil || a.status != status || a.size != len(text) {
			t.Errorf("%q: %+v, %v, %v", text, a, whole, err)
		}
	}
	a, _, _ := readAnswer([]byte(bid))
	if seq := number(a.body, `"seq":`); seq != 307 {
		t.Errorf("seq is %d", seq)
	}
	for _, text := range []string{"SSH-2.0-OpenSSH_9.2\r\n\r\n", "HTTP/1.1 abc\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"} {
		if _, whole, err := readAnswer([]byte(text)); whole || err == nil {
			t.Errorf("%q was read", text)
		}
	}
	if cents := lastCents([]byte(`"currentPrice":"1.00"}`+"\n"+`{"currentPrice":"1234.56"}`), `"currentPrice":"`); cents != 123456 {
		t.Errorf("%d cents", cents)
	}
}

// Times run from the moment a request was meant for, so that one that had to wait for its turn is charged with the wait.
func TestAStallIsChargedToAllWhoCameMeanwhile(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Log("loads are made on Linux only")
		return
	}
	const stall = 400 * time.Millisecond
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go stallOnce(listener, stall)
	defer listener.Close()
	e, err := newEngine()
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	answers := 0
	out, err := e.run(t.Context(), offer{
		targets: []string{listener.Addr().String()}, rate: 100, span: time.Second, connections: 1,
		write: func(to []byte, i int) []byte { return fmt.Appendf(to, "GET /%d HTTP/1.1\r\nHost: x\r\n\r\n", i) },
		read:  func(int, answer) { answers++ },
	})
	if err != nil {
		t.Fatal(err)
	}
	// A closed loop would see one slow answer of a hundred. Some 40 were meant to be sent during the stall.
	late := int64(0)
	for _, bar := range out.times.Distribution() {
		if bar.From >= (stall / 4).Microseconds() {
			late += bar.Count
		}
	}
	if answers != 100 || out.answered() != 100 || out.unanswered != 0 || out.times.TotalCount() != 100 {
		t.Errorf("%d answers, %+v", answers, out)
	}
	if late < 20 || out.times.Max() < stall.Microseconds() {
		t.Errorf("%d were late, the latest by %d µs", late, out.times.Max())
	}
}

// stallOnce answers everything at once, but for the tenth request.
func stallOnce(listener net.Listener, stall time.Duration) {
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
		if n == 10 {
			time.Sleep(stall) // this is what is measured
		}
		if _, err := conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")); err != nil {
			return
		}
	}
}

// What a crowd sends is what the house reads: whole requests, each a step above the last, one key each.
func TestACrowdsRequests(t *testing.T) {
	t.Parallel()
	c := &crowd{town: &town{token: "mrt_x", bidders: []int64{7, 8, 9}}, auctions: []int64{42}, low: 50, keys: newKeys()}
	c.offer([]string{"x"}, 100, 0, time.Second, 1)
	low, known := 0, map[string]bool{}
	for i := range 100 {
		request, err := http.ReadRequest(bufio.NewReader(strings.NewReader(string(c.write(nil, i)))))
		if err != nil {
			t.Fatal(err)
		}
		body := make([]byte, request.ContentLength)
		if n, _ := request.Body.Read(body); n != len(body) || request.URL.Path != "/auctions/42/bids" {
			t.Fatalf("%d of %d: %s %s", n, len(body), request.URL, body)
		}
		key := request.Header.Get("Idempotency-Key")
		if key != c.keys.of(i).String() || known[key] || c.keys.number(c.keys.of(i)) != i {
			t.Fatalf("key of %d is %s", i, key)
		}
		known[key] = true
		if want := fmt.Sprintf(`{"bidderId":%d,"amount":"%d.%02d"}`, 7+i%3, c.bids[i].amount/100, c.bids[i].amount%100); string(body) != want {
			t.Fatalf("%s, want %s", body, want)
		}
		if c.bids[i].amount <= int64(i) {
			low++
		}
	}
	if low != 50 && low != 49 { // the first cannot be
		t.Errorf("%d of 100 are too low", low)
	}
}

func TestVerifyCatchesACorruptedLog(t *testing.T) {
	t.Parallel()
	k := newKeys()
	const bids = 20
	good := func() ([]logged, standing, []sent) {
		var log []logged
		var asked []sent
		for i := range bids {
			asked = append(asked, sent{amount: int64(i) + 1, seq: int64(i) + 1})
			log = append(log, logged{seq: int64(i) + 1, amount: int64(i) + 1, key: k.of(i)})
		}
		asked[3].seq = 0 // its answer got lost, which is no fault of the log
		return log, standing{price: bids, count: bids}, append(asked, sent{amount: 5})
	}
	log, row, asked := good()
	if wrong := verify(log, row, asked, k); len(wrong) > 0 {
		t.Fatalf("a good log: %v", wrong)
	}
	for name, corrupt := range map[string]func(log *[]logged, row *standing, asked []sent){
		"a gap":               func(log *[]logged, _ *standing, _ []sent) { *log = append((*log)[:7], (*log)[8:]...) },
		"the last is missing": func(log *[]logged, row *standing, _ []sent) { *log, *row = (*log)[:19], standing{19, 19} },
		"an amount":           func(log *[]logged, _ *standing, _ []sent) { (*log)[5].amount = 5 },
		"somebody else's":     func(log *[]logged, _ *standing, _ []sent) { (*log)[5].key = newKeys().of(5) },
		"twice": func(log *[]logged, row *standing, _ []sent) {
			*log, *row = append(*log, logged{21, 21, k.of(19)}), standing{21, 21}
		},
		"another place":               func(_ *[]logged, _ *standing, asked []sent) { asked[4].seq = 6 },
		"an older price":              func(_ *[]logged, row *standing, _ []sent) { row.price-- },
		"a count":                     func(_ *[]logged, row *standing, _ []sent) { row.count++ },
		"acknowledged, never written": func(_ *[]logged, _ *standing, asked []sent) { asked[bids].seq = 21 },
	} {
		log, row, asked := good()
		corrupt(&log, &row, asked)
		if len(verify(log, row, asked, k)) == 0 {
			t.Errorf("%s went by", name)
		}
	}
}

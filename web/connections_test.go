package web_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"martelo/app/live"
	"martelo/web"
)

// wire is a house behind a real listener, asked with bytes as they go over the wire.
type wire struct {
	*house
	address string
}

func openWire(t *testing.T, changes ...any) *wire {
	t.Helper()
	var hub *live.Hub
	h := open(t, append(changes, func(d *web.Deps) { hub = d.Hub })...)
	listener, err := live.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := h.handler.HTTP()
	served, ended := make(chan error, 1), make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() { served <- server.Serve(listener) }()
	go func() {
		hub.Run(ctx)
		close(ended)
	}()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
		cancel()
		<-ended
	})
	return &wire{house: h, address: listener.Addr().String()}
}

// dial sends bytes on a connection of its own.
func (w *wire) dial(sent string) net.Conn {
	w.Helper()
	conn, err := net.Dial("tcp", w.address)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, sent); err != nil {
		w.Fatal(err)
	}
	return conn
}

// ends reads until the house ends the connection, and returns what came before.
func ends(conn net.Conn, most time.Duration) (string, error) {
	if err := conn.SetReadDeadline(time.Now().Add(most)); err != nil {
		return "", err
	}
	came, err := io.ReadAll(conn)
	return string(came), err
}

// Whatever a request is for, a body that was announced and never comes ends its connection, after
// an answer.
func TestABodyThatNeverComesEndsItsConnection(t *testing.T) {
	t.Parallel()
	h := openWire(t)
	h.handler.Hurry(200 * time.Millisecond)
	id := h.lot()
	length, chunks, expect := "Content-Length: 1000\r\n", "Transfer-Encoding: chunked\r\n", "Content-Length: "+
		"1000\r\nExpect: 100-continue\r\n"
	form, object := "Content-Type: application/x-www-form-urlencoded\r\n", "Content-Type: application/json\r\n"
	token := "Authorization: Bearer " + h.seller.token + "\r\n"
	type kind struct {
		line, header string
		status       int
	}
	kinds := []kind{
		{"GET /healthz", length, 200}, {"GET /readyz", chunks, 200}, {"GET /healthz", expect, 200},
		{"HEAD /healthz", length, 200},
		{"GET /static/nothing.css", length, 404}, {"GET /nowhere", length, 404}, {"POST /nowhere", chunks, 404},
		{"GET /auctions", length, 200}, {"GET " + auctionPath(id), "Accept: text/html\r\n" + length, 200},
		{"GET /auctions/999999/events", length, 404}, {"GET /ws" + auctionPath(id), length, 400},
		{"HEAD " + auctionPath(id) + "/events", length, 200},
		{"POST /auctions", length + object, 401}, {"POST /auctions", token + object + length, 400},
		{"POST /auctions", token + object + chunks, 400},
		{"POST /auctions", token + object + expect, 400},
		{"POST /auctions", token + object + "Content-Length: 70000\r\n", 413},
		{"POST /auctions", token + object + "Content-Length: 300000\r\n", 413},
		{"POST /auctions", token + "Content-Type: text/plain\r\n" + length, 415},
		{"POST /auctions", "Origin: http://elsewhere.test\r\n" + length, 403},
		{"POST /signin", form + length, 400}, {"POST /signin", form + chunks + "\r\n4\r\nabcd", 400},
		{"DELETE /auctions", length, 405}, {"OPTIONS /auctions", length, 204}, {"PUT /auctions", expect, 405},
		{"GET /auctions", "Upgrade: h2c\r\nConnection: Upgrade\r\n" + length, 200},
	}
	for _, k := range kinds {
		t.Run(k.line+" "+strings.Join(strings.Fields(k.header), "_"), func(t *testing.T) {
			t.Parallel()
			came, err := ends(h.dial(k.line+" HTTP/1.1\r\nHost: house.test\r\n"+k.header+"\r\n"), livePatience)
			if err != nil {
				t.Fatalf("the connection is not ended: %v", err)
			}
			came = strings.TrimPrefix(came, "HTTP/1.1 100 Continue\r\n\r\n")
			if want := fmt.Sprintf("HTTP/1.1 %d ", k.status); !strings.HasPrefix(came, want) {
				t.Errorf("the answer is %.80q, not %d", came, k.status)
			}
		})
	}
}

// A body that comes, and is not read, leaves the connection as good as it was.
func TestABodyThatIsNotReadKeepsTheConnection(t *testing.T) {
	t.Parallel()
	h := openWire(t)
	h.handler.Hurry(200 * time.Millisecond)
	conn := h.dial(
		"POST /auctions HTTP/1.1\r\nHost: house.test\r\nContent-Length: 4\r\n\r\nabcdGET /healthz " +
			"HTTP/1.1\r\nHost: house.test\r\n\r\n",
	)
	if err := conn.SetReadDeadline(time.Now().Add(livePatience)); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReader(conn)
	for _, want := range []int{401, 200} {
		response, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != want {
			t.Fatalf("answered %s, %v, not %d", response.Status, err, want)
		}
	}
}

// A request that takes longer to answer than its body may take to come is answered all the same.
func TestTheBodysDeadlineEndsWithTheBody(t *testing.T) {
	t.Parallel()
	const within = 50 * time.Millisecond
	h := openWire(t)
	id := h.lot()
	holder, err := h.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.Exec(t.Context(), "SELECT FROM auctions WHERE id = $1 FOR UPDATE", id); err != nil {
		t.Fatal(err)
	}
	h.handler.Hurry(within)
	conn := h.dial("POST " + auctionPath(id) + "/cancel HTTP/1.1\r\nHost: house.test\r\nContent-Length: " +
		"2\r\nAuthorization: Bearer " +
		h.admin.token + "\r\n\r\n{}")
	<-time.After(4 * within) // the span under test
	if err := holder.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK || response.Close {
		t.Errorf("answered %s, closing: %v", response.Status, response.Close)
	}
}

// A frame that announces more than ever comes ends its connection, and the viewer's place is taken
// until then.
func TestAWebSocketEndsWhateverItsClientSends(t *testing.T) {
	t.Parallel()
	h := openWire(t)
	h.handler.Hurry(100 * time.Millisecond)
	id := h.lot()
	upgrade := fmt.Sprintf("GET /ws/auctions/%d HTTP/1.1\r\nHost: house.test\r\nConnection: Upgrade\r\nUpgrade: "+
		"websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", id)
	huge := binary.BigEndian.AppendUint64([]byte{0x82, 0xff}, 1<<40)
	for name, sent := range map[string]string{
		"huge frame":        string(huge) + "\x00\x00\x00\x00" + "ten bytes.",
		"huge text frame":   "\x81" + string(huge[1:]) + "\x00\x00\x00\x00",
		"half a header":     "\x82\xfe",
		"unfinished":        "\x02\x81\x00\x00\x00\x00a",
		"unmasked":          "\x82\x01a",
		"message":           "\x81\x81\x00\x00\x00\x00a",
		"goodbye":           "\x88\x82\x00\x00\x00\x00\x03\xe8",
		"goodbye and more":  "\x88\x82\x00\x00\x00\x00\x03\xe8" + string(huge),
		"reserved bits":     "\xf2\x80\x00\x00\x00\x00",
		"half a close":      "\x88\xfd",
		"ping without data": "\x89\xfd\x00\x00\x00\x00",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := ends(h.dial(upgrade+"\r\n"+sent), livePatience); isTimeout(err) {
				t.Errorf("the connection is not ended: %v", err)
			}
		})
	}
}

func isTimeout(err error) bool {
	var netErr net.Error
	return errors.As(err, &netErr) && netErr.Timeout()
}

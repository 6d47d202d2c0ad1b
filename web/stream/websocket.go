package stream

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"

	"martelo/app/live"
	"martelo/app/loop"
	"martelo/app/refusal"
	"martelo/web/read"
)

const (
	// pingEvery is how often a WebSocket's other end is asked whether it is there, and pongWithin
	// how long it has to answer.
	pingEvery  = 20 * time.Second
	pongWithin = 10 * time.Second
	// farewellWithin bounds the closing handshake, in which the library would wait for the rest of
	// a frame that never comes.
	farewellWithin = time.Second
)

// WebSocket sends one auction's updates as text messages (GET /ws/auctions/{id}). Whatever the
// client sends beside pongs and its goodbye ends the connection. The viewer's place is free when
// the connection is closed, and no sooner.
func (s *Streams) WebSocket(w http.ResponseWriter, r *http.Request, id int64) error {
	if !asksUpgrade(r.Header) {
		return read.MalformedError{Reason: refusal.NoUpgrade}
	}
	viewing := s.viewing(r, s.messages, []int64{id})
	viewing.Places = webSocketPlaces
	viewer, err := s.hub.Admit(viewing)
	if err != nil {
		return err
	}
	defer viewer.Leave()
	// Pages of any origin may read: what is sent is public, needs no account and is the same for
	// everybody, so a foreign page learns nothing from a visitor's browser that it could not ask
	// for itself. And nothing is taken in.
	keeper := &hijackKeeper{ResponseWriter: w}
	conn, err := websocket.Accept(
		keeper, r, &websocket.AcceptOptions{InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled},
	)
	if err != nil {
		return nil // Accept has answered
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
	defer cancel(nil)
	go loop.Guard(slog.Default(), "stream: listen", func() { listen(ctx, conn, cancel) })
	go loop.Guard(slog.Default(), "stream: ping", func() { s.ping(ctx, conn, cancel) })
	ended := viewer.Watch(ctx, func(frames [][]byte) error {
		ctx, cancel := context.WithTimeout(ctx, streamWriteWithin)
		defer cancel()
		for _, frame := range frames {
			if err := conn.Write(ctx, websocket.MessageText, frame); err != nil {
				return err
			}
		}
		return nil
	})
	farewell(keeper.conn, conn, errors.Join(ended, context.Cause(ctx)))
	return nil
}

// hijackKeeper keeps the connection that is taken over, since the library does not always close it.
type hijackKeeper struct {
	http.ResponseWriter
	conn net.Conn
}

// Hijack is http.Hijacker's.
func (k *hijackKeeper) Hijack() (conn net.Conn, buffered *bufio.ReadWriter, err error) {
	conn, buffered, err = http.NewResponseController(k.ResponseWriter).Hijack()
	k.conn = conn
	return conn, buffered, err
}

// errSpoke is why a connection ends whose client sent a message.
var errSpoke = errors.New("stream: a WebSocket's client sent a message")

// listen ends a connection whose client leaves or sends a message. Pings, pongs and the goodbye are
// the library's.
func listen(ctx context.Context, conn *websocket.Conn, end context.CancelCauseFunc) {
	_, _, err := conn.Reader(ctx)
	if err == nil {
		err = errSpoke
	}
	end(err)
}

// farewell says why the connection ends, to a client that can know, and closes it.
func farewell(raw net.Conn, conn *websocket.Conn, why error) {
	late := time.AfterFunc(farewellWithin, func() { _ = raw.Close() })
	defer late.Stop()
	switch {
	case errors.Is(why, live.ErrDraining):
		_ = conn.Close(websocket.StatusServiceRestart, "come back in a second")
	case errors.Is(why, errSpoke):
		_ = conn.Close(websocket.StatusPolicyViolation, "nothing is taken in here")
	}
	_ = raw.Close()
	_ = conn.CloseNow()
}

// ping cuts a connection whose other end has vanished.
func (s *Streams) ping(ctx context.Context, conn *websocket.Conn, end context.CancelCauseFunc) {
	ticker := time.NewTicker(s.PingEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		within, cancel := context.WithTimeout(ctx, s.PongWithin)
		err := conn.Ping(within)
		cancel()
		if err != nil {
			end(err)
			return
		}
	}
}

// asksUpgrade tells whether a request is a WebSocket's handshake, so that any other is refused in
// the house's own words.
func asksUpgrade(header http.Header) bool {
	return hasToken(header, "Connection", "upgrade") && hasToken(header, "Upgrade", "websocket") &&
		header.Get("Sec-WebSocket-Version") == "13" && header.Get("Sec-WebSocket-Key") != ""
}

func hasToken(header http.Header, name, token string) bool {
	for _, value := range header.Values(name) {
		for part := range strings.SplitSeq(value, ",") {
			if strings.EqualFold(strings.TrimSpace(part), token) {
				return true
			}
		}
	}
	return false
}

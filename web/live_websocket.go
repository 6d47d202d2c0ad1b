package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"

	"martelo/app/live"
	"martelo/app/loop"
)

const (
	// pingEvery is how often a WebSocket's other end is asked whether it is there, and pongWithin how long it has to answer.
	pingEvery  = 20 * time.Second
	pongWithin = 10 * time.Second
)

// WebSocket sends one auction's updates as text messages (GET /ws/auctions/{id}). Whatever the client sends beside
// pongs and its goodbye ends the connection.
func (s *Streams) WebSocket(w http.ResponseWriter, r *http.Request, id int64) error {
	if !asksUpgrade(r.Header) {
		return malformedError("This address speaks WebSocket, version 13: ask for an upgrade.")
	}
	viewer, err := s.hub.Admit(s.viewing(r, s.messages, []int64{id}))
	if err != nil {
		return err
	}
	// Pages of any origin may read: what is sent is public, needs no account and is the same for everybody, so a foreign page
	// learns nothing from a visitor's browser that it could not ask for itself. And nothing is taken in.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		viewer.Leave()
		return nil // Accept has answered
	}
	ctx, cancel := context.WithCancel(conn.CloseRead(context.WithoutCancel(r.Context())))
	defer cancel()
	go loop.Guard(slog.Default(), "web: ping", func() { ping(ctx, conn) })
	err = viewer.Serve(ctx, func(frames [][]byte) error {
		ctx, cancel := context.WithTimeout(ctx, streamWriteWithin)
		defer cancel()
		for _, frame := range frames {
			if err := conn.Write(ctx, websocket.MessageText, frame); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, live.ErrDraining) {
		_ = conn.Close(websocket.StatusServiceRestart, "come back in a second")
	}
	_ = conn.CloseNow()
	return nil
}

// ping cuts a connection whose other end has vanished.
func ping(ctx context.Context, conn *websocket.Conn) {
	ticker := time.NewTicker(pingEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		within, cancel := context.WithTimeout(ctx, pongWithin)
		err := conn.Ping(within)
		cancel()
		if err != nil {
			_ = conn.CloseNow()
			return
		}
	}
}

// asksUpgrade tells whether a request is a WebSocket's handshake, so that any other is refused in the house's own words.
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

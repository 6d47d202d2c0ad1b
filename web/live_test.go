package web_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/r3labs/sse/v2"

	"martelo/app/live"
	"martelo/web"
)

// livePatience is for what has no promised time: a busy machine is not a fault.
const livePatience = 20 * time.Second

// liveHouse is a house whose live side runs, behind a real server.
type liveHouse struct {
	*house
	hub    *live.Hub
	server *httptest.Server
}

func openLive(t *testing.T, begin func(*httptest.Server)) *liveHouse {
	t.Helper()
	h := &liveHouse{}
	h.house = open(t, func(d *web.Deps) { h.hub = d.Hub })
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		h.hub.Run(ctx)
		close(ended)
	}()
	h.server = httptest.NewUnstartedServer(h.handler)
	begin(h.server)
	t.Cleanup(func() {
		cancel()
		<-ended
		h.server.Close()
	})
	return h
}

func (h *liveHouse) path(format string, ids ...any) string {
	return h.server.URL + fmt.Sprintf(format, ids...)
}

// follow reads a stream until the test has seen enough; of the clock it shows only the first. Each
// block is an event as an independent decoder cuts it out.
func (h *liveHouse) follow(url string, see func(name, data string) (enough bool)) *http.Response {
	h.Helper()
	ctx, cancel := context.WithTimeout(h.Context(), livePatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		h.Fatal(err)
	}
	response, err := h.server.Client().Do(request)
	if err != nil {
		h.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		h.Fatalf("%s: %s", url, response.Status)
	}
	reader := sse.NewEventStreamReader(response.Body, 1<<20)
	clocks := 0
	for {
		block, err := reader.ReadEvent()
		if err != nil {
			h.Fatalf("%s: %v", url, err)
		}
		name, data := fields(block)
		if name == "clock" {
			if clocks++; clocks > 1 {
				continue // it may come at any time
			}
		}
		if see(name, data) {
			return response
		}
	}
}

// fields reads an event's name and data by the letter of the HTML standard.
func fields(block []byte) (name, data string) {
	var lines []string
	name = "message"
	for line := range strings.Lines(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(block)) + "\n") {
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			name = value
		case "data":
			lines = append(lines, value)
		}
	}
	return name, strings.Join(lines, "\n")
}

func plain(s *httptest.Server) { s.Start() }

func overTLS(s *httptest.Server) {
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{MinVersion: tls.VersionTLS13}
	s.StartTLS()
}

// shapeOf replaces what differs from run to run.
func shapeOf(data string) string {
	data = regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"`).ReplaceAllString(data, `"T"`)
	return regexp.MustCompile(`"(auctionId|leaderId|winnerId)":\d+`).ReplaceAllString(data, `"$1":N`)
}

// The JSON streams are the contract's, over HTTP/1.1 as over HTTP/2: current states first, then
// what changes, and an end.
func TestJSONStreams(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*httptest.Server){"HTTP/1.1": plain, "HTTP/2.0": overTLS} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := openLive(t, begin)
			id, other := h.lot(), h.endedLot()
			want := []string{
				`price {"auctionId":N,"version":1,"seq":0,"currentPrice":"1000.00","minimumBid":"1010.00",` +
					`"leaderId":null,"bidCount":0,"status":"OPEN","endTime":"T","serverTime":"T"}`,
				`closed {"auctionId":N,"status":"CANCELLED","winnerId":null,"hammerPrice":null,"closedAt":"T"}`,
				`clock {"serverTime":"T"}`,
				`price {"auctionId":N,"version":2,"seq":1,"currentPrice":"1100.00","minimumBid":"1110.00",` +
					`"leaderId":N,"bidCount":1,"status":"OPEN","endTime":"T","serverTime":"T"}`,
				`closed {"auctionId":N,"status":"CLOSED","winnerId":N,"hammerPrice":"1100.00","closedAt":"T"}`,
			}
			seen := 0
			response := h.follow(h.path("/events?auctions=%d,%d", id, other), func(name, data string) bool {
				if got := name + " " + shapeOf(data); got != want[seen] {
					t.Errorf("event %d is\n%s, not\n%s", seen, got, want[seen])
				}
				switch seen++; seen {
				case 3:
					h.bid(id, h.buyer, "1100.00").status(t, http.StatusCreated)
				case 4:
					h.close(id)
				}
				return seen == len(want)
			})
			if response.Proto != name {
				t.Errorf("the answer came over %s", response.Proto)
			}
			for header, want := range map[string]string{
				"Content-Type": "text/event-stream", "Cache-Control": "no-store, no-transform",
				"X-Accel-Buffering": "no", "X-Content-Type-Options": "nosniff",
			} {
				if got := response.Header.Get(header); got != want {
					t.Errorf("%s is %q, not %q", header, got, want)
				}
			}
			h.follow(h.path("/auctions/%d/events", id), func(name, data string) bool {
				if name != "closed" || !strings.Contains(data, `"auctionId":`+strconv.FormatInt(id, 10)+",") {
					t.Errorf("who comes after the end is first told %s %s", name, data)
				}
				return true
			})
		})
	}
}

// close lets an auction's time run out and closes it.
func (h *liveHouse) close(id int64) {
	h.Helper()
	tx, err := h.pool.Begin(h.Context())
	if err != nil {
		h.Fatal(err)
	}
	defer tx.Rollback(h.Context()) //nolint:errcheck // after the commit it has nothing to do
	for _, statement := range []string{
		"ALTER TABLE auctions DISABLE TRIGGER auctions_terms_are_fixed",
		"UPDATE auctions SET start_at = now() - interval '2 h', original_end_at = now() - interval '1 h', end_at = " +
			"now() - interval '1 h', version = version + 1 WHERE id = " + strconv.FormatInt(id, 10),
		"UPDATE auctions SET status = 'CLOSED', closed_at = clock_timestamp(), version = version + 1 WHERE id = " +
			strconv.FormatInt(id, 10),
		"ALTER TABLE auctions ENABLE TRIGGER auctions_terms_are_fixed",
	} {
		if _, err := tx.Exec(h.Context(), statement); err != nil {
			h.Fatal(err)
		}
	}
	if err := tx.Commit(h.Context()); err != nil {
		h.Fatal(err)
	}
}

// The first thing in a stream says when to come back, within the time in which a page must be right
// again.
func TestStreamsBeginWithRetry(t *testing.T) {
	t.Parallel()
	h := openLive(t, plain)
	id := h.lot()
	waits := map[string]bool{}
	for range 20 {
		response, err := h.server.Client().Get(h.path("/auctions/%d/events", id))
		if err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(response.Body).ReadString('\n')
		response.Body.Close()
		var ms int
		if _, scanned := fmt.Sscanf(line, "retry: %d\n", &ms); err != nil || scanned != nil || ms < 300 || ms > 1300 {
			t.Fatalf("the first line is %q, %v", line, err)
		}
		waits[line] = true
	}
	if len(waits) < 5 {
		t.Errorf("20 viewers are to come back at %d different times", len(waits))
	}
}

// The pages' stream begins with the clock, draws each auction for all alike, and says goodbye when
// there is nothing left to show.
func TestPageStream(t *testing.T) {
	t.Parallel()
	h := openLive(t, plain)
	id := h.lot(func(draft map[string]any) { draft["title"] = `<script>alert("1")</script>` })
	url := h.path("/live?view=panel&auctions=%d&locale=de", id)
	var names []string
	h.follow(url, func(name, data string) bool {
		names = append(names, name)
		switch len(names) {
		case 1:
			ms, err := strconv.ParseInt(strings.TrimSuffix(data, " slow"), 10, 64)
			if off := time.Since(time.UnixMilli(ms)); err != nil || off > livePatience || off < -livePatience {
				t.Errorf("the first clock says %q", data)
			}
		case 2:
			if !strings.Contains(data, `id="price-panel-`+strconv.FormatInt(id, 10)+`"`) ||
				!strings.Contains(data, "hx-swap-oob") {
				t.Errorf("the first state is drawn as %q", data)
			}
			h.bid(id, h.buyer, "1100.00").status(t, http.StatusCreated)
		case 3:
			if !strings.Contains(data, `data-price="1100.00"`) || strings.Contains(data, "<script") {
				t.Errorf("the bid is drawn as %q", data)
			}
			h.exec(
				"UPDATE auctions SET status = 'CANCELLED', closed_at = clock_timestamp(), version = version + 1 "+
					"WHERE id = $1",
				id,
			)
		case 4:
			if !strings.Contains(data, `data-status="CANCELLED"`) {
				t.Errorf("the end is drawn as %q", data)
			}
		}
		return name == "bye"
	})
	if got := strings.Join(names, " "); got != "clock message message message bye" {
		t.Errorf("the events were %s", got)
	}
}

// An independent client understands the stream.
func TestStreamsAreReadByAnotherClient(t *testing.T) {
	t.Parallel()
	h := openLive(t, plain)
	id := h.lot()
	ctx, cancel := context.WithTimeout(t.Context(), livePatience)
	defer cancel()
	client := sse.NewClient(h.path("/auctions/%d/events", id))
	client.Connection = h.server.Client()
	var names []string
	err := client.SubscribeRawWithContext(ctx, func(e *sse.Event) {
		names = append(names, string(e.Event))
		if len(names) == 2 {
			cancel()
		}
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if len(names) < 2 || names[0] != "price" || names[1] != "clock" {
		t.Errorf("it read %q", names)
	}
}

// A WebSocket carries the same, to a page of any site, and nothing is taken in.
func TestWebSocket(t *testing.T) {
	t.Parallel()
	h := openLive(t, plain)
	id := h.lot()
	ctx, cancel := context.WithTimeout(t.Context(), livePatience)
	defer cancel()
	conn, _, err := websocket.Dial(
		ctx, h.path("/ws/auctions/%d", id),
		&websocket.DialOptions{HTTPHeader: http.Header{"Origin": {"https://elsewhere.test"}}},
	)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow() //nolint:errcheck // it may be closed already
	next := func() (event string, data map[string]any) {
		kind, message, err := conn.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var frame struct {
			Event string
			Data  map[string]any
		}
		if err := json.Unmarshal(message, &frame); err != nil || kind != websocket.MessageText {
			t.Fatalf("%v frame %q: %v", kind, message, err)
		}
		return frame.Event, frame.Data
	}
	if event, data := next(); event != "price" || data["currentPrice"] != "1000.00" ||
		data["auctionId"] != float64(id) {
		t.Errorf("the first frame is %s %v", event, data)
	}
	if event, data := next(); event != "clock" || data["serverTime"] == nil {
		t.Errorf("the second frame is %s %v", event, data)
	}
	h.bid(id, h.buyer, "1100.00").status(t, http.StatusCreated)
	event, data := next()
	for event == "clock" { // as often as the house likes
		event, data = next()
	}
	if event != "price" || data["currentPrice"] != "1100.00" || data["version"] != float64(2) {
		t.Errorf("the third frame is %s %v", event, data)
	}
	go h.hub.Drain(ctx, 0)
	var ended error
	for ended == nil { // a heartbeat may come before the end
		_, _, ended = conn.Read(ctx)
	}
	if websocket.CloseStatus(ended) != websocket.StatusServiceRestart {
		t.Errorf("a drained WebSocket ends with %v", ended)
	}
	h.get("/ws/auctions/"+strconv.FormatInt(id, 10)).problem(t, http.StatusBadRequest, "malformed_request")
}

// A node that is about to stop sends newcomers elsewhere, in the contract's words.
func TestDrainingRefusesStreams(t *testing.T) {
	t.Parallel()
	h := openLive(t, plain)
	id := h.lot()
	h.hub.Drain(t.Context(), 0)
	for _, path := range []string{"/auctions/%d/events", "/events?auctions=%d", "/live?view=card&auctions=%d"} {
		answer := h.get(fmt.Sprintf(path, id))
		answer.problem(t, http.StatusServiceUnavailable, "unavailable")
		if answer.Header().Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After", path)
		}
	}
}

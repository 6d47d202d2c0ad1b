package web_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// serve opens the house on a port, with its live side running.
func (h *house) serve() string {
	h.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { h.hub.Run(ctx); close(done) }()
	server := httptest.NewServer(h.handler)
	h.Cleanup(func() { cancel(); <-done; server.Close() })
	return server.URL
}

// frames reads a stream of events until one has all the texts, and returns it.
func frameWith(t *testing.T, lines *bufio.Scanner, texts ...string) string {
	t.Helper()
	var frame strings.Builder
	for lines.Scan() {
		if lines.Text() != "" {
			frame.WriteString(lines.Text() + "\n")
			continue
		}
		found := true
		for _, text := range texts {
			found = found && strings.Contains(frame.String(), text)
		}
		if found {
			return frame.String()
		}
		frame.Reset()
	}
	t.Fatalf("the stream ended (%v) without a frame with %q", lines.Err(), texts)
	return ""
}

func (h *house) watch(t *testing.T, address string) (*bufio.Scanner, *http.Response) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "text/event-stream")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" {
		body, _ := io.ReadAll(response.Body)
		t.Fatalf("%s: %d %s %s", address, response.StatusCode, response.Header.Get("Content-Type"), body)
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	return lines, response
}

func TestStreamsOverHTTP(t *testing.T) {
	t.Parallel()
	h := open(t)
	address := h.serve()
	id, second := h.lot(), h.lot()
	one, response := h.watch(t, address+auctionPath(id)+"/events")
	if response.Header.Get("X-Content-Type-Options") != "nosniff" || response.Header.Get("X-Request-Id") == "" {
		t.Errorf("headers are %v", response.Header)
	}
	many, _ := h.watch(t, address+"/events?auctions="+strconv.FormatInt(id, 10)+","+strconv.FormatInt(second, 10))
	panel, _ := h.watch(t, address+"/live?view=panel&locale=de&auctions="+strconv.FormatInt(id, 10))
	cards, _ := h.watch(t, address+"/live?view=card&locale=made-up&auctions="+strconv.FormatInt(id, 10))
	socket, _, err := websocket.Dial(t.Context(), strings.Replace(address, "http", "ws", 1)+"/ws"+auctionPath(id), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.CloseNow()
	frameWith(t, one, "event: price", `"version":1`)
	frameWith(t, many, `"auctionId":`+strconv.FormatInt(second, 10))
	frameWith(t, panel, "price-panel-", "1.000,00")
	frameWith(t, cards, "lot-price-", "1,000.00")
	h.buyer.bidOn(h, id, "1500")
	frameWith(t, one, `"currentPrice":"1500.00"`, `"leaderId":`+strconv.FormatInt(h.buyer.id, 10))
	frameWith(t, many, `"currentPrice":"1500.00"`)
	frameWith(t, panel, "1.500,00", "Bidder 1", "hx-swap-oob")
	frameWith(t, cards, "1,500.00")
	for {
		_, message, err := socket.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(message), `{"event":"price","data":{`) &&
			strings.Contains(string(message), "1500.00") {
			break
		}
	}
	h.post(auctionPath(id)+"/cancel", h.admin, "").status(t, 200)
	frameWith(t, one, "event: closed", `"status":"CANCELLED"`, `"winnerId":null`)
}

func TestHostileStreams(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.serve()
	id := strconv.FormatInt(h.lot(), 10)
	for target, want := range map[string]refusal{
		"/events": invalid("auctions"), "/events?auctions=": invalid("auctions"),
		"/events?auctions=x": invalid("auctions"), "/events?auctions=1,,2": invalid("auctions"),
		"/events?auctions=-1": invalid("auctions"), "/events?auctions=" + strings.Repeat("1,", 200) + "1": notFound,
		"/events?auctions=1": notFound, "/events?auctions=" + id + ",1": notFound,
		"/events?auctions=" + sequence(101):    invalid("auctions"),
		"/events?auctions=9223372036854775808": invalid("auctions"), "/events?auctions=%00": invalid("auctions"),
		"/auctions/x/events": notFound, "/auctions/1/events": notFound,
		"/auctions/9223372036854775808/events": notFound,
		"/live?auctions=" + id:                 invalid("view"), "/live?view=x&auctions=" + id: invalid("view"),
		"/live?view=panel": invalid("auctions"), "/live?view=panel&auctions=1": notFound,
		"/ws/auctions/x": notFound, "/ws/auctions/1": notFound, "/ws/auctions/" + id: malformed,
		"/events?auctions=%zz": malformed,
	} {
		h.refuses("GET "+target[:min(60, len(target))], h.get(target), want)
	}
	h.refuses("POST", h.post("/auctions/"+id+"/events", h.admin, "{}"), wrongMethod)
}

func sequence(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = strconv.Itoa(i + 1)
	}
	return strings.Join(list, ",")
}

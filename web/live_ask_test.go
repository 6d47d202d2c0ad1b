package web_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// eventsIn reads an answer that consists of events.
func eventsIn(body string) (names, data []string) {
	for block := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		n, d := fields([]byte(block))
		names, data = append(names, n), append(data, d)
	}
	return names, data
}

// A page that no stream reaches asks: it gets what a stream would say, without the states it has,
// and the answer ends.
func TestPagesAskWhereNoStreamReachesThem(t *testing.T) {
	t.Parallel()
	h := openLive(t, plain)
	one, two := h.lot(), h.lot()
	asks := func(have string) (names, data []string) {
		t.Helper()
		answer := h.get(fmt.Sprintf("/live?view=card&auctions=%d,%d&locale=en-US&have=%s", one, two, have))
		answer.status(t, http.StatusOK)
		header := answer.Header()
		if header.Get("Content-Type") != "text/event-stream" ||
			!strings.Contains(header.Get("Cache-Control"), "no-store") ||
			header.Get("Content-Length") != strconv.Itoa(answer.Body.Len()) {
			t.Errorf("the answer's header is %v", header)
		}
		return eventsIn(answer.Body.String())
	}
	names, data := asks("0,0")
	if strings.Join(names, " ") != "clock message message" ||
		!strings.Contains(data[1], fmt.Sprintf(`id="lot-price-%d"`, one)) {
		t.Fatalf("at first: %s, %s", names, data)
	}
	if names, _ := asks("1,1"); strings.Join(names, " ") != "clock" {
		t.Errorf("with nothing new: %s", names)
	}
	h.bid(two, h.buyer, "1100.00").status(t, http.StatusCreated)
	names, data = asks("1,1")
	if strings.Join(names, " ") != "clock message" || !strings.Contains(data[1], `data-price="1100.00"`) {
		t.Errorf("after a bid: %s, %s", names, data)
	}
	// A page that knows more than the house is put right too.
	names, data = asks("1,9")
	if strings.Join(names, " ") != "clock message" || !strings.Contains(data[1], `data-version="2"`) {
		t.Errorf("with a version that never was: %s, %s", names, data)
	}
	for _, id := range []int64{one, two} {
		h.exec(`UPDATE auctions SET status = 'CANCELLED', closed_at = clock_timestamp(), version = version + 1
			WHERE id = $1`, id)
	}
	for began := time.Now(); ; {
		if names, _ := asks("2,3"); strings.Join(names, " ") == "clock bye" {
			break
		}
		if time.Since(began) > livePatience {
			t.Fatal("an answer about lots that are over says no goodbye")
		}
	}
	for target, status := range map[string]int{
		"/live?view=card&auctions=999999&have=0":                                  http.StatusNotFound,
		fmt.Sprintf("/live?view=card&auctions=%d&have=", one):                     http.StatusUnprocessableEntity,
		fmt.Sprintf("/live?view=card&auctions=%d&have=1,2", one):                  http.StatusUnprocessableEntity,
		fmt.Sprintf("/live?view=card&auctions=%d&have=-1", one):                   http.StatusUnprocessableEntity,
		fmt.Sprintf("/live?view=other&auctions=%d&have=1", one):                   http.StatusUnprocessableEntity,
		"/live?view=card&auctions=&have=":                                         http.StatusUnprocessableEntity,
		fmt.Sprintf("/live?view=card&auctions=%d&have=%s", one, "1e3"):            http.StatusUnprocessableEntity,
		fmt.Sprintf("/live?view=panel&auctions=%d&locale=xx-unknown&have=0", one): http.StatusOK,
	} {
		h.get(target).status(t, status)
	}
}

// However many pages ask about an auction, PostgreSQL is asked once.
func TestAskingIsAnsweredFromMemory(t *testing.T) {
	t.Parallel()
	h := openLive(t, plain)
	target := fmt.Sprintf("/live?view=panel&auctions=%d&have=1", h.lot())
	h.get(target).status(t, http.StatusOK)
	h.exec("ALTER TABLE lots RENAME TO lots_gone") // so that a state cannot be read
	h.exec("ALTER TABLE bids RENAME TO bids_gone")
	for range 3 {
		h.get(target).status(t, http.StatusOK)
	}
}

// Each viewer gets a second clock soon: with it a client knows that nothing holds the stream back.
func TestStreamsProveThemselves(t *testing.T) {
	t.Parallel()
	h := openLive(t, plain)
	id := h.lot()
	for _, target := range []string{h.path("/live?view=panel&auctions=%d", id), h.path("/auctions/%d/events", id)} {
		response, err := h.server.Client().Get(target)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		began := time.Now()
		var seen strings.Builder
		for buffer := make([]byte, 4096); strings.Count(seen.String(), "event: clock\n") < 2; {
			n, err := response.Body.Read(buffer)
			if err != nil {
				t.Fatal(err)
			}
			seen.Write(buffer[:n])
		}
		if took := time.Since(began); took > 5*time.Second { // two are meant; the machine may be busy
			t.Errorf("%s: the second clock came after %s", target, took)
		}
	}
}

package main_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"martelo/db/dbtest"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Who bids waits for nobody who only reads, however many they are and however long what they ask
// takes: by session and by token, from the page and as JSON.
func TestBiddersDoNotWaitForReaders(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	const bidWithin = 1500 * time.Millisecond
	town := newDefaultTown(t)
	n := town.start()
	id := n.open(time.Hour).ID
	town.command("user", "create", "--email", "buyer@house.example", "--name", "Buyer", "--password", "a long password")
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{
		Timeout: answerWithin, Jar: jar,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	submit := func(path string, fields url.Values, script bool) (int, string) {
		request, err := http.NewRequestWithContext(
			t.Context(), http.MethodPost, n.url+path, strings.NewReader(fields.Encode()),
		)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Accept", "text/html")
		if script {
			request.Header.Set("HX-Request", "true")
		}
		response, err := browser.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	}
	if status, body := submit(
		"/signin", url.Values{"email": {"buyer@house.example"}, "password": {"a long password"}}, false,
	); status != http.StatusSeeOther {
		t.Fatalf("sign-in: %d %s", status, body)
	}
	bidder := n.bidders(1)[0]

	conn, err := pgx.Connect(t.Context(), town.database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background()) //nolint:errcheck // the test is over
	if _, err := conn.Exec(t.Context(), "BEGIN; LOCK TABLE lots"); err != nil {
		t.Fatal(err)
	}
	reading, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	defer readers.Wait()
	defer stop()
	for i := range 40 {
		path := []string{
			"/auctions?status=ALL&limit=100&q=l+0+1+2+3+4+5+6", "/auctions?limit=100", fmt.Sprintf("/auctions/%d", id),
		}[i%3]
		readers.Go(func() {
			for reading.Err() == nil {
				n.do(reading, http.MethodGet, path, "", nil)
			}
		})
	}
	stuck := func() bool {
		r := n.do(t.Context(), http.MethodGet, "/auctions?q=watch", "", nil)
		return r.status == http.StatusServiceUnavailable && r.header.Get("Retry-After") != ""
	}
	eventually(t, answerWithin, "the readers are stuck", stuck)
	for i := range 4 {
		begin := time.Now()
		status, body := submit(
			fmt.Sprintf("/auctions/%d/bids", id),
			url.Values{"key": {uuid.NewString()}, "amount": {fmt.Sprint(1100 + 100*i)}}, i%2 == 0,
		)
		if took := time.Since(begin); status != http.StatusOK || !strings.Contains(body, "was accepted") ||
			took > bidWithin {
			t.Errorf("a bid from the page is answered %d after %v: %s", status, took, body)
		}
		r := n.bid(t.Context(), id, bidder, int64(1150+100*i), uuid.New())
		if r.status != http.StatusCreated || r.took > bidWithin {
			t.Errorf("a bid with a token is answered %d after %v: %s", r.status, r.took, r.body)
		}
	}
}

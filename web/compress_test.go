package web_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"martelo/db/dbtest"
	"martelo/templates/layouts"
	"martelo/web"
)

var takesGzip = header("Accept-Encoding", "gzip, deflate, br")

// Whatever is read and is not small comes compressed to who takes it, says so, and is the same:
// pages, fragments, lists, for HEAD too.
func TestWhatIsReadIsCompressed(t *testing.T) {
	t.Parallel()
	h := open(t)
	lot := h.lot(func(draft map[string]any) { draft["description"] = strings.Repeat("A long description. ", 200) })
	path := "/auctions/" + strconv.FormatInt(lot, 10)
	html := header("Accept", "text/html")
	for name, read := range map[string]struct {
		path string
		asks []ask
	}{
		"page":     {path, []ask{html}},
		"home":     {"/", []ask{html}},
		"help":     {"/help", []ask{html}},
		"error":    {"/nothing/here", []ask{html}},
		"fragment": {path, []ask{html, header("HX-Request", "true")}},
		"one":      {path, nil},
	} {
		plain := h.get(read.path, read.asks...)
		if name == "one" && plain.Body.Len() < 1400 {
			// Small answers stay as they are.
			if packed := h.get(read.path, takesGzip); packed.Header().Get("Content-Encoding") != "" {
				t.Errorf("%s: %d bytes were compressed", name, plain.Body.Len())
			}
			continue
		}
		packed := h.get(read.path, append(read.asks, takesGzip)...)
		head := h.send(http.MethodHead, read.path, nil, append(read.asks, takesGzip)...)
		if plain.Code != packed.Code || plain.Header().Get("Content-Encoding") != "" ||
			packed.Header().Get("Content-Encoding") != "gzip" {
			t.Errorf("%s: %d %v, %d %v", name, plain.Code, plain.Header(), packed.Code, packed.Header())
			continue
		}
		for kind, answer := range map[string]answer{"plain": plain, "packed": packed, "head": head} {
			vary := strings.Join(answer.Header().Values("Vary"), ", ")
			if strings.Count(vary, "Accept-Encoding") != 1 || !strings.Contains(vary+",", "Accept,") {
				t.Errorf("%s, %s: Vary is %q", name, kind, vary)
			}
			if length, err := strconv.Atoi(answer.Header().Get("Content-Length")); err != nil || kind != "head" &&
				length != answer.Body.Len() {
				t.Errorf("%s, %s: %d bytes, Content-Length %d (%v)", name, kind, answer.Body.Len(), length, err)
			}
		}
		if head.Header().Get("Content-Encoding") != "gzip" {
			t.Errorf("%s: HEAD says %v", name, head.Header())
		}
		if got := len(unpacked(t, packed.Body)); got != plain.Body.Len() || packed.Body.Len() > plain.Body.Len()/2 {
			t.Errorf("%s: %d bytes, compressed %d, unpacked %d", name, plain.Body.Len(), packed.Body.Len(), got)
		}
	}
}

func unpacked(t testing.TB, from io.Reader) []byte {
	t.Helper()
	reader, err := gzip.NewReader(from)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return whole
}

// What somebody has sent is never compressed together with what is meant for nobody else, nor is a
// bid's small answer.
func TestAnswersToPostsAreNotCompressed(t *testing.T) {
	t.Parallel()
	h := open(t)
	lot := h.lot()
	bid := h.post(
		bidsOf(lot), h.buyer, map[string]any{"amount": "1010.00"}, key("0190c0de-0000-7000-8000-000000000001"),
		takesGzip,
	)
	bid.status(t, http.StatusCreated)
	form := h.send(http.MethodPost, "/signup", strings.NewReader("name="+strings.Repeat("x", 90)), takesGzip,
		header("Content-Type", "application/x-www-form-urlencoded"), header("Accept", "text/html"))
	for name, answer := range map[string]answer{"bid": bid, "form": form} {
		if answer.Header().Get("Content-Encoding") != "" ||
			strings.Contains(answer.Header().Get("Vary"), "Accept-Encoding") {
			t.Errorf("%s: %v", name, answer.Header())
		}
	}
	if form.Body.Len() < 1400 {
		t.Errorf("the form's answer has only %d bytes", form.Body.Len())
	}
}

// A live stream is sent as it is, at once.
func TestStreamsAreNotCompressed(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	h := open(t)
	lot := strconv.FormatInt(h.lot(), 10)
	server := httptest.NewServer(h.handler)
	defer server.Close()
	for _, path := range []string{"/auctions/" + lot + "/events", "/events?auctions=" + lot} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept-Encoding", "gzip")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		first := make([]byte, 1)
		if _, err := io.ReadFull(response.Body, first); err != nil || response.Header.Get("Content-Encoding") != "" ||
			bytes.Equal(first, []byte{0x1f}) {
			t.Errorf("%s: %v %q %v", path, response.Header, first, err)
		}
		response.Body.Close()
	}
}

// Every page leads to the rules and to the operator's own pages, where there are any.
func TestEveryPageLeadsToTheRules(t *testing.T) {
	t.Parallel()
	h := open(t, func(deps *web.Deps) {
		deps.House = layouts.HouseLinks{Terms: "https://house.example/terms", Imprint: "https://house.example/imprint"}
	})
	html := header("Accept", "text/html")
	for _, path := range []string{"/", "/help", "/signin", "/nothing/here"} {
		page := h.get(path, html).Body.String()
		for _, link := range []string{
			`href="/help"`, `href="https://house.example/terms"`, `href="https://house.example/imprint"`,
		} {
			if !strings.Contains(page, link) {
				t.Errorf("%s has no %s", path, link)
			}
		}
		if strings.Contains(page, "Privacy") {
			t.Errorf("%s names a page that is not there", path)
		}
	}
	if page := open(t).get("/", html).Body.String(); strings.Contains(page, "colophon__links") {
		t.Error("a house without such pages links to them")
	}
	h.get("/help", html).status(t, http.StatusOK)
}

package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
)

const (
	asPage    = "page"
	asJSON    = "JSON"
	asProblem = "problem"
)

// kind is what an answer is.
func (a answer) kind() string {
	switch media := a.Header().Get("Content-Type"); {
	case strings.HasPrefix(media, "text/html"):
		return asPage
	case media == "application/json":
		return asJSON
	case media == "application/problem+json":
		return asProblem
	default:
		return media
	}
}

// accepting asks with some Accept lines and under the name of a program.
func accepting(program string, accept ...string) ask {
	return func(r *http.Request) {
		r.Header["Accept"] = accept
		r.Header.Set("User-Agent", program)
	}
}

func TestPagesAreForWhoeverAcceptsThem(t *testing.T) {
	t.Parallel()
	h := open(t)
	lot := auctionPath(h.lot())
	for _, c := range []struct {
		accept        []string
		only, besides string // what comes where there are only pages, and where there is JSON too
	}{
		{nil, asPage, asJSON},
		{[]string{""}, asPage, asJSON},
		{[]string{"*/*"}, asPage, asJSON},
		{[]string{"text/*"}, asPage, asJSON},
		{[]string{"text/*;q=0.1, application/json"}, asPage, asJSON},
		{[]string{"application/xhtml+xml,*/*"}, asPage, asJSON},
		{[]string{"image/png", "*/*;q=0.5"}, asPage, asJSON},
		{[]string{"text/html"}, asPage, asPage},
		{[]string{"application/json, TEXT/HTML ; Q=0.001"}, asPage, asPage},
		{[]string{"text/html;level=1;q=1.000,*/*;q=0"}, asPage, asPage},
		{[]string{`text/plain;a="x,y\",text/html;q=0", text/html`}, asPage, asPage},
		{[]string{"text/html;q=x"}, asPage, asPage},
		{[]string{"text/html;q=0"}, asProblem, asJSON},
		{[]string{"text/html;q=0, */*"}, asProblem, asJSON},
		{[]string{"text/html; q=0.000", "text/*"}, asProblem, asJSON},
		{[]string{"text/*;q=0,*/*"}, asProblem, asJSON},
		{[]string{"*/*;q=0"}, asProblem, asJSON},
		{[]string{"application/json"}, asProblem, asJSON},
		{[]string{"text/htm"}, asProblem, asJSON},
		{[]string{`text/plain;a="text/html"`}, asProblem, asJSON},
	} {
		for _, path := range []string{"/", "/signin", "/signup", "/me", "/me/bids", "/me/auctions", "/auctions/new"} {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				got := h.send(method, path, nil, accepting("", c.accept...))
				personal := strings.HasPrefix(path, "/me") || path == "/auctions/new"
				if c.only == asPage && personal { // a visitor is led to the page that signs in
					if got.Code != 303 || !strings.HasPrefix(got.Header().Get("Location"), "/signin?next=") {
						t.Errorf(
							"%s %s, Accept %q: %d to %q", method, path, c.accept, got.Code,
							got.Header().Get("Location"),
						)
					}
					continue
				}
				if got.kind() != c.only || c.only == asProblem && got.Code != 404 || c.only == asPage &&
					got.Code != 200 {
					t.Errorf(
						"%s %s, Accept %q: %d as %s, want %s", method, path, c.accept, got.Code, got.kind(), c.only,
					)
				}
				if !strings.Contains(got.Header().Get("Vary"), "Accept") {
					t.Errorf("%s does not vary by Accept", path)
				}
			}
		}
		for _, path := range []string{"/auctions", lot, lot + "/bids"} {
			if got := h.get(path, accepting("curl/8.5.0", c.accept...)); got.Code != 200 || got.kind() != c.besides {
				t.Errorf("%s, Accept %q: %d as %s, want %s", path, c.accept, got.Code, got.kind(), c.besides)
			}
		}
	}
	// A type of a body that is not there makes no API call of a look at a page, and a form is
	// answered as before.
	if got := h.get("/", accepting("", "*/*"), header("Content-Type", "application/json")); got.kind() != asPage {
		t.Errorf("the home page comes as %s", got.kind())
	}
	if got := h.post(
		"/me/tokens", h.buyer, "name=a", accepting("", "*/*"),
		header("Content-Type", "application/x-www-form-urlencoded"),
	); got.kind() == asPage {
		t.Error("a token for a program comes as a page")
	}
}

func TestLinkPreviewsGetThePageOfALot(t *testing.T) {
	t.Parallel()
	h := open(t)
	lot := auctionPath(
		h.lot(func(draft map[string]any) { draft["description"] = "Gold & <steel>,\n\nserviced in 2024." }),
	)
	for _, program := range []string{
		"Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)", "Twitterbot/1.0",
		"facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
		"WhatsApp/2.23.20.0", "TelegramBot (like TwitterBot)",
		"Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)",
		"LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.1.1 " +
			"Safari/605.1.15 (Applebot/0.1; +http://www.apple.com/go/applebot)",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) Version/9.0.1 " +
			"Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0",
		"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
		"Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
	} {
		for _, accept := range [][]string{nil, {"*/*"}, {"text/*"}, {"text/html"}} {
			got := h.get(lot, accepting(program, accept...)).page(t, 200)
			got.has(
				t, `<meta name="description" content="Gold &amp; &lt;steel&gt;, serviced in 2024."`,
				`<meta property="og:title" content="Vintage watch · Lot `,
			)
		}
		if got := h.get(lot, accepting(program, "application/json")); got.kind() != asJSON {
			t.Errorf("%s asks for JSON and gets a %s", program, got.kind())
		}
		h.get("/auctions/999999999", accepting(program, "*/*")).page(t, 404)
		if got := h.get("/auctions", accepting(program, "*/*")); got.kind() != asJSON {
			t.Errorf("the list comes as %s", got.kind())
		}
	}
	for _, path := range []string{lot, "/auctions/999999999"} {
		for _, accept := range []string{"*/*", "text/html"} {
			if vary := h.get(
				path, accepting("curl/8.5.0", accept),
			).Header().Get("Vary"); !strings.Contains(vary, "User-Agent") || !strings.Contains(vary, "Accept") {
				t.Errorf("%s for %s varies by %q", path, accept, vary)
			}
		}
	}
	// Who bids is asked nothing about names.
	if got := h.post(
		lot+"/bids", h.buyer, `{"amount":"1010.00"}`, key(uuid.NewString()), accepting("Slackbot", "*/*"),
	); got.Code != 201 {
		t.Errorf("a bid: %d", got.Code)
	}
}

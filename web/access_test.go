package web_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"martelo/app/auction"
	"martelo/app/auctioneer"
	"martelo/web"
)

func TestWhoMayDoWhat(t *testing.T) {
	t.Parallel()
	h := open(t)
	path := func(id int64) string { return "/auctions/" + strconv.FormatInt(id, 10) }
	nobody := who{}
	draft := map[string]any{"title": "A", "startPrice": 1, "minIncrement": 1, "endTime": "2030-01-01T00:00:00Z"}
	id, own := h.lot(), h.lot()
	everybody := []who{nobody, h.buyer, h.seller, h.admin, h.service}
	for _, c := range []struct {
		name string
		do   func(who) answer
		want [5]int // nobody, a user, the seller, an admin, a service
	}{
		{"read one", func(w who) answer { return h.get(path(id)) }, [5]int{200, 200, 200, 200, 200}},
		{"create", func(w who) answer { return h.post("/auctions", w, draft) }, [5]int{401, 403, 201, 201, 403}},
		{"bid", func(w who) answer { return h.bid(id, w, 100000+100*w.id) }, [5]int{401, 201, 403, 201, 201}},
		{"bid for another", func(w who) answer {
			return h.post(
				bidsOf(id), w, map[string]any{"amount": 900000000 + w.id, "bidderId": h.other.id},
				key(uuid.NewString()),
			)
		}, [5]int{401, 403, 403, 403, 201}},
		{"bid for the seller", func(w who) answer {
			return h.post(
				bidsOf(id), w, map[string]any{"amount": 2000000000, "bidderId": h.seller.id}, key(uuid.NewString()),
			)
		}, [5]int{401, 403, 403, 403, 403}},
		{
			"add a user", func(w who) answer { return h.post("/users", w, `{"name":"A"}`) },
			[5]int{401, 403, 403, 403, 201},
		},
		{
			"cancel with bids", func(w who) answer { return h.post(path(id)+"/cancel", w, "") },
			[5]int{401, 403, 409, 200, 403},
		},
		{
			"cancel without bids", func(w who) answer { return h.post(path(own)+"/cancel", w, "") },
			[5]int{401, 403, 200, 409, 403},
		},
	} {
		for i, w := range everybody {
			if got := c.do(w); got.Code != c.want[i] {
				t.Errorf(
					"%s: the %s was answered %d, want %d: %s", c.name,
					[...]string{"nobody", "user", "seller", "admin", "service"}[i], got.Code, c.want[i], got.Body,
				)
			}
		}
	}
	if owner := h.post(
		bidsOf(h.lot()), h.buyer, map[string]any{"amount": 5000, "bidderId": h.buyer.id}, key(uuid.NewString()),
	); owner.Code != 201 {
		t.Errorf("a bidder may name itself: %s", owner.Body)
	}
}

func TestUnauthenticatedIsChallenged(t *testing.T) {
	t.Parallel()
	h := open(t)
	if got := h.bid(1, who{}, 1).Header().Get("WWW-Authenticate"); got != `Bearer realm="martelo"` {
		t.Errorf("challenge is %q", got)
	}
	if got := h.bid(
		1, who{token: "mrt_no"}, 1,
	).Header().Get("WWW-Authenticate"); !strings.Contains(got, "invalid_token") {
		t.Errorf("challenge is %q", got)
	}
}

func TestARevokedTokenIsRefusedHereAtOnce(t *testing.T) {
	t.Parallel()
	h := open(t)
	id := h.lot()
	h.bid(id, h.buyer, 2000).status(t, 201)
	tokens, err := h.people.Tokens(t.Context(), h.buyer.id)
	if err != nil || len(tokens) != 1 {
		t.Fatal(tokens, err)
	}
	if err := h.people.RevokeToken(t.Context(), h.other.id, tokens[0].ID); err == nil {
		t.Error("somebody revoked another's token")
	}
	if err := h.people.RevokeToken(t.Context(), h.buyer.id, tokens[0].ID); err != nil {
		t.Fatal(err)
	}
	h.bid(id, h.buyer, 3000).problem(t, 401, "unauthenticated")
}

func TestEveryAnswerIsGuarded(t *testing.T) {
	t.Parallel()
	public, _ := url.Parse("https://house.example")
	h := open(t, func(d *web.Deps) { d.PublicURL = public })
	for _, path := range []string{"/auctions", "/nothing", "/healthz", "/auctions/x"} {
		header := h.get(path).Header()
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "X-Frame-Options": "DENY",
			"Cache-Control":             "no-store",
			"Strict-Transport-Security": "max-age=31536000",
		} {
			if got := header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
		policy := header.Get("Content-Security-Policy")
		for _, part := range []string{
			"default-src 'none'", "frame-ancestors 'none'", "script-src 'self'", "base-uri 'none'",
		} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: policy %q has no %s", path, policy, part)
			}
		}
		if strings.Contains(policy, "unsafe") ||
			!strings.Contains(strings.Join(header.Values("Vary"), ","), "Accept") || header.Get("X-Request-Id") == "" {
			t.Errorf("%s: %v", path, header)
		}
	}
	if open(t).get("/healthz").Header().Get("Strict-Transport-Security") != "" {
		t.Error("a house without https must not ask browsers for it")
	}
}

func TestWhatIsOursToKnowStaysOurs(t *testing.T) {
	t.Parallel()
	h := open(t, func(o *auctioneer.Options) {
		o.Announce = func(auction.Update) { panic("secret panic") }
	})
	panics, fails := h.lot(), h.lot()
	h.exec(fmt.Sprintf(`CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN RAISE EXCEPTION 'secret fault'; END $$;
		CREATE TRIGGER fail BEFORE UPDATE ON auctions FOR EACH ROW WHEN (OLD.id = %d) EXECUTE FUNCTION fail()`, fails))
	for _, id := range []string{strconv.FormatInt(panics, 10), strconv.FormatInt(fails, 10)} {
		got := h.post("/auctions/"+id+"/cancel", h.admin, "", header("X-Request-Id", "mine-"+id))
		got.problem(t, 500, "internal_error")
		if strings.Contains(got.Body.String(), "secret") {
			t.Errorf("the fault is shown: %s", got.Body)
		}
		lines := 0
		for line := range strings.Lines(h.log.String()) {
			if strings.Contains(line, "mine-"+id) {
				lines++
				if !strings.Contains(line, "secret") || !strings.Contains(line, `"level":"ERROR"`) {
					t.Errorf("the fault is not in the log: %s", line)
				}
			}
		}
		if lines != 1 {
			t.Errorf("request %s has %d lines in the log, want 1", id, lines)
		}
	}
}

func TestOneRichLineARequest(t *testing.T) {
	t.Parallel()
	h := open(t)
	id := h.lot()
	h.log.Reset()
	h.bid(id, h.buyer, 1)
	var line map[string]any
	if err := json.NewDecoder(bytes.NewReader(h.log.Bytes())).Decode(&line); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"method": "POST", "route": "/auctions/:id/bids", "status": 409.0, "code": "bid_too_low",
		"user": float64(h.buyer.id), "auction": float64(id), "address": "192.0.2.1",
	} {
		if line[name] != want {
			t.Errorf("%s is %v, want %v", name, line[name], want)
		}
	}
	if line["request"] == "" || line["took"] == nil || line["bytes"] == nil ||
		strings.Count(h.log.String(), "\n") != 1 {
		t.Errorf("log is %s", h.log)
	}
	for _, forged := range []string{"a b", "a\"b", strings.Repeat("x", 65), "é", ""} {
		if got := h.get("/healthz", header("X-Request-Id", forged)).Header().Get("X-Request-Id"); got == forged {
			t.Errorf("request id %q was taken over", forged)
		}
	}
}

func TestANodeThatLeavesIsNotReady(t *testing.T) {
	t.Parallel()
	h := open(t)
	if ready := h.get("/readyz"); ready.Code != 200 || ready.json(t)["status"] != "ready" {
		t.Errorf("%d %s", ready.Code, ready.Body)
	}
	h.handler.Leave()
	if ready := h.get("/readyz"); ready.Code != 503 || ready.json(t)["status"] != "leaving" {
		t.Errorf("%d %s", ready.Code, ready.Body)
	}
	h.get("/healthz").status(t, 200)
}

func TestProxiesAreBelievedOnlyWhenTrusted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		trusted []netip.Prefix
		want    string
	}{
		{nil, "192.0.2.1"},
		{[]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, "192.0.2.1"},
		{[]netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}, "203.0.113.9"},
	} {
		h := open(t, func(d *web.Deps) { d.TrustedProxies = c.trusted })
		h.log.Reset()
		h.get("/auctions", header("X-Forwarded-For", "198.51.100.7, 203.0.113.9"))
		if !strings.Contains(h.log.String(), `"address":"`+c.want+`"`) {
			t.Errorf("trusting %v: want %s in %s", c.trusted, c.want, h.log)
		}
	}
}

func TestMetricsCountOutcomes(t *testing.T) {
	t.Parallel()
	h := open(t)
	id := h.lot()
	h.bid(id, h.buyer, 2000).status(t, 201)
	h.bid(id, h.other, 2000).status(t, 409)
	h.send("BREW", "/auctions/1", nil)
	text := h.get("/metrics", from("127.0.0.1:1")).Body.String()
	for _, want := range []string{
		`martelo_bids_total{outcome="accepted"} 1`, `martelo_bids_total{outcome="bid_too_low"} 1`,
		`martelo_http_request_seconds_count{method="POST",route="/auctions/:id/bids",status="201"} 1`, `method="OTHER"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

// from has a request come from an address.
func from(address string) ask { return func(r *http.Request) { r.RemoteAddr = address } }

// The figures are for the house's own machines, also behind a proxy on one of them, and for whoever
// has the token.
func TestWhoReadsTheFigures(t *testing.T) {
	t.Parallel()
	const token = "a token for the figures"
	h := open(t, func(d *web.Deps) { d.MetricsToken = token })
	bearer := header("Authorization", "Bearer "+token)
	for name, c := range map[string]struct {
		asks   []ask
		status int
	}{
		"this machine":      {[]ask{from("127.0.0.1:1")}, 200},
		"this machine, IP6": {[]ask{from("[::1]:1")}, 200},
		"private network":   {[]ask{from("10.1.2.3:1")}, 200},
		"anybody":           {[]ask{from("192.0.2.1:1")}, 403},
		"anybody, IP6":      {[]ask{from("[2001:db8::1]:1")}, 403},
		"through a proxy":   {[]ask{from("127.0.0.1:1"), header("X-Forwarded-For", "192.0.2.1")}, 403},
		"another proxy":     {[]ask{from("10.1.2.3:1"), header("Forwarded", "for=10.0.0.1")}, 403},
		"with the token":    {[]ask{from("192.0.2.1:1"), bearer}, 200},
		"wrong token":       {[]ask{from("192.0.2.1:1"), header("Authorization", "Bearer x")}, 403},
		"empty token":       {[]ask{from("192.0.2.1:1"), header("Authorization", "Bearer ")}, 403},
	} {
		if got := h.get("/metrics", c.asks...); got.Code != c.status {
			t.Errorf("%s: answered %d, not %d", name, got.Code, c.status)
		}
	}
}

// A house that was not told its address takes what its own pages send, under whatever host they
// were asked for, and nothing else.
func TestWithoutAPublicAddressTheHostCounts(t *testing.T) {
	t.Parallel()
	h := open(t)
	for origin, want := range map[string]int{
		"http://example.com": 401, "http://house.test": 401, "http://localhost:8080": 403, "http://elsewhere.test": 403,
		"null": 403,
	} {
		host := strings.TrimPrefix(origin, "http://")
		if want == 403 {
			host = "house.test"
		}
		got := h.post("/auctions", who{}, "{}", header("Origin", origin), func(r *http.Request) { r.Host = host })
		if got.Code != want {
			t.Errorf("from %s: answered %d, not %d", origin, got.Code, want)
		}
	}
}

package web_test

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"martelo/app/account"
	"martelo/app/auctioneer"
	"martelo/app/hot"
	"martelo/db/dbtest"
	"martelo/templates/pages"
	"martelo/web"
)

// browser is somebody at a browser: it asks for pages and keeps its cookies.
type browser struct {
	*house
	cookies map[string]*http.Cookie
	mu      *sync.Mutex // a browser asks for several things at once
}

func (h *house) browser() *browser {
	return &browser{house: h, cookies: map[string]*http.Cookie{}, mu: &sync.Mutex{}}
}

func (b *browser) asks(more []ask) []ask {
	own := []ask{header("Accept", "text/html,application/xhtml+xml,*/*;q=0.8"), func(r *http.Request) {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, cookie := range b.cookies {
			r.AddCookie(cookie)
		}
	}}
	return append(own, more...)
}

func (b *browser) keep(a answer) answer {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, cookie := range a.Result().Cookies() {
		if cookie.MaxAge < 0 {
			delete(b.cookies, cookie.Name)
		} else {
			b.cookies[cookie.Name] = cookie
		}
	}
	return a
}

func (b *browser) get(target string, more ...ask) answer {
	b.Helper()
	return b.keep(b.house.get(target, b.asks(more)...))
}

func (b *browser) submit(target string, fields map[string]string, more ...ask) answer {
	b.Helper()
	form := url.Values{}
	for name, value := range fields {
		form.Set(name, value)
	}
	more = append(
		more, header("Content-Type", "application/x-www-form-urlencoded"), header("Sec-Fetch-Site", "same-origin"),
	)
	return b.keep(b.send(http.MethodPost, target, strings.NewReader(form.Encode()), b.asks(more)...))
}

// follow goes where an answer leads, as browsers do.
func (b *browser) follow(a answer) answer {
	b.Helper()
	a.status(b, http.StatusSeeOther)
	return b.get(a.Header().Get("Location"))
}

// script is what htmx adds to a request.
var script = header("HX-Request", "true")

// signedUp is a browser somebody has just signed up in, and the person's id.
func (h *house) signedUp(email string) (*browser, int64) {
	h.Helper()
	b := h.browser()
	answer := b.submit(
		"/signup", map[string]string{"name": "Somebody Secret", "email": email, "password": "a good long password"},
	)
	answer.status(h, http.StatusSeeOther)
	person, err := h.people.ByEmail(h.Context(), email)
	if err != nil {
		h.Fatal(err)
	}
	return b, person.ID
}

// toSignIn checks that a page leads to signing in, and back.
func (b *browser) toSignIn(path string) {
	b.Helper()
	answer := b.get(path)
	answer.status(b, http.StatusSeeOther)
	if to := answer.Header().Get("Location"); to != "/signin?next="+url.QueryEscape(path) {
		b.Errorf("%s leads to %q", path, to)
	}
}

func (a answer) has(t testing.TB, texts ...string) answer {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(a.Body.String(), text) {
			t.Errorf("no %q in the answer:\n%s", text, a.Body)
		}
	}
	return a
}

func (a answer) lacks(t testing.TB, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(a.Body.String(), text) {
			t.Errorf("%q is in the answer:\n%s", text, a.Body)
		}
	}
}

// page checks that the answer is a page of a status.
func (a answer) page(t testing.TB, status int) answer {
	t.Helper()
	a.status(t, status)
	if media := a.Header().Get("Content-Type"); media != "text/html; charset=utf-8" {
		t.Fatalf("content type is %q", media)
	}
	return a
}

func TestSigningUpInAndOut(t *testing.T) {
	t.Parallel()
	h := open(t)
	b, id := h.signedUp("Ana@Example.com ")
	first := b.cookies["martelo_session"]
	if first == nil || !first.HttpOnly || first.SameSite != http.SameSiteLaxMode || first.Secure || first.Path != "/" {
		t.Fatalf("cookie is %+v", first)
	}
	var stored string
	if err := h.pool.QueryRow(t.Context(), "SELECT token FROM sessions").Scan(&stored); err != nil ||
		stored == first.Value {
		t.Errorf("the session is stored as %q (%v); it must be hashed", stored, err)
	}
	b.get("/me").page(t, 200).has(t, "Welcome to the house", "ana@example.com", "Somebody Secret")
	b.get("/me").lacks(t, "Welcome to the house")
	b.submit("/signout", nil).status(t, http.StatusSeeOther)
	b.get("/").page(t, 200).has(t, "You are signed out.")
	if b.cookies[first.Name] != nil {
		t.Error("the message left a session behind")
	}
	b.get("/").page(t, 200).lacks(t, "You are signed out.")
	b.toSignIn("/me")
	stolen := h.browser()
	stolen.cookies[first.Name] = first
	stolen.toSignIn("/me")

	b.submit(
		"/signin",
		map[string]string{"email": "ANA@example.com", "password": "a good long password", "next": "/me/bids?cursor="},
	).status(t, 303)
	again := b.cookies["martelo_session"]
	if again == nil || again.Value == first.Value {
		t.Error("signing in must begin a session of another name")
	}
	b.get("/me").page(t, 200)
	// A second sign-in in the same browser renews the name once more.
	b.submit(
		"/signin", map[string]string{"email": "ana@example.com", "password": "a good long password"},
	).status(t, 303)
	if b.cookies["martelo_session"].Value == again.Value {
		t.Error("the session kept its name over a sign-in")
	}
	if person, err := h.people.Person(t.Context(), id); err != nil || person.Role != account.RoleUser {
		t.Errorf("%+v %v", person, err)
	}
}

func TestSignInDoesNotTellWhoHasAnAccount(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.signedUp("ana@example.com")
	for _, email := range []string{
		"ana@example.com", "nobody@example.com", "\x00", "<b>@x", strings.Repeat("a", 5000) + "@x.org",
	} {
		answer := h.browser().submit("/signin", map[string]string{"email": email, "password": "wrong password"})
		answer.page(t, 401).has(t, "The e-mail or password is wrong.")
		answer.lacks(t, "<b>@x")
	}
	h.browser().submit(
		"/signup", map[string]string{"name": "B", "email": "ANA@example.com", "password": "a good long password"},
	).page(t, 422).has(t, "already")
	for field, form := range map[string]map[string]string{
		"password": {"name": "B", "email": "b@example.com", "password": "short"},
		"email":    {"name": "B", "email": "b at example", "password": "a good long password"},
		"name":     {"name": "", "email": "b@example.com", "password": "a good long password"},
	} {
		h.browser().submit("/signup", form).page(t, 422).has(t, "field-"+field+"-problem")
	}
	for range 20 {
		h.browser().submit("/signin", map[string]string{"email": "ana@example.com", "password": "wrong password"})
	}
	h.holdBack()
	limited := h.browser().submit(
		"/signin", map[string]string{"email": "ana@example.com", "password": "a good long password"},
	)
	limited.page(t, 429).has(t, "Too many tries", "in 15 minutes")
	if limited.Header().Get("Retry-After") == "" {
		t.Error("429 without Retry-After")
	}
}

func TestPasswordLengthIsOneNumber(t *testing.T) {
	if pages.PasswordLengthMin != account.PasswordLengthMin {
		t.Errorf(
			"the page asks for %d characters, the house for %d", pages.PasswordLengthMin, account.PasswordLengthMin,
		)
	}
}

func TestLookingLeavesNoTrace(t *testing.T) {
	t.Parallel()
	h := open(t)
	id := h.lot()
	before := h.state()
	for _, path := range []string{
		"/", "/auctions", auctionPath(id), bidsOf(id), "/signin", "/signup", "/nothing", "/me",
	} {
		if answer := h.browser().get(path); len(answer.Result().Cookies()) > 0 {
			t.Errorf("%s sets a cookie", path)
		}
	}
	stale := h.browser()
	stale.cookies["martelo_session"] = &http.Cookie{Name: "martelo_session", Value: "made-up"}
	stale.get("/").page(t, 200)
	if h.state() != before {
		t.Error("looking changed something")
	}
}

func auctionPath(id int64) string { return "/auctions/" + strconv.FormatInt(id, 10) }

func TestForwardingStaysInTheHouse(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.signedUp("ana@example.com")
	for next, want := range map[string]string{
		"": "/", "/me": "/me", "/auctions?q=a&sort=price": "/auctions?q=a&sort=price", "https://evil.test/": "/",
		"//evil.test": "/", `/\evil.test`: "/", `\\evil.test`: "/",
		"javascript:alert(1)": "/", "/\tevil": "/", "/a\r\nSet-Cookie: x=y": "/", "evil.test": "/",
		"http:/evil.test": "/", "/%0d%0a": "/%0d%0a", "////evil.test": "/",
	} {
		answer := h.browser().submit(
			"/signin", map[string]string{"email": "ana@example.com", "password": "a good long password", "next": next},
		)
		answer.status(t, 303)
		if got := answer.Header().Get("Location"); got != want {
			t.Errorf("next %q leads to %q, want %q", next, got, want)
		}
	}
}

func TestOneAddressThreeRepresentations(t *testing.T) {
	t.Parallel()
	h := open(t)
	id := h.lot()
	for _, path := range []string{"/auctions", auctionPath(id), bidsOf(id)} {
		page, part, data := h.browser().get(path), h.browser().get(path, script), h.get(path)
		page.page(t, 200).has(t, "<!doctype html>", "</html>")
		part.page(t, 200).lacks(t, "<html")
		data.status(t, 200)
		data.json(t)
		for _, a := range []answer{page, part} {
			for _, name := range []string{"Accept", "Accept-Language", "Cookie", "HX-Request"} {
				if !strings.Contains(a.Header().Get("Vary"), name) {
					t.Errorf("%s: Vary is %q", path, a.Header().Get("Vary"))
				}
			}
		}
	}
	for accept, html := range map[string]bool{
		"": false, "*/*": false, "application/json": false, "text/html": true, "TEXT/HTML;q=0.1": true,
		"application/json, text/html": true, "text/*": false, "text/htm": false,
	} {
		answer := h.get("/auctions", header("Accept", accept))
		if got := strings.HasPrefix(answer.Header().Get("Content-Type"), "text/html"); got != html {
			t.Errorf("Accept %q: HTML is %v", accept, got)
		}
	}
	h.browser().get("/nothing").page(t, 404)
	h.browser().get(auctionPath(1)).page(t, 404)
	h.browser().get("/auctions/x").page(t, 404)
	h.browser().get("/auctions?sort=x").page(t, 422).has(t, "The sort is")
	h.get("/signin", header("Accept", "application/json")).problem(t, 404, "not_found")
}

var keyField = regexp.MustCompile(`name="key" value="([0-9a-f-]{36})"`)

func keyIn(t testing.TB, a answer) string {
	t.Helper()
	found := keyField.FindStringSubmatch(a.Body.String())
	if found == nil {
		t.Fatalf("no form with a key in:\n%s", a.Body)
	}
	return found[1]
}

func TestABidFromThePage(t *testing.T) {
	t.Parallel()
	h := open(t)
	id := h.lot()
	b, me := h.signedUp("ana@example.com")
	first := keyIn(t, b.get(auctionPath(id)))
	good := map[string]string{"key": first, "amount": " 1010 "}
	accepted := b.submit(bidsOf(id), good, script)
	accepted.page(t, 200).has(t, "you are the highest bidder", "bid-answer-")
	accepted.lacks(t, "<html", "Somebody Secret")
	second := keyIn(t, accepted)
	if second == first {
		t.Error("the answer must bring a fresh key")
	}
	b.submit(bidsOf(id), good, script).page(t, 200).has(t, "counted once")
	b.submit(
		bidsOf(id), map[string]string{"key": first, "amount": "5000"}, script,
	).page(t, 422).has(t, "used for another bid")
	low := b.submit(bidsOf(id), map[string]string{"key": second, "amount": "1015"}, script)
	low.page(t, 409).has(t, "highest bidder already", "Nothing more was bid")
	b.submit(
		bidsOf(id), map[string]string{"key": second, "amount": "1e3"}, script,
	).page(t, 422).has(t, "for example 1,250.00", "data-wrong")
	b.submit(
		bidsOf(id), map[string]string{"key": "x", "amount": "1500"}, script,
	).page(t, 400).has(t, "could not be read")
	h.other.bidOn(h, id, "1100")
	quick := b.submit(bidsOf(id), map[string]string{"key": second, "amount": "1010", "quick": "1200.00"}, script)
	quick.page(t, 200).has(t, "you are the highest bidder")
	if got := h.get(auctionPath(id)).json(t); got["currentPrice"] != "1200.00" || got["leaderId"] != float64(me) {
		t.Errorf("auction is %v", got)
	}
	// Without script: back to the page with the news, or the page with the refusal.
	h.other.bidOn(h, id, "1250")
	plain := b.submit(bidsOf(id), map[string]string{"key": uuid.NewString(), "amount": "1.300,00"})
	plain.status(t, 303)
	if plain.Header().Get("Location") != auctionPath(id) {
		t.Errorf("led to %q", plain.Header().Get("Location"))
	}
	b.get(auctionPath(id)).page(t, 200).has(t, "you are the highest bidder", ">You<")
}

func (w who) bidOn(h *house, id int64, amount string) {
	h.Helper()
	h.bid(id, w, amount).status(h, 201)
}

func TestABidThatIsRefusedOnThePage(t *testing.T) {
	t.Parallel()
	h := open(t)
	id, gone := h.lot(), h.endedLot()
	form := func() map[string]string { return map[string]string{"key": uuid.NewString(), "amount": "1005"} }
	stranger := h.browser()
	stranger.submit(bidsOf(id), form(), script).page(t, 401).has(t, "signed out", "/signin")
	stranger.submit(bidsOf(id), form()).page(t, 401).has(t, "signed out", "<html")
	b, me := h.signedUp("ana@example.com")
	b.submit(bidsOf(id), form()).page(t, 409).has(t, "<html", "too low", `value="1005"`)
	b.submit(bidsOf(gone), form(), script).page(t, 409).has(t, "withdrawn")
	b.submit(bidsOf(1), form(), script).page(t, 404)
	b.submit("/auctions/x/bids", form()).page(t, 404)
	h.exec("UPDATE users SET role = 'seller' WHERE id = $1", me)
	own := b.submit("/auctions", map[string]string{
		"key": uuid.NewString(), "title": "Mine", "currency": "EUR", "startPrice": "1", "minIncrement": "1",
		"zone": "UTC", "endTime": "2030-01-01T00:00", "step": "publish",
	})
	own.status(t, 303)
	b.submit(own.Header().Get("Location")+"/bids", form(), script).page(t, 403).has(t, "own lot")
	evil := b.submit(bidsOf(id), form(), func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") })
	evil.page(t, 403)
	if bids := h.get(bidsOf(id)).json(t)["bids"].([]any); len(bids) != 0 {
		t.Errorf("a refused bid is in the log: %v", bids)
	}
	var last map[string]string
	limited := h.untilLimited(me, func() answer { last = form(); return b.submit(bidsOf(id), last, script) })
	limited.page(t, 429).has(t, "Nothing was bid", last["key"])
	if limited.Header().Get("Retry-After") != "1" {
		t.Errorf("Retry-After is %q", limited.Header().Get("Retry-After"))
	}
	limited = h.untilLimited(h.buyer.id, func() answer { return h.bid(id, h.buyer, 5) })
	limited.problem(t, 429, "rate_limited")
	if limited.Header().Get("Retry-After") != "1" {
		t.Errorf("Retry-After is %q", limited.Header().Get("Retry-After"))
	}
}

func TestCreatingInSteps(t *testing.T) {
	t.Parallel()
	h := open(t)
	b, me := h.signedUp("ana@example.com")
	b.get("/auctions/new").page(t, 403)
	b.submit("/me/selling", nil).status(t, 303)
	form := map[string]string{
		"key": keyIn(t, b.get("/auctions/new").page(t, 200)), "title": "Uhr <script>alert(1)</script>",
		"description": "Alt.\n\nSchön.", "currency": "EUR",
		"startPrice": "1000", "minIncrement": "10.50", "zone": "Europe/Berlin", "endTime": "2030-10-27T02:30",
		"softClose": "on", "windowMinutes": "2", "extendMinutes": "3", "step": "review",
	}
	// The clocks show 02:30 twice that night: which is meant is asked, and named afterwards.
	b.submit(
		"/auctions", form,
	).page(t, 422).has(t, "Bidding ends: Clocks in Europe/Berlin show this time twice", "The first 02:30 (UTC+02:00)",
		`value="endOffset=+02:00"`, "The second 02:30 (UTC+01:00)", `value="endOffset=+01:00"`)
	form["choice"] = "endOffset=+01:00"
	b.follow(b.submit("/auctions", form)).page(t, 200).has(
		t, "UTC+01:00", "01:30:00 UTC", `name="endOffset" value="+01:00"`,
	)
	form["choice"] = "endOffset=+02:00"
	review := b.follow(b.submit("/auctions", form))
	review.page(t, 200).has(t, "UTC+02:00", "00:30:00 UTC", "&lt;script&gt;", "Europe/Berlin", "3 minutes")
	review.lacks(t, "<script>alert")
	delete(form, "choice")
	form["endOffset"], form["step"] = "+02:00", "edit"
	b.follow(b.submit("/auctions", form)).page(t, 200).has(
		t, `value="2030-10-27T02:30"`, `value="10.50"`, "Alt.\n\nSchön.",
	)
	form["step"] = "publish"
	first, second := b.submit("/auctions", form), b.submit("/auctions", form)
	first.status(t, 303)
	path := first.Header().Get("Location")
	if second.Header().Get("Location") != path {
		t.Errorf("sending the form twice opened %q and %q", path, second.Header().Get("Location"))
	}
	opened := h.get(path).json(t)
	if opened["endTime"] != "2030-10-27T00:30:00.000000Z" || opened["sellerId"] != float64(me) ||
		opened["minIncrement"] != "10.50" {
		t.Errorf("opened %v", opened)
	}
	if soft := opened["softClose"].(map[string]any); soft["windowSeconds"] != 120.0 || soft["extendSeconds"] != 180.0 {
		t.Errorf("soft close is %v", soft)
	}
	for name, c := range map[string]struct{ field, value, problem string }{
		"skipped by the clocks": {"endTime", "2030-03-31T02:30", "never show this time"},
		"no time":               {"endTime", "", "Enter a date and time"},
		"another form":          {"endTime", "31.12.2030 20:15", "Enter a date and time"},
		"past":                  {"endTime", "2020-01-01T00:00", "future"},
		"30 February":           {"endTime", "2030-02-30T00:00", "Enter a date and time"},
		"no zone":               {"zone", "", "Choose a time zone"},
		"a made-up zone":        {"zone", "Mars/Olympus", "Choose a time zone"},
		"a path":                {"zone", "../../etc/passwd", "Choose a time zone"},
		"the server's zone":     {"zone", "Local", "Choose a time zone"},
		"exponent":              {"startPrice", "1e3", "for example 1,250.00"},
		"no title":              {"title", "", "Enter a title"},
		"no currency":           {"currency", "", "Choose a currency"},
		"half minutes":          {"windowMinutes", "1.5", "Enter whole minutes"},
		"an unknown lane":       {"lane", "fast", "lane"},
		"a lane not offered":    {"lane", "hot", "This house does not offer the hot lane"},
		"too many decimals":     {"minIncrement", "0.005", "at most 2 decimals"},
	} {
		wrong := map[string]string{}
		for field, value := range form {
			wrong[field] = value
		}
		wrong[c.field], wrong["step"], wrong["key"] = c.value, "publish", uuid.NewString()
		answer := b.submit("/auctions", wrong)
		if answer.Code != 422 || !strings.Contains(answer.Body.String(), c.problem) ||
			!strings.Contains(answer.Body.String(), "Alt.") {
			t.Errorf("%s: %d, want %q and all that was typed in\n%.2000s", name, answer.Code, c.problem, answer.Body)
		}
	}
}

// The lane is chosen where the house offers it, said back before anything is published, and kept
// through every step.
func TestChoosingTheLane(t *testing.T) {
	t.Parallel()
	for _, offered := range []bool{false, true} {
		store := dbtest.Redis(t)
		h := openOn(t, dbtest.URL(t), store, func(o *auctioneer.Options) {
			if offered {
				o.Hot = hot.New(hot.Options{
					Database: o.Database, Redis: store, House: dbtest.Identity(t, o.Database, store), Log: o.Log,
					Metrics: o.Metrics,
				})
				t.Cleanup(func() { _ = o.Hot.Close() })
			}
		})
		b, _ := h.signedUp("ana@example.com")
		b.submit("/me/selling", nil).status(t, 303)
		empty := b.get("/auctions/new").page(t, 200)
		if !offered {
			empty.lacks(t, `name="lane"`)
			continue
		}
		empty.has(t, `<option value="standard" selected>`)
		form := map[string]string{
			"key": keyIn(t, empty), "title": "Uhr", "currency": "EUR", "startPrice": "1000", "minIncrement": "10",
			"zone":    "UTC",
			"endTime": "2030-10-27T02:30", "lane": "hot", "step": "review",
		}
		b.follow(b.submit("/auctions", form)).page(t, 200).has(t, "Hot: for a lot", `name="lane" value="hot"`)
		form["step"] = "edit"
		b.follow(b.submit("/auctions", form)).page(t, 200).has(t, `<option value="hot" selected>`)
		form["step"] = "publish"
		b.submit("/auctions", form)
		delete(form, "lane")
		form["key"] = uuid.NewString()
		b.submit("/auctions", form)
		if lanes := h.texts(
			`SELECT lane FROM auctions ORDER BY id`,
		); !slices.Equal(lanes, []string{"hot", "standard"}) {
			t.Errorf("opened in the lanes %v", lanes)
		}
	}
}

func TestSelling(t *testing.T) {
	t.Parallel()
	h := open(t, func(d *web.Deps) { d.OpenSelling = false })
	b, me := h.signedUp("ana@example.com")
	b.submit("/me/selling", nil).page(t, 403)
	h.exec("UPDATE users SET role = 'seller' WHERE id = $1", me)
	published := b.submit("/auctions", map[string]string{
		"key": uuid.NewString(), "title": "Mine", "currency": "USD", "startPrice": "1", "minIncrement": "1",
		"zone": "UTC", "endTime": "2030-01-01T00:00", "step": "publish",
	})
	published.status(t, 303)
	path := published.Header().Get("Location")
	b.get(path).page(t, 200).has(t, "is published", "Withdraw this lot")
	b.get("/me/auctions").page(t, 200).has(t, "Mine")
	h.browser().get(path).lacks(t, "Withdraw this lot")
	h.browser().submit(path+"/cancel", nil).page(t, 401)
	if answer := h.post(path+"/bids", h.buyer, `{"amount":5}`, key(uuid.NewString())); answer.Code != 201 {
		t.Fatal(answer.Body)
	}
	b.submit(path+"/cancel", nil).page(t, 409).has(t, "After the first bid")
	b.get(path).lacks(t, "Withdraw this lot")
	h.post(path+"/cancel", h.admin, "").status(t, 200)
	b.submit(path+"/cancel", nil).page(t, 409)
	b.get(path).page(t, 200).has(t, "Withdrawn")
}

func TestTokensFromThePage(t *testing.T) {
	t.Parallel()
	h := open(t)
	b, me := h.signedUp("ana@example.com")
	made := b.submit("/me/tokens", map[string]string{"name": "robot <i>"})
	made.page(t, 201).has(t, "robot &lt;i&gt;")
	b.submit("/me/tokens", nil).page(t, 201).has(t, "no name")
	token := regexp.MustCompile(`mrt_[A-Za-z0-9_-]{43}`).FindString(made.Body.String())
	b.get("/me").page(t, 200).lacks(t, token)
	id := h.lot()
	if bid := h.bid(id, who{token: token}, 5000).json(t); bid["bidderId"] != float64(me) {
		t.Errorf("the token bids as %v", bid)
	}
	b.submit(
		"/me/tokens", map[string]string{"name": strings.Repeat("x", 101)},
	).page(t, 422).has(t, "at most 100 characters")
	revoke := regexp.MustCompile(`/me/tokens/\d+/revoke`).FindString(made.Body.String())
	other, _ := h.signedUp("eva@example.com")
	other.submit(revoke, nil).page(t, 404)
	b.submit(revoke, nil).status(t, 303)
	h.bid(id, who{token: token}, 9000).problem(t, 401, "unauthenticated")
}

func TestMyBids(t *testing.T) {
	t.Parallel()
	h := open(t)
	late, soon, gone := h.lot(func(d map[string]any) { d["title"] = "Late" }), h.lot(func(d map[string]any) {
		d["title"], d["endTime"] = "Soon", time.Now().Add(time.Minute).Format(time.RFC3339Nano)
	}), h.lot(func(d map[string]any) { d["title"] = "Gone" })
	b, _ := h.signedUp("ana@example.com")
	for _, id := range []int64{late, soon, gone} {
		b.submit(bidsOf(id), map[string]string{"key": uuid.NewString(), "amount": "2000"}).status(t, 303)
	}
	h.other.bidOn(h, late, "3000")
	h.post(auctionPath(gone)+"/cancel", h.admin, "").status(t, 200)
	mine := b.get("/me/bids").page(t, 200)
	mine.has(t, "outbid", "You are the highest bidder", "2,000.00", "view=card")
	text := mine.Body.String()
	first, second, last := strings.Index(text, ">Soon<"), strings.Index(text, ">Late<"), strings.Index(text, ">Gone<")
	if first > second || second > last {
		t.Error("what is open comes first, soonest end first")
	}
	h.browser().toSignIn("/me/bids")
}

func TestHostileWordsAndPrivateOnesStayWhereTheyBelong(t *testing.T) {
	t.Parallel()
	h := open(t)
	const hostile = `<script>alert("x")</script>'"><img src=x onerror=alert(1)>{{7*7}}`
	h.exec("UPDATE users SET name = $2 WHERE id = $1", h.seller.id, hostile)
	id := h.lot(func(d map[string]any) { d["title"], d["description"] = hostile, hostile })
	b, me := h.signedUp("secret@example.com")
	b.submit(bidsOf(id), map[string]string{"key": uuid.NewString(), "amount": "2000"}).status(t, 303)
	h.exec("UPDATE users SET name = $2 WHERE id = $1", me, "Privy Bidder")
	stranger := h.browser()
	for _, path := range []string{
		"/", "/auctions?q=" + url.QueryEscape(hostile), "/auctions?seller=" + strconv.FormatInt(h.seller.id, 10),
		auctionPath(id), bidsOf(id),
		"/signin?next=" + url.QueryEscape("/"+hostile), "/nothing/" + url.PathEscape(hostile),
		"/auctions?status=" + url.QueryEscape(hostile),
	} {
		for _, asks := range [][]ask{nil, {script}} {
			stranger.get(path, asks...).lacks(t, "<script>alert", "<img src=x", "Privy Bidder", "secret@example.com")
		}
		h.get(path).lacks(t, "<script>", "Privy Bidder", "secret@example.com")
	}
	b.get("/me/bids").page(t, 200).lacks(t, "<script>alert", "<img src=x")
	stranger.get(auctionPath(id)).has(t, "Bidder 1", "&lt;script&gt;")
}

func TestMoneyInTheReadersWay(t *testing.T) {
	t.Parallel()
	h := open(t)
	id := h.lot(func(d map[string]any) { d["currency"] = "EUR" })
	for language, want := range map[string]string{
		"": "€1,000.00", "de-DE,de;q=0.9,en;q=0.8": "1.000,00\u00a0€", "pt-BR": "€\u00a01.000,00", "xx": "€1,000.00",
		"en-GB": "€1,000.00", strings.Repeat("de,", 500): "€1,000.00", "*;q=\x00": "€1,000.00",
	} {
		h.browser().get(auctionPath(id), header("Accept-Language", language)).page(t, 200).has(t, want)
	}
}

func TestSecureCookiesOverHTTPS(t *testing.T) {
	t.Parallel()
	public, _ := url.Parse("https://house.example")
	h := open(t, func(d *web.Deps) { d.PublicURL = public })
	b, _ := h.signedUp("ana@example.com")
	cookie := b.cookies["__Host-martelo_session"]
	if cookie == nil || !cookie.Secure || cookie.Domain != "" || cookie.Path != "/" {
		t.Errorf("cookies are %+v", b.cookies)
	}
	// The browser's own origin is trusted although the proxy asks under another host.
	b.submit("/signout", nil, func(r *http.Request) { r.Header.Set("Origin", "https://house.example") }).status(t, 303)
}

package web_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"martelo/app/account"
	"martelo/db/dbtest"
	"martelo/web"
)

const goodPassword = "a good long password"

// digits differ from page to page: keys, times and request ids.
var digits = regexp.MustCompile(`[0-9][0-9a-fA-F:.TZ-]*|Reference: \S+|<code>[^<]*</code>`)

// from says which address a request comes from.
func sentFrom(address string) ask { return func(r *http.Request) { r.RemoteAddr = address } }

func (b *browser) signIn(email, password string, more ...ask) answer {
	b.Helper()
	return b.submit("/signin", map[string]string{"email": email, "password": password}, more...)
}

// Ids of bidders stand in JSON, in streams and in the log. None of them leads to a name, or tells
// who has an account.
func TestAPaddleLeadsToNoName(t *testing.T) {
	t.Parallel()
	h := open(t)
	_, buyer := h.signedUp("buyer@example.com")
	seller, selling := h.signedUp("seller@example.com")
	seller.submit("/me/selling", map[string]string{"seller-name": "Alma Watches"}).status(t, 303)
	h.exec("UPDATE users SET name = 'Somebody Secret'")
	const nobody = 999_999_999
	pages := map[int64][2]string{}
	for _, id := range []int64{nobody, buyer, selling, h.seller.id, h.admin.id, h.service.id} {
		path := "/auctions?status=ALL&seller=" + strconv.FormatInt(id, 10)
		page, part := h.browser().get(path), h.browser().get(path, script)
		page.page(t, 404).lacks(t, "Secret", "Alma")
		part.page(t, 404).lacks(t, "Secret", "Alma")
		strip := strings.NewReplacer("seller="+strconv.FormatInt(id, 10), "", "seller%3D"+strconv.FormatInt(id, 10), "")
		pages[id] = [2]string{
			digits.ReplaceAllString(strip.Replace(page.Body.String()), ""),
			digits.ReplaceAllString(part.Body.String(), ""),
		}
		if pages[id] != pages[nobody] {
			t.Errorf("%d is told apart from nobody:\n%s\n%s", id, pages[id][0], pages[nobody][0])
		}
		if list := h.get(path); list.Code != 200 ||
			strings.TrimSpace(list.Body.String()) != `{"auctions":[],"nextCursor":null}` {
			t.Errorf("JSON for %d is %d %s", id, list.Code, list.Body)
		}
	}
	// Who has listed is shown, by the name chosen for it and the number; the person's name nowhere.
	h.seller.id = selling
	token, err := h.people.MakeToken(t.Context(), selling, "", false)
	if err != nil {
		t.Fatal(err)
	}
	h.seller.token = token
	id := h.lot()
	number := "Seller " + strconv.FormatInt(selling, 10)
	for _, path := range []string{"/", auctionPath(id), "/auctions?seller=" + strconv.FormatInt(selling, 10)} {
		h.browser().get(path).page(t, 200).has(t, "Alma Watches", number).lacks(t, "Secret")
	}
	h.browser().get(auctionPath(id)).has(t, "selling since "+time.Now().UTC().Format("Jan 2006"))
}

// Two sellers of one name, however it is written, differ by their numbers; one word of two
// alphabets is no name.
func TestSellersOfOneName(t *testing.T) {
	t.Parallel()
	h := open(t)
	for i, name := range []string{"Alma Watches", "Alma Watches", ""} {
		b, id := h.signedUp(fmt.Sprintf("seller%d@example.com", i))
		b.submit("/me/selling", map[string]string{"seller-name": name}).status(t, 303)
		h.exec("UPDATE users SET name = 'Somebody Secret' WHERE id = $1", id)
		token, err := h.people.MakeToken(t.Context(), id, "", false)
		if err != nil {
			t.Fatal(err)
		}
		h.seller = who{id: id, token: token}
		h.browser().get(auctionPath(h.lot())).page(t, 200).has(
			t, "Seller "+strconv.FormatInt(id, 10),
		).lacks(t, "Secret")
	}
	b, id := h.signedUp("forger@example.com")
	for name, want := range map[string]string{
		"\u0410lma Watches": "one alphabet", "Alm\u03b1": "one alphabet", "Seller 7": "seller&#39;s number",
		"seller\u2007#7":         "seller&#39;s number",
		strings.Repeat("x", 101): "at most 100", "Al\u202ema": "hidden character",
	} {
		b.submit(
			"/me/selling", map[string]string{"seller-name": name},
		).page(t, 422).has(t, want, "field-seller-name-problem")
	}
	if person, err := h.people.Person(t.Context(), id); err != nil || person.MaySell() {
		t.Errorf("%+v %v", person, err)
	}
	b.submit("/me/selling", map[string]string{"seller-name": "A\u200blma\u00ad  Watches\u2800"}).status(t, 303)
	if person, err := h.people.Person(t.Context(), id); err != nil || person.SellerName != "Alma Watches" {
		t.Errorf("%q %v", person.SellerName, err)
	}
	// A seller may take another name; a request without the field changes none.
	b.submit("/me/selling", map[string]string{"seller-name": "Часы Алма"}).status(t, 303)
	b.submit("/me/selling", nil).status(t, 303)
	b.get("/me").page(t, 200).has(t, "Часы Алма")
}

// However a stranger hammers an account, its owner gets in with the right password.
func TestNobodyIsLockedOutByAStranger(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	h := open(t)
	owner, _ := h.signedUp("ana@example.com")
	if device := owner.cookies["martelo_device"]; device == nil || !device.HttpOnly || device.MaxAge < 1<<20 ||
		device.SameSite != http.SameSiteLaxMode {
		t.Fatalf("the browser is not known: %+v", device)
	}
	var stored int
	if err := h.pool.QueryRow(
		t.Context(), "SELECT count(*) FROM devices d WHERE d::text LIKE '%' || $1 || '%'",
		owner.cookies["martelo_device"].Value,
	).Scan(&stored); err != nil || stored != 0 {
		t.Errorf("the browser's secret is stored as it is: %d %v", stored, err)
	}
	hammer := func(address string) {
		t.Helper()
		limited := 0
		for i := range 20 {
			if h.browser().signIn("ana@example.com", "guess number "+strconv.Itoa(i), sentFrom(address)).Code == 429 {
				limited++
			}
			h.browser().submit(
				"/signup", map[string]string{"name": "X", "email": "ana@example.com", "password": "short"},
				sentFrom("198.51.100.200:1"),
			)
		}
		if limited < 5 {
			t.Errorf("a stranger guesses on: only %d of 20 held back", limited)
		}
	}
	for i := range 12 {
		hammer(fmt.Sprintf("203.0.113.%d:999", i))
	}
	h.browser().signIn("ana@example.com", goodPassword, sentFrom("192.0.2.50:1")).status(t, 303)
	// From the stranger's own address too, in a browser that the owner has used.
	hammer("192.0.2.9:999")
	h.holdBack()
	h.browser().signIn(
		"ana@example.com", goodPassword, sentFrom("192.0.2.9:1"),
	).page(t, 429).has(t, "Too many tries", "You can try again in")
	owner.submit("/signout", nil, sentFrom("192.0.2.9:1")).status(t, 303)
	owner.signIn("ana@example.com", goodPassword, sentFrom("192.0.2.9:1")).status(t, 303)
	// A browser known to somebody else is not known to her.
	other, _ := h.signedUp("eva@example.com")
	other.signIn("ana@example.com", goodPassword, sentFrom("192.0.2.9:1")).status(t, 429)
	// A guess from her own browser is limited as well.
	held := 0
	for range 20 {
		if owner.signIn("ana@example.com", "another guess", sentFrom("192.0.2.9:1")).Code == 429 {
			held++
		}
	}
	if held == 0 {
		t.Error("a known browser guesses for ever")
	}
}

// Other spellings of an e-mail address or of an address are no way around a limit, and make no
// second account.
func TestNoSpellingPassesALimit(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.signedUp("vivi@example.com")
	h.browser().signIn("vivi@example.com", "wrong password").status(t, 401)
	h.holdBack()
	for _, email := range []string{
		"vİvi@example.com", "vI\u0307vi@example.com", "ｖivi@example.com", " VIVI@EXAMPLE.COM ", "vivi＠example.com",
		"vivi@examPle.com\u00a0",
	} {
		h.browser().signIn(email, goodPassword).status(t, 429)
		h.browser().submit(
			"/signup", map[string]string{"name": "B", "email": email, "password": goodPassword},
		).page(t, 422).has(t, "already")
	}
	for _, address := range []string{"[::ffff:192.0.2.1]:7", "[::ffff:c000:201]:8"} {
		h.browser().signIn("vivi@example.com", goodPassword, sentFrom(address)).status(t, 429)
	}
	for _, email := range []string{
		"vıvi@example.com", "vivi\u200b@example.com", "v\u00advivi@example.com", "viv\u0456@example.com",
		"vivi@example.com\ufeff", "viv\u0456@ex\u0430mple.com",
	} {
		h.browser().submit(
			"/signup", map[string]string{"name": "B", "email": email, "password": goodPassword},
			sentFrom("192.0.2.3:1"),
		).
			page(t, 422).has(t, "field-email-problem")
	}
}

func TestNamesAndPasswordsThatAreNone(t *testing.T) {
	t.Parallel()
	h := open(t)
	signUp := func(name, password string) answer {
		return h.browser().submit(
			"/signup", map[string]string{"name": name, "email": "New.Person@example.com", "password": password},
		)
	}
	for _, name := range []string{
		"\u200b", "\ufeff", "\u00ad", "\u3164", "\u2800", "\U000e0041", "\u115f", "\u034f", "\ufe0f", "\u200d",
		"\u0301", "\u00a0 \u3000", "\u2066\u2069",
	} {
		signUp(name, goodPassword).page(t, 422).has(t, "field-name-problem")
	}
	for _, password := range []string{
		"password", "PASSWORD", "12345678", "Password1", "password123", "qwertyuiop", "iloveyou", "        ",
		"\u200b\u200b\u200b\u200b\u200b\u200b\u200b\u200b", "aaaaaaaa", "12341234",
		"87654321", "abcdefgh", "new.person@example.com", "NEW.PERSON", "Fine Name", "martelo-demo",
		"\u3164\u3164\u3164\u3164\u3164\u3164\u3164\u3164", "ｐａｓｓｗｏｒｄ", "",
	} {
		signUp("Fine Name", password).page(t, 422).has(t, "field-password-problem")
	}
	signUp("Zoë\u200b \u00ad O’Brien", "correct horse").status(t, 303)
	if person, err := h.people.ByEmail(t.Context(), "new.person@example.com"); err != nil ||
		person.Name != "Zoë O’Brien" {
		t.Errorf("%+v %v", person, err)
	}
}

// A token that leaked must not make another, nor a seller, nor a password.
func TestATokenChangesNoAccount(t *testing.T) {
	t.Parallel()
	h := open(t)
	before := h.state()
	for _, path := range []string{
		"/me/tokens", "/me/tokens/1/revoke", "/me/selling", "/me/password", "/me/sessions/end",
	} {
		for _, accept := range []string{"application/json", "text/html"} {
			answer := h.send("POST", path, strings.NewReader("name=x&old-password=x&new-password=y"),
				header("Authorization", "Bearer "+h.buyer.token),
				header("Content-Type", "application/x-www-form-urlencoded"), header("Accept", accept))
			answer.status(t, 403)
			if accept == "application/json" {
				if p := answer.problem(t, 403, "forbidden"); !strings.Contains(p["detail"].(string), "Sign in") {
					t.Errorf("%s: %v", path, p)
				}
			}
		}
	}
	if h.state() != before {
		t.Error("something changed")
	}
}

func TestChangingThePassword(t *testing.T) {
	t.Parallel()
	h := open(t)
	b, _ := h.signedUp("ana@example.com")
	elsewhere := h.browser()
	elsewhere.signIn("ana@example.com", goodPassword).status(t, 303)
	elsewhere.get("/me").page(t, 200)
	change := func(old, new string) answer {
		return b.submit("/me/password", map[string]string{"old-password": old, "new-password": new})
	}
	change("no", "an even better one").page(t, 401).has(t, "field-old-password-problem")
	change(goodPassword, "password").page(t, 422).has(t, "field-new-password-problem")
	change(goodPassword, "ana@example.com").page(t, 422).has(t, "field-new-password-problem")
	change(goodPassword, "an even better one").status(t, 303)
	b.get("/me").page(t, 200).has(t, "Your password is changed")
	elsewhere.toSignIn("/me")
	elsewhere.signIn("ana@example.com", goodPassword).page(t, 401)
	elsewhere.signIn("ana@example.com", "an even better one").status(t, 303)
	b.submit("/me/sessions/end", nil).status(t, 303)
	b.get("/").page(t, 200).has(t, "You are signed out everywhere.")
	elsewhere.toSignIn("/me")
	h.browser().submit("/me/password", map[string]string{"old-password": "x"}).page(t, 401)
}

// Whoever is blocked is out at once, and is told so only with the right password.
func TestWhoIsBlockedIsOut(t *testing.T) {
	t.Parallel()
	h := open(t)
	id := h.lot()
	b, person := h.signedUp("ana@example.com")
	token, err := h.people.MakeToken(t.Context(), person, "", false)
	if err != nil {
		t.Fatal(err)
	}
	h.bid(id, who{token: token}, 2000).status(t, 201)
	if err := h.people.Block(t.Context(), person); err != nil {
		t.Fatal(err)
	}
	b.toSignIn("/me")
	b.submit(bidsOf(id), map[string]string{"key": "x", "amount": "3000"}).page(t, 401)
	h.bid(id, who{token: token}, 3000).problem(t, 401, "unauthenticated")
	b.signIn("ana@example.com", "wrong password").page(t, 401)
	b.signIn("ana@example.com", goodPassword).page(t, 403).has(t, "blocked")
	if err := h.people.Unblock(t.Context(), person); err != nil {
		t.Fatal(err)
	}
	b.toSignIn("/me")
	b.signIn("ana@example.com", goodPassword).status(t, 303)
	h.bid(id, who{token: token}, 3000).status(t, 201)
}

// The demo's password is in the source: it opens nothing for who is not at the machine itself.
func TestTheDemoIsForThisMachine(t *testing.T) {
	t.Parallel()
	h := open(t)
	if _, err := h.people.SignUpDemo(
		t.Context(), account.Account{Email: "house@demo.example", Name: "The house", Role: account.RoleAdmin},
	); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"192.0.2.1:1", "10.0.0.1:1", "[2001:db8::1]:1"} {
		h.browser().signIn(
			"house@demo.example", account.DemoPassword, sentFrom(address),
		).page(t, 403).has(t, "only on the machine")
	}
	h.browser().signIn(
		"house@demo.example", account.DemoPassword, sentFrom("127.0.0.1:1"), header("X-Forwarded-For", "127.0.0.1"),
	).page(t, 403)
	for _, address := range []string{"127.0.0.1:1", "[::1]:1"} {
		h.browser().signIn("house@demo.example", account.DemoPassword, sentFrom(address)).status(t, 303)
	}
}

func TestAProxyThatIsNotTrustedIsNoticed(t *testing.T) {
	t.Parallel()
	trusted := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	for _, c := range []struct {
		trusted []netip.Prefix
		noticed int
	}{{nil, 2}, {trusted, 0}, {[]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, 2}} {
		h := open(t, func(d *web.Deps) { d.TrustedProxies = c.trusted })
		h.get("/healthz")
		h.get("/healthz", header("X-Forwarded-For", "203.0.113.9"))
		h.get("/auctions", header("X-Forwarded-For", "203.0.113.9"))
		if got := h.get("/metrics", sentFrom("127.0.0.1:1")).Body.String(); !strings.Contains(
			got, fmt.Sprintf("martelo_forwarded_ignored_total %d\n", c.noticed),
		) {
			t.Errorf("trusting %v: %s", c.trusted, got)
		}
		if lines := strings.Count(h.log.String(), "proxy that is not trusted"); lines != min(1, c.noticed) {
			t.Errorf("trusting %v: %d lines say so", c.trusted, lines)
		}
		if strings.Contains(h.log.String(), "almost everybody") {
			t.Errorf("trusting %v is no risk", c.trusted)
		}
	}
	for _, everybody := range []string{"0.0.0.0/0", "::/0", "128.0.0.0/1"} {
		h := open(t, func(d *web.Deps) { d.TrustedProxies = []netip.Prefix{netip.MustParsePrefix(everybody)} })
		if !strings.Contains(h.log.String(), "almost everybody") {
			t.Errorf("nothing is said about trusting %s", everybody)
		}
	}
}

func TestSigningInSaysWhatToDo(t *testing.T) {
	t.Parallel()
	h := open(t, func(d *web.Deps) { d.Contact = "help@house.example" })
	h.browser().signIn("", "").page(t, 422).has(t, "Enter your e-mail.", "Enter your password.")
	h.browser().signIn("ana@example.com", "").page(t, 422).has(t, "Enter your password.").lacks(t, "Enter your e-mail.")
	h.browser().get("/signin").page(t, 200).has(t, "Forgot your password?", `href="mailto:help@house.example"`)
	open(t).browser().get("/signin").page(t, 200).has(t, "Forgot your password?", "people who run this house")
	b, _ := h.signedUp("ana@example.com")
	for path, want := range map[string]string{
		"/signin": "/", "/signin?next=/me/bids": "/me/bids", "/signin?next=/me": "/me",
		"/signin?next=https://evil.test": "/",
	} {
		answer := b.get(path)
		answer.status(t, 303)
		if to := answer.Header().Get("Location"); to != want {
			t.Errorf("%s leads to %q", path, to)
		}
	}
	for _, path := range []string{"/me", "/me/bids", "/me/auctions", "/auctions/new"} {
		h.browser().toSignIn(path)
	}
}

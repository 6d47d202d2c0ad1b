package web_test

import (
	"html"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/google/uuid"
)

// sellerAt is a browser in which a seller is signed in.
func (h *house) sellerAt(email string) *browser {
	h.Helper()
	b, _ := h.signedUp(email)
	b.submit("/me/selling", nil).status(h, http.StatusSeeOther)
	return b
}

// lotForm is the seller's form as it is sent for the review.
func lotForm(changes map[string]string) map[string]string {
	form := map[string]string{
		"key": uuid.NewString(), "title": "Uhr", "description": "Alt.\n\nSchön.", "currency": "EUR",
		"startPrice": "1000", "minIncrement": "10",
		"zone": "Europe/Berlin", "endTime": "2030-10-20T20:15",
		"softClose": "on", "windowMinutes": "2", "extendMinutes": "3", "step": "review",
	}
	for field, value := range changes {
		form[field] = value
	}
	return form
}

var hiddenInput = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)

// hidden are the fields that a page's forms carry unseen.
func (a answer) hidden() map[string]string {
	fields := map[string]string{}
	for _, match := range hiddenInput.FindAllStringSubmatch(a.Body.String(), -1) {
		fields[match[1]] = html.UnescapeString(match[2])
	}
	return fields
}

func (h *house) lots() (n int) {
	h.Helper()
	if err := h.pool.QueryRow(h.Context(), "SELECT count(*) FROM auctions").Scan(&n); err != nil {
		h.Fatal(err)
	}
	return n
}

func TestALotComesBackAfterSigningIn(t *testing.T) {
	t.Parallel()
	h := open(t)
	b := h.sellerAt("ana@example.com")
	for _, step := range []string{"review", "publish", "edit"} {
		h.exec("DELETE FROM sessions")
		form := lotForm(map[string]string{
			"step": step, "description": "Alt.\n\n\"Schön\" & <b>groß</b>.", "startPrice": "1.234,50",
		})
		signIn := b.submit("/auctions", form)
		signIn.page(t, 401).has(t, "your lot comes back", `name="password"`)
		fields := signIn.hidden()
		fields["email"], fields["password"] = "ana@example.com", "not the password"
		signIn = b.submit("/signin", fields).page(t, 401) // a slip loses nothing either
		fields = signIn.hidden()
		fields["email"], fields["password"] = "ana@example.com", "a good long password"
		back := b.follow(b.submit("/signin", fields)).page(t, 200)
		back.has(t, `value="Uhr"`, "Alt.\n\n&#34;Schön&#34; &amp; &lt;b&gt;groß&lt;/b&gt;.", `value="1.234,50"`,
			`value="2030-10-20T20:15"`,
			`<option value="Europe/Berlin" selected>`, `<option value="EUR" selected>`, form["key"])
		if h.lots() != 0 {
			t.Fatal("signing in has published something")
		}
	}
	form := lotForm(map[string]string{"step": "publish"})
	h.exec("DELETE FROM sessions")
	if answer := h.browser().submit("/auctions", form, header("Accept", "application/json")); answer.Code != 401 {
		t.Errorf("a stranger's form was answered %d", answer.Code)
	}
	var kept int
	if err := h.pool.QueryRow(t.Context(), "SELECT count(*) FROM drafts").Scan(&kept); err != nil || kept != 3 {
		t.Errorf("%d forms are kept (%v), want those of the three that signed in", kept, err)
	}
}

func TestALotComesBackFromAnotherAccount(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.sellerAt("ana@example.com")
	b, me := h.signedUp("ben@example.com")
	for name, form := range map[string]map[string]string{
		"may not sell": lotForm(
			map[string]string{"step": "publish", "viewer": strconv.FormatInt(me, 10)},
		),
		"Somebody else has signed in": lotForm(
			map[string]string{"step": "publish", "viewer": strconv.FormatInt(me+1, 10)},
		),
	} {
		signIn := b.submit("/auctions", form)
		signIn.page(t, 403).has(t, name, "your lot comes back")
		fields := signIn.hidden()
		fields["email"], fields["password"] = "ana@example.com", "a good long password"
		ana := h.browser()
		ana.follow(ana.submit("/signin", fields)).page(t, 200).has(t, `value="Uhr"`, "Schön.")
	}
	if h.lots() != 0 {
		t.Error("something was published")
	}
}

func TestTheReviewHasAnAddress(t *testing.T) {
	t.Parallel()
	h := open(t)
	b, other := h.sellerAt("ana@example.com"), h.sellerAt("eva@example.com")
	form := lotForm(nil)
	led := b.submit("/auctions", form)
	led.status(t, 303)
	review := led.Header().Get("Location")
	for range 2 { // reloading it sends nothing again
		b.get(review).page(t, 200).has(t, "Check your lot", "€1,000.00")
	}
	b.get("/auctions/new?draft="+form["key"]).page(t, 200).has(t, `value="Uhr"`, "Schön.", `value="1000"`)
	other.get(review).status(t, 303)
	other.get("/auctions/new?draft="+form["key"]).page(t, 200).lacks(t, "Uhr")
	h.browser().get(review).status(t, 303)
	b.get("/auctions/new/review?draft=nonsense").status(t, 303)

	publish := b.get(review).hidden()
	publish["step"] = "publish"
	published := b.submit("/auctions", publish)
	published.status(t, 303)
	path := published.Header().Get("Location")
	// Whoever goes back comes to the lot, and sending the same once more publishes nothing.
	for _, again := range []answer{
		b.get(review), b.get("/auctions/new?draft=" + form["key"]), b.submit("/auctions", publish),
		b.submit("/auctions", form),
	} {
		again.status(t, 303)
		if led := again.Header().Get("Location"); led != path {
			t.Errorf("the published form leads to %q, want %q", led, path)
		}
	}
	// The form changed and sent again is another lot.
	publish["title"] = "Another"
	another := b.submit("/auctions", publish)
	another.status(t, 303)
	if led := another.Header().Get("Location"); led == path || h.lots() != 2 {
		t.Errorf("another lot is at %q, and there are %d", led, h.lots())
	}
	b.get(another.Header().Get("Location")).page(t, 200).has(t, "Another")
}

func TestSellersWriteAmountsAsTheirLanguageDoes(t *testing.T) {
	t.Parallel()
	h := open(t)
	b := h.sellerAt("ana@example.com")
	for _, c := range []struct{ language, currency, start, step, wantStart, wantStep string }{
		{"de", "EUR", "1.234,50 €", "12,50", "1234.50", "12.50"},
		{"de", "USD", "1.234.567,5", "$ 10", "1234567.50", "10.00"},
		{"de", "KWD", "1234,500", "0,250", "1234.500", "0.250"},
		{"pt-BR", "BRL", "R$ 1.234,50", "10,00", "1234.50", "10.00"},
		{"pt-BR", "USD", "US$ 1.160,00", "1030,50", "1160.00", "1030.50"},
		{"vi", "VND", "100.000 ₫", "5.000", "100000", "5000"},
		{"vi", "USD", "1.160,00 US$", "100.000,00", "1160.00", "100000.00"},
		{"fr", "EUR", "1 234,50 €", "1\u202f000", "1234.50", "1000.00"},
		{"fr", "JPY", "1 500", "1\u00a0500", "1500", "1500"},
		{"de-CH", "EUR", "1'234.50", "1’000", "1234.50", "1000.00"},
		{"hi", "BRL", "12,34,567.50", "१००", "1234567.50", "100.00"},
		{"ja", "JPY", "￥１，５００", "５００", "1500", "500"},
		{"ja", "KWD", "1,234.500", "1.500", "1234.500", "1.500"},
		{"en-US", "VND", "100,000", "5000", "100000", "5000"},
	} {
		form := lotForm(map[string]string{
			"currency": c.currency, "startPrice": c.start, "minIncrement": c.step, "step": "publish",
		})
		answer := b.submit("/auctions", form, header("Accept-Language", c.language))
		if answer.Code != 303 {
			t.Errorf("%+v: %d", c, answer.Code)
			continue
		}
		opened := h.get(answer.Header().Get("Location")).json(t)
		if opened["startPrice"] != c.wantStart || opened["minIncrement"] != c.wantStep {
			t.Errorf("%+v was read as %v and %v", c, opened["startPrice"], opened["minIncrement"])
		}
	}
}

func TestWhatAmountsMayMeanIsAsked(t *testing.T) {
	t.Parallel()
	h := open(t)
	b := h.sellerAt("ana@example.com")
	for language, want := range map[string][2]string{
		"en-US": {`value="startPrice=1.50">€1.50<`, `value="startPrice=1500.00">€1,500.00<`},
		"de":    {"value=\"startPrice=1,50\">1,50\u00a0€<", "value=\"startPrice=1500,00\">1.500,00\u00a0€<"},
	} {
		german := header("Accept-Language", language)
		form := lotForm(map[string]string{"startPrice": "1.500"})
		for _, step := range []string{"review", "publish"} {
			form["step"] = step
			asked := b.submit("/auctions", form, german).page(t, 422)
			asked.has(t, "Start price: Did you mean", want[0], want[1], `value="1.500"`)
			text := asked.Body.String()
			// The Enter key presses a form's first button, which must be none of the answers.
			begin := strings.Index(text, `<form class="form"`)
			first, answers := strings.Index(
				text[begin:], `value="review"`,
			), strings.Index(text[begin:], `name="choice"`)
			if first > answers {
				t.Error("the Enter key chooses an amount")
			}
		}
		delete(form, "step") // a button that answers is the one that was pressed
		form["choice"] = html.UnescapeString(strings.TrimPrefix(strings.SplitN(want[1], `">`, 2)[0], `value="`))
		b.follow(b.submit("/auctions", form, german)).page(t, 200).has(t, "€1,500.00")
	}
	if h.lots() != 0 {
		t.Error("something was published")
	}
}

func TestAllThatIsWrongIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	h := open(t)
	b := h.sellerAt("ana@example.com")
	answer := b.submit("/auctions", map[string]string{
		"key": uuid.NewString(), "currency": "USD", "zone": "UTC", "step": "review", "softClose": "on",
		"windowMinutes": "x", "extendMinutes": "2",
	})
	answer.page(t, 422)
	problems := regexp.MustCompile(`(?s)<ul class="problems__list">.*?</ul>`).FindString(answer.Body.String())
	at := 0
	for _, want := range []string{
		"Title: Enter a title.",
		"Start price: Enter an amount in USD, for example 1,250.00.",
		"Step: Enter an amount in USD, for example 1,250.00.",
		"Bidding ends: Enter a date and time.",
		"Minutes before the end in which a bid extends the auction: Enter whole minutes from 0 to 1440.",
	} {
		found := strings.Index(problems, want)
		if found < at {
			t.Errorf("%q is not said in its place:\n%s", want, problems)
		}
		at = found
	}
	if said := strings.Count(problems, "<li>"); said != 5 {
		t.Errorf("%d problems, want 5:\n%s", said, problems)
	}
	b.submit("/auctions", lotForm(map[string]string{"minIncrement": "0", "endTime": "2020-01-01T00:00"})).page(t, 422).
		has(t, "Step: Enter a step greater than 0.", "Bidding ends: Choose an end time in the future.")
}

func TestAStartThatHasPassedIsSaid(t *testing.T) {
	t.Parallel()
	h := open(t)
	b := h.sellerAt("ana@example.com")
	b.follow(b.submit("/auctions", lotForm(map[string]string{"startTime": "2020-01-01T10:00"}))).page(t, 200).
		has(t, "As soon as you publish",
			"The time you chose has passed: Wednesday, 1 January 2020, 10:00:00 in Europe/Berlin (UTC+01:00)")
	b.follow(b.submit("/auctions", lotForm(nil))).page(t, 200).lacks(t, "has passed")
}

func TestTheFormBeginsWithTheVisitorsCurrency(t *testing.T) {
	t.Parallel()
	h := open(t)
	b := h.sellerAt("ana@example.com")
	for language, want := range map[string]string{
		"en-US": "USD", "de": "EUR", "pt-BR": "BRL", "vi": "VND", "ja": "JPY",
		"de-CH": "CHF", "hi": "INR", "sv": "SEK", "en-GB": "GBP", "xx": "USD",
	} {
		b.get(
			"/auctions/new", header("Accept-Language", language),
		).page(t, 200).has(t, `<option value="`+want+`" selected>`)
	}
}

// What browsers do not keep for pages that must not be stored, they keep for the empty form: what
// is typed survives a reload and the way back.
func TestTheEmptyFormMayBeKeptByTheBrowser(t *testing.T) {
	t.Parallel()
	h := open(t)
	b := h.sellerAt("ana@example.com")
	empty := b.get("/auctions/new").page(t, 200)
	if got := empty.Header().Get("Cache-Control"); got != "private, no-cache" {
		t.Errorf("Cache-Control is %q", got)
	}
	empty.lacks(t, `autocomplete="off"`)
	led := b.submit("/auctions", lotForm(nil))
	if got := b.follow(led).Header().Get("Cache-Control"); got != "no-store" {
		t.Errorf("a review's Cache-Control is %q", got)
	}
}

func TestASessionInUseLasts(t *testing.T) {
	t.Parallel()
	h := open(t)
	b, _ := h.signedUp("ana@example.com")
	if cookies := b.get("/me").page(t, 200).Result().Cookies(); len(cookies) > 0 && cookies[0].MaxAge > 0 {
		b.get("/me").page(t, 200) // the greeting of the first page was taken
	}
	var token string
	var data []byte
	if err := h.pool.QueryRow(t.Context(), "SELECT token, data FROM sessions").Scan(&token, &data); err != nil {
		t.Fatal(err)
	}
	_, values, err := scs.GobCodec{}.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(24 * time.Hour)
	if data, err = (scs.GobCodec{}).Encode(old, values); err != nil {
		t.Fatal(err)
	}
	h.exec("UPDATE sessions SET data = $2, expiry = $3 WHERE token = $1", token, data, old)
	cookies := b.get("/me").page(t, 200).Result().Cookies()
	if len(cookies) != 1 || time.Until(cookies[0].Expires) < 13*24*time.Hour {
		t.Errorf("cookies are %v", cookies)
	}
	var expiry time.Time
	err = h.pool.QueryRow(t.Context(), "SELECT expiry FROM sessions WHERE token = $1", token).Scan(&expiry)
	if err != nil || time.Until(expiry) < 13*24*time.Hour {
		t.Errorf("it lasts until %v, %v", expiry, err)
	}
	if cookies := b.get("/me").page(t, 200).Result().Cookies(); len(cookies) > 0 {
		t.Errorf("the session is written for every page: %v", cookies)
	}
}

func TestAnAmountComesBackAfterSigningIn(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.signedUp("ana@example.com")
	id := h.lot()
	visitor := h.browser()
	signIn := visitor.get(auctionPath(id)+"?amount=2345,50").page(t, 200)
	signIn.has(t, "/signin?next="+strings.ReplaceAll(auctionPath(id), "/", "%2F")+"%3Famount%3D2345%252C50")
	back := visitor.submit("/signin", map[string]string{
		"email": "ana@example.com", "password": "a good long password", "next": auctionPath(id) + "?amount=2345%2C50",
	})
	if led := back.Header().Get("Location"); led != auctionPath(id)+"?amount=2345%2C50" {
		t.Fatalf("signing in leads to %q", led)
	}
	lot := visitor.follow(back).page(t, 200)
	lot.has(t, `value="2345,50"`)
	if bids := h.get(auctionPath(id)).json(t)["bidCount"]; bids != 0.0 {
		t.Errorf("%v bids", bids)
	}
	visitor.get(
		auctionPath(id)+"?amount=2345,50", header("Sec-Fetch-Site", "cross-site"),
	).page(t, 200).lacks(t, "2345,50")
	visitor.get(auctionPath(id)+"?amount="+strings.Repeat("9", 200)).page(t, 200).lacks(t, "9999999999")
	visitor.get(auctionPath(id)+"?amount=%22%3E%3Cscript%3E").page(t, 200).lacks(t, "<script>\"")
}

func TestAFormThatNeedsSigningInLeadsBackToItsPage(t *testing.T) {
	t.Parallel()
	h := open(t)
	from := func(url string) ask { return header("Referer", url) }
	token := map[string]string{"name": "x"}
	b := h.browser()
	b.submit("/me/tokens", token, from("http://house.test/me?a=b")).page(t, 401).has(t, "/signin?next=%2Fme%3Fa%3Db")
	b.submit("/me/tokens", token, from("http://evil.test/me")).page(t, 401).lacks(t, "next=%2Fme")
}

func TestAPersonKeepsAFewForms(t *testing.T) {
	t.Parallel()
	h := open(t)
	b := h.sellerAt("ana@example.com")
	for i := range 25 {
		b.submit("/auctions", lotForm(map[string]string{"title": "Lot " + strconv.Itoa(i)})).status(t, 303)
	}
	var kept, newest int
	err := h.pool.QueryRow(t.Context(), `
		SELECT count(*), count(*) FILTER (WHERE convert_from(form, 'UTF8') LIKE '%Lot 24%')
		FROM drafts`).Scan(&kept, &newest)
	if err != nil || kept != 20 || newest != 1 {
		t.Errorf("%d forms are kept, %d of them the newest (%v)", kept, newest, err)
	}
}

package web_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// refusal is what a hostile request must be answered with.
type refusal struct {
	status int
	code   string
	field  string
}

func invalid(field string) refusal { return refusal{422, "invalid_field", field} }

var (
	malformed      = refusal{400, "malformed_request", ""}
	keyMissing     = refusal{400, "idempotency_key_missing", ""}
	keyInvalid     = refusal{400, "idempotency_key_invalid", ""}
	anonymous      = refusal{401, "unauthenticated", ""}
	forbidden      = refusal{403, "forbidden", ""}
	notFound       = refusal{404, "not_found", ""}
	wrongMethod    = refusal{405, "method_not_allowed", ""}
	tooLarge       = refusal{413, "too_large", ""}
	wrongMediaType = refusal{415, "unsupported_media_type", ""}
)

func (h *house) refuses(name string, got answer, want refusal) {
	h.Helper()
	problem := map[string]any{}
	if media := got.Header().Get("Content-Type"); media == "application/problem+json" {
		problem = got.json(h)
	}
	field, _ := problem["field"].(string)
	if got.Code != want.status || problem["code"] != want.code || field != want.field {
		h.Errorf("%s: answered %d %s, want %+v", name, got.Code, strings.TrimSpace(got.Body.String()), want)
	}
}

func TestHostileBids(t *testing.T) {
	t.Parallel()
	h := open(t)
	id, before := h.lot(), ""
	before = h.state()
	amount := func(value string) string { return `{"amount":` + value + `}` }
	for _, c := range []struct {
		name, body string
		want       refusal
	}{
		{"exponent", amount(`1e3`), invalid("amount")},
		{"exponent in a string", amount(`"1e3"`), invalid("amount")},
		{"capital exponent", amount(`2E+5`), invalid("amount")},
		{"negative", amount(`-1010`), invalid("amount")},
		{"negative zero", amount(`-0`), invalid("amount")},
		{"plus", amount(`"+1010"`), invalid("amount")},
		{"too precise", amount(`1010.001`), invalid("amount")},
		{"far too precise", amount(`1010.0000000000000000000000000000001`), invalid("amount")},
		{"13 digits", amount(`1000000000000`), invalid("amount")},
		{"a hundred digits", amount(strings.Repeat("9", 100)), invalid("amount")},
		{"60,000 digits", amount(strings.Repeat("9", 60_000)), invalid("amount")},
		{"not a number", amount(`"NaN"`), invalid("amount")},
		{"infinity", amount(`"Infinity"`), invalid("amount")},
		{"hexadecimal", amount(`"0x10"`), invalid("amount")},
		{"underscores", amount(`"1_010"`), invalid("amount")},
		{"grouped", amount(`"1,010.00"`), invalid("amount")},
		{"comma for a point", amount(`"1.010,00"`), invalid("amount")},
		{"full-width digits", amount(`"１０１０"`), invalid("amount")},
		{"Arabic digits", amount(`"١٠١٠"`), invalid("amount")},
		{"space around", amount(`" 1010 "`), invalid("amount")},
		{"a line end", amount(`"1010\n"`), invalid("amount")},
		{"a zero byte", amount(`"1010\u0000"`), invalid("amount")},
		{"currency sign", amount(`"$1010"`), invalid("amount")},
		{"leading zero in a string", amount(`"01010"`), invalid("amount")},
		{"only a point", amount(`"."`), invalid("amount")},
		{"trailing point", amount(`"1010."`), invalid("amount")},
		{"empty string", amount(`""`), invalid("amount")},
		{"null", amount(`null`), invalid("amount")},
		{"true", amount(`true`), invalid("amount")},
		{"array", amount(`[1010]`), invalid("amount")},
		{"object", amount(`{"value":1010}`), invalid("amount")},
		{"absent", `{}`, invalid("amount")},
		{"another case", `{"Amount":1010}`, invalid("amount")},
		{"SQL", amount(`"1010; DROP TABLE bids"`), invalid("amount")},
		{"leading zero", amount(`01010`), malformed},
		{"bare point", amount(`.5`), malformed},
		{"plus number", amount(`+5`), malformed},
		{"bare NaN", amount(`NaN`), malformed},
		{"twice", `{"amount":1010,"amount":9999}`, malformed},
		{"twice, spelled differently", `{"amount":1010,"\u0061mount":9999}`, malformed},
		{"nothing", ``, malformed},
		{"space", "  \n", malformed},
		{"broken off", `{"amount":1010`, malformed},
		{"single quotes", `{'amount':1010}`, malformed},
		{"trailing comma", `{"amount":1010,}`, malformed},
		{"comment", `{"amount":1010/*!*/}`, malformed},
		{"more after it", `{"amount":1010}{"amount":1020}`, malformed},
		{"garbage after it", `{"amount":1010}x`, malformed},
		{"a null byte after it", "{\"amount\":1010}\x00", malformed},
		{"a byte order mark", "\ufeff{\"amount\":1010}", malformed},
		{"an array", `[{"amount":1010}]`, malformed},
		{"a string", `"1010"`, malformed},
		{"a number", `1010`, malformed},
		{"a bare null", `null`, malformed},
		{"broken UTF-8 in a value", "{\"amount\":\"\xff1010\"}", malformed},
		{"broken UTF-8 elsewhere", "{\"amount\":1010,\"x\":\"\xc3\x28\"}", malformed},
		{
			"deep arrays", `{"amount":1010,"x":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`,
			malformed,
		},
		{"deep objects", strings.Repeat(`{"x":`, 12_000), malformed},
		{"64 KiB and a byte", `{"amount":1010,"x":"` + strings.Repeat("x", 64<<10-21) + `"}`, tooLarge},
		{"a megabyte", `{"amount":1010,"x":"` + strings.Repeat("x", 1<<20) + `"}`, tooLarge},
		{"bidder as a string", `{"amount":1010,"bidderId":"9"}`, invalid("bidderId")},
		{"bidder as a fraction", `{"amount":1010,"bidderId":9.5}`, invalid("bidderId")},
		{"bidder as an exponent", `{"amount":1010,"bidderId":1e3}`, invalid("bidderId")},
		{"bidder beyond 64 bits", `{"amount":1010,"bidderId":9223372036854775808}`, invalid("bidderId")},
		{"bidder as an array", `{"amount":1010,"bidderId":[1]}`, invalid("bidderId")},
		{"somebody else", `{"amount":1010,"bidderId":1}`, forbidden},
		{"the seller", `{"amount":1010,"bidderId":` + strconv.FormatInt(h.seller.id, 10) + `}`, forbidden},
		{"nobody", `{"amount":1010,"bidderId":0}`, forbidden},
		{"a negative bidder", `{"amount":1010,"bidderId":-1}`, forbidden},
	} {
		h.refuses(c.name, h.post(bidsOf(id), h.buyer, c.body, key(uuid.NewString())), c.want)
	}
	for name, bidder := range map[string]string{
		"unknown": "1", "zero": "0", "negative": "-5", "largest": "9223372036854775807",
	} {
		answer := h.post(bidsOf(id), h.service, `{"amount":1010,"bidderId":`+bidder+`}`, key(uuid.NewString()))
		h.refuses("service for "+name, answer, invalid("bidderId"))
	}
	if h.state() != before {
		t.Error("a refused bid changed something")
	}
}

func TestHostileBidHeaders(t *testing.T) {
	t.Parallel()
	h := open(t)
	id := h.lot()
	before := h.state()
	const good = "8e03978e-40d5-43e8-bc93-6894a57f9324"
	for _, c := range []struct {
		name string
		asks []ask
		want refusal
	}{
		{"no key", nil, keyMissing},
		{"empty key", []ask{key("")}, keyMissing},
		{"a word", []ask{key("again")}, keyInvalid},
		{"without hyphens", []ask{key(strings.ReplaceAll(good, "-", ""))}, keyInvalid},
		{"in braces", []ask{key("{" + good + "}")}, keyInvalid},
		{"a URN", []ask{key("urn:uuid:" + good)}, keyInvalid},
		{"quoted", []ask{key(`"` + good + `"`)}, keyInvalid},
		{"a space before", []ask{key(" " + good)}, keyInvalid},
		{"a digit short", []ask{key(good[:35])}, keyInvalid},
		{"a digit more", []ask{key(good + "0")}, keyInvalid},
		{"not hexadecimal", []ask{key("8e03978e-40d5-43e8-bc93-6894a57f932g")}, keyInvalid},
		{"hyphens elsewhere", []ask{key("8e03978e4-0d5-43e8-bc93-6894a57f9324")}, keyInvalid},
		{"full-width", []ask{key("８e03978e-40d5-43e8-bc93-6894a57f93")}, keyInvalid},
		{"very long", []ask{key(strings.Repeat("8", 20_000))}, keyInvalid},
		{"two in one", []ask{key(good + "," + good)}, keyInvalid},
		{"two that differ", []ask{key(good), key(uuid.NewString())}, keyInvalid},
		{
			"text", []ask{key(good), func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }},
			wrongMediaType,
		},
		{"no type", []ask{key(good), func(r *http.Request) { r.Header.Del("Content-Type") }}, wrongMediaType},
		{
			"a broken type",
			[]ask{key(good), func(r *http.Request) { r.Header.Set("Content-Type", "application/json;;charset") }},
			wrongMediaType,
		},
		{"two types", []ask{key(good), header("Content-Type", "text/html")}, wrongMediaType},
		{
			"another alphabet",
			[]ask{
				key(good), func(r *http.Request) { r.Header.Set("Content-Type", "application/json; charset=utf-16") },
			},
			wrongMediaType,
		},
		{"packed", []ask{key(good), header("Content-Encoding", "gzip")}, wrongMediaType},
		{"no token", []ask{key(good), func(r *http.Request) { r.Header.Del("Authorization") }}, anonymous},
		{
			"unknown token",
			[]ask{
				key(good),
				func(r *http.Request) { r.Header.Set("Authorization", "Bearer mrt_"+strings.Repeat("A", 43)) },
			},
			anonymous,
		},
		{
			"short token", []ask{key(good), func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") }},
			anonymous,
		},
		{
			"empty token", []ask{key(good), func(r *http.Request) { r.Header.Set("Authorization", "Bearer ") }},
			anonymous,
		},
		{
			"a token that breaks off",
			[]ask{
				key(good), func(r *http.Request) { r.Header.Set("Authorization", r.Header.Get("Authorization")[:30]) },
			},
			anonymous,
		},
		{"Basic", []ask{key(good), func(r *http.Request) { r.Header.Set("Authorization", "Basic YTpi") }}, anonymous},
		{"two tokens", []ask{key(good), header("Authorization", "Bearer "+h.other.token)}, anonymous},
		{"another site", []ask{key(good), header("Sec-Fetch-Site", "cross-site")}, forbidden},
		{"another origin", []ask{key(good), header("Origin", "https://evil.test")}, forbidden},
	} {
		h.refuses(c.name, h.post(bidsOf(id), h.buyer, `{"amount":1010}`, c.asks...), c.want)
	}
	if h.state() != before {
		t.Error("a refused bid changed something")
	}
	h.post(bidsOf(id), h.buyer, `{"amount":1010}`, key(good), key(strings.ToUpper(good))).status(t, http.StatusCreated)
}

func TestHostileDrafts(t *testing.T) {
	t.Parallel()
	h := open(t)
	before := h.state()
	draft := func(field, value string) string {
		members := map[string]string{
			"title": `"A"`, "startPrice": `1`, "minIncrement": `1`, "endTime": `"2030-01-01T00:00:00Z"`,
		}
		members[field] = value
		var list []string
		for name, value := range members {
			list = append(list, `"`+name+`":`+value)
		}
		return "{" + strings.Join(list, ",") + "}"
	}
	for _, c := range []struct{ name, field, value string }{
		{"no title", "title", `null`}, {"empty", "title", `""`}, {"space", "title", `"  "`}, {"number", "title", `5`},
		{"zero byte", "title", `"a\u0000b"`}, {"two lines", "title", `"a\nb"`},
		{"201 characters", "title", `"` + strings.Repeat("ä", 201) + `"`},
		{"right to left", "title", `"a\u202eb"`}, {"lone half of a pair in a control", "title", `"\u0007"`},
		{"number", "description", `7`}, {"zero byte", "description", `"\u0000"`},
		{"10,001 characters", "description", `"` + strings.Repeat("x", 10_001) + `"`},
		{"lower case", "currency", `"usd"`}, {"unknown", "currency", `"ZZZ"`}, {"empty", "currency", `""`},
		{"number", "currency", `840`}, {"very long", "currency", `"` + strings.Repeat("U", 999) + `"`},
		{"negative", "startPrice", `-1`}, {"null", "startPrice", `null`}, {"exponent", "startPrice", `1e2`},
		{"13 digits", "startPrice", `9999999999999`}, {"three decimals", "startPrice", `0.001`},
		{"zero", "minIncrement", `0`}, {"negative", "minIncrement", `"-1"`}, {"null", "minIncrement", `null`},
		{"object", "minIncrement", `{}`},
		{"past", "endTime", `"2020-01-01T00:00:00Z"`}, {"no offset", "endTime", `"2030-01-01T00:00:00"`},
		{"a day", "endTime", `"2030-01-01"`},
		{"number", "endTime", `1893456000`}, {"null", "endTime", `null`}, {"empty", "endTime", `""`},
		{"month 13", "endTime", `"2030-13-01T00:00:00Z"`},
		{"30 February", "endTime", `"2030-02-30T00:00:00Z"`},
		{"offset of 99 h", "endTime", `"2030-01-01T00:00:00+99:00"`}, {"comma", "endTime", `"2030-01-01T00:00:00,5Z"`},
		{"year 9999", "endTime", `"9999-12-31T23:59:59Z"`}, {"year 0", "endTime", `"0000-01-01T00:00:00Z"`},
		{"year 292277", "endTime", `"292277-01-01T00:00:00Z"`},
		{"no time", "startTime", `"soon"`}, {"array", "startTime", `[]`},
		{"string", "softClose", `"120"`}, {"array", "softClose", `[120,120]`},
		{"negative", "softClose", `{"windowSeconds":-1,"extendSeconds":1}`},
		{"fraction", "softClose", `{"windowSeconds":1.5,"extendSeconds":1}`},
		{"over a day", "softClose", `{"windowSeconds":86401,"extendSeconds":1}`},
		{"beyond 64 bits", "softClose", `{"windowSeconds":99999999999999999999,"extendSeconds":1}`},
		{"overflows a duration", "softClose", `{"windowSeconds":1,"extendSeconds":18446744074}`},
		{"a name twice", "softClose", `{"windowSeconds":1,"windowSeconds":2}`},
		{"string inside", "softClose", `{"windowSeconds":"120"}`},
		{"unknown", "lane", `"fast"`}, {"empty", "lane", `""`}, {"number", "lane", `1`},
		{"upper case", "lane", `"STANDARD"`},
		{"not offered yet", "reservePrice", `"50.00"`}, {"not offered yet", "buyNowPrice", `90`},
		{"not offered yet", "increments", `[{"from":"0.00","step":"0.50"}]`},
	} {
		h.refuses(c.field+": "+c.name, h.post("/auctions", h.seller, draft(c.field, c.value)), invalid(c.field))
	}
	h.refuses(
		"end before start",
		h.post(
			"/auctions", h.seller,
			`{"title":"A","startPrice":1,"minIncrement":1,"startTime":"2029-01-02T00:00:00Z",`+
				`"endTime":"2029-01-01T00:00:00Z"}`,
		),
		invalid("endTime"),
	)
	h.refuses(
		"yen with decimals",
		h.post(
			"/auctions", h.seller,
			`{"title":"A","currency":"JPY","startPrice":1.5,"minIncrement":1,"endTime":"2030-01-01T00:00:00Z"}`,
		),
		invalid("startPrice"),
	)
	h.refuses("not a seller", h.post("/auctions", h.buyer, draft("title", `"A"`)), forbidden)
	h.refuses("a service is no seller", h.post("/auctions", h.service, draft("title", `"A"`)), forbidden)
	h.refuses("nobody", h.post("/auctions", who{}, draft("title", `"A"`)), anonymous)
	h.refuses("bad key", h.post("/auctions", h.seller, draft("title", `"A"`), key("x")), keyInvalid)
	h.refuses(
		"text",
		h.post("/auctions", h.seller, "title=A", func(r *http.Request) { r.Header.Set("Content-Type", "text/csv") }),
		wrongMediaType,
	)
	h.refuses("nothing", h.post("/auctions", h.seller, ""), malformed)
	all := h.post("/auctions", h.seller, `{}`).problem(t, 422, "invalid_field")
	if fields, _ := all["fields"].([]any); len(fields) < 3 {
		t.Errorf("not all that is wrong is named: %v", all)
	}
	if h.state() != before {
		t.Error("a refused draft changed something")
	}
}

func TestHostilePathsAndQueries(t *testing.T) {
	t.Parallel()
	h := open(t)
	id := h.lot()
	one := "/auctions/" + strconv.FormatInt(id, 10)
	before := h.state()
	for _, bad := range []string{
		"0", "-1", "+1", "1.0", "1e3", "abc", "0x10", "%00", "%FF", "%2e%2e", "..%2f", "9223372036854775808",
		"99999999999999999999999", strings.Repeat("9", 5000),
		"%EF%BC%91", "1%20", "%201", "1;1", "007", "null", "%27%20OR%201=1", "<script>", "1%00",
	} {
		for _, path := range []string{"/auctions/" + bad, "/auctions/" + bad + "/bids"} {
			h.refuses("GET "+path, h.get(path), notFound)
		}
		h.refuses(
			"bid on "+bad, h.post("/auctions/"+bad+"/bids", h.buyer, `{"amount":1}`, key(uuid.NewString())), notFound,
		)
		h.refuses("cancel "+bad, h.post("/auctions/"+bad+"/cancel", h.admin, ""), notFound)
	}
	for _, c := range []struct {
		target string
		want   refusal
	}{
		{"/auctions?limit=0", invalid("limit")}, {"/auctions?limit=101", invalid("limit")},
		{"/auctions?limit=-1", invalid("limit")},
		{"/auctions?limit=x", invalid("limit")}, {"/auctions?limit=1e1", invalid("limit")},
		{"/auctions?limit=99999999999999999999", invalid("limit")},
		{"/auctions?status=open", invalid("status")}, {"/auctions?status=GONE", invalid("status")},
		{"/auctions?status=%00", invalid("status")},
		{"/auctions?sort=end", invalid("sort")}, {"/auctions?sort=price;drop", malformed},
		{"/auctions?sort=%FF", invalid("sort")},
		{"/auctions?seller=x", invalid("seller")}, {"/auctions?seller=0", invalid("seller")},
		{"/auctions?seller=-1", invalid("seller")}, {"/auctions?seller=9223372036854775808", invalid("seller")},
		{"/auctions?cursor=x", invalid("cursor")}, {"/auctions?cursor=%00", invalid("cursor")},
		{"/auctions?cursor=AAAA", invalid("cursor")},
		{"/auctions?cursor=" + strings.Repeat("A", 9000), invalid("cursor")}, {"/auctions?q=%zz", malformed},
		{"/auctions?%", malformed},
		{one + "/bids?after=-1", invalid("after")}, {one + "/bids?after=x", invalid("after")},
		{one + "/bids?after=9223372036854775808", invalid("after")},
		{one + "/bids?limit=0", invalid("limit")}, {one + "/bids?limit=1001", invalid("limit")},
		{"/auctions/999999999999", notFound}, {"/auctions/999999999999/bids", notFound}, {"/auctions//bids", notFound},
		{"/auctions/", notFound}, {"//auctions", notFound},
		{"/users", wrongMethod}, {one + "/cancel", wrongMethod}, {"/AUCTIONS", notFound}, {"/.env", notFound},
		{"/static/nothing.css", refusal{404, "", ""}},
	} {
		if c.want.code == "" {
			if got := h.get(c.target); got.Code != c.want.status {
				t.Errorf("GET %.60s: %d", c.target, got.Code)
			}
			continue
		}
		h.refuses("GET "+c.target[:min(60, len(c.target))], h.get(c.target), c.want)
	}
	for _, method := range []string{"PUT", "PATCH", "DELETE", "TRACE", "PROPFIND", "BREW"} {
		h.refuses(method, h.send(method, one, nil), wrongMethod)
	}
	if h.state() != before {
		t.Error("a refused request changed something")
	}
}

func TestHostileSearchesFindNothingOrSomething(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.lot()
	for _, q := range []string{
		"'", `\`, "''", `'\`, "a & b", "!", "!!a", "(", "a:*", "a:b:c", "<->", "%", "_", "\x00", "a\x00b", "\xff\xfe",
		"🎺", "½", "'; DROP TABLE lots; --",
		strings.Repeat("word ", 2000), strings.Repeat("x", 9000), "\u202e", "a'b\\c", "12.50", "e-mail@example.com",
		"http://x/y?z", "<b>", "  ", "AND OR NOT", "日本語", "ﬁ",
	} {
		answer := h.send(http.MethodGet, "/auctions", nil, func(r *http.Request) {
			values := r.URL.Query()
			values.Set("q", q)
			r.URL.RawQuery = values.Encode()
		})
		if answer.Code != http.StatusOK {
			t.Errorf("q=%.40q: %d %s", q, answer.Code, answer.Body)
		}
	}
}

func TestHostileUsers(t *testing.T) {
	t.Parallel()
	h := open(t)
	before := h.state()
	for _, c := range []struct {
		name string
		by   who
		body string
		want refusal
	}{
		{"no token", who{}, `{"name":"Ana"}`, anonymous},
		{"not a service", h.admin, `{"name":"Ana"}`, forbidden},
		{"no name", h.service, `{}`, invalid("name")},
		{"empty", h.service, `{"name":""}`, invalid("name")},
		{"space", h.service, `{"name":"\t "}`, invalid("name")},
		{"number", h.service, `{"name":5}`, invalid("name")},
		{"zero byte", h.service, `{"name":"A\u0000"}`, invalid("name")},
		{"two lines", h.service, `{"name":"A\nB"}`, invalid("name")},
		{"101 characters", h.service, `{"name":"` + strings.Repeat("é", 101) + `"}`, invalid("name")},
		{"array", h.service, `[]`, malformed},
		{"nothing", h.service, ``, malformed},
	} {
		h.refuses(c.name, h.post("/users", c.by, c.body), c.want)
	}
	if h.state() != before {
		t.Error("a refused user changed something")
	}
}

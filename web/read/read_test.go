package read

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"martelo/app/money"
)

func FuzzAmountInJSON(f *testing.F) {
	for _, text := range []string{
		`1`, `"1"`, `1e3`, `"1e3"`, `-1`, `0.10`, `"１"`, `null`, `true`, `[]`, `{}`, `""`, `999999999999.9999`,
		`1000000000000`, `"\u0031"`, `00`, ` 1 `,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		body, err := parseObject([]byte(`{"amount":` + text + `}`))
		if err != nil {
			return
		}
		decimal, wrong := body.Decimal("amount")
		if wrong != nil {
			if wrong.Field != "amount" || wrong.Reason == nil {
				t.Errorf("%q is refused as %+v", text, wrong)
			}
			return
		}
		// What is taken is what was written, digit by digit.
		written := string(body["amount"])
		if written[0] == '"' {
			if err := json.Unmarshal(body["amount"], &written); err != nil {
				t.Fatal(err)
			}
		}
		amount, err := decimal.In(money.MustCurrency("CLF")) // four decimals
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if got, want := strings.TrimRight(amount.String(), "0"), strings.TrimRight(padded(written), "0"); got != want {
			t.Errorf("%q is read as %s", text, amount)
		}
	})
}

func padded(written string) string {
	if !strings.Contains(written, ".") {
		written += "."
	}
	return written
}

func FuzzObject(f *testing.F) {
	for _, text := range []string{
		``, `{}`, `{"a":1}`, `{"a":1,"a":2}`, `[]`, `{}{}`, "{\"\xff\":1}", `{"a":{"a":[{}]}}`, `{"\u0061":1,"a":2}`,
		"\ufeff{}", `null`, ` {} `, `{"a":"\ud800"}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		body, err := parseObject(text)
		if err != nil {
			if !errors.As(err, new(MalformedError)) {
				t.Errorf("%q is refused with %v", text, err)
			}
			return
		}
		// encoding/json must agree that it is an object with these names.
		var same map[string]json.RawMessage
		if err := json.Unmarshal(text, &same); err != nil || same == nil || len(same) != len(body) {
			t.Errorf("%q is read as %d members, encoding/json says %d, %v", text, len(body), len(same), err)
		}
		for field := range body {
			body.Text(field)
			body.Integer(field)
			body.Decimal(field)
			body.Time(field)
			if inner, wrong := body.Object(field); wrong == nil && inner == nil {
				t.Errorf("%q: no object and no refusal", text)
			}
		}
	})
}

func FuzzKey(f *testing.F) {
	for _, text := range []string{
		"", "8e03978e-40d5-43e8-bc93-6894a57f9324", "8E03978E-40D5-43E8-BC93-6894A57F9324",
		"{8e03978e-40d5-43e8-bc93-6894a57f9324}", "00000000-0000-0000-0000-000000000000", strings.Repeat("-", 36),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		key, err := Key(http.Header{HeaderKey: {text}})
		if err != nil {
			if !errors.Is(err, ErrKeyMissing) && !errors.Is(err, ErrKeyInvalid) {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if key.String() != strings.ToLower(text) {
			t.Errorf("%q is read as %s", text, key)
		}
		if twice, err := Key(http.Header{HeaderKey: {text, strings.ToUpper(text)}}); err != nil || twice != key {
			t.Errorf("%q twice: %v", text, err)
		}
		if _, err := Key(http.Header{HeaderKey: {text, uuid.NewString()}}); !errors.Is(err, ErrKeyInvalid) {
			t.Errorf("%q and another: %v", text, err)
		}
	})
}

func FuzzMoment(f *testing.F) {
	for _, text := range []string{
		"2030-01-01T00:00:00Z", "2030-01-01T00:00:00.123456789+14:00", "2030-01-01T24:00:00Z", "2030-02-29T00:00:00Z",
		"2030-01-01T00:00:60Z", "2030-01-01t00:00:00z", "0000-01-01T00:00:00Z", "2030-01-01T00:00:00-00:00",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		encoded, err := json.Marshal(text)
		if err != nil || !utf8.ValidString(text) {
			return
		}
		got, wrong := Object{"t": encoded}.Time("t")
		if wrong != nil || text == "" {
			return
		}
		want, err := time.Parse(time.RFC3339Nano, text)
		if err != nil || got.After(want) || want.Sub(got) >= time.Microsecond || got.Location() != time.UTC {
			t.Errorf("%q is read as %v", text, got)
		}
	})
}

func FuzzIDs(f *testing.F) {
	for _, text := range []string{
		"1", "0", "-1", "1,2,2", "1,,2", " 1", "9223372036854775807", "9223372036854775808", "01",
		strings.Repeat("1,", 200),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ids, ok := parseIDs(text)
		if !ok {
			return
		}
		seen := map[int64]bool{}
		for _, id := range ids {
			if id < 1 || seen[id] {
				t.Errorf("%q is read as %v", text, ids)
			}
			seen[id] = true
		}
		if len(ids) == 0 || len(ids) > WatchedMax {
			t.Errorf("%q is read as %d ids", text, len(ids))
		}
	})
}

func FuzzAccept(f *testing.F) {
	for _, text := range []string{"", "*/*", "text/html", "TEXT/html;q=0", "text/htm", "application/json,text/html"} {
		f.Add(text, "application/json")
	}
	f.Fuzz(func(t *testing.T, accept, contentType string) {
		r := httptest.NewRequest(http.MethodGet, "/auctions", nil)
		r.Header = http.Header{"Accept": {accept}, "Content-Type": {contentType}}
		if AsksPage(r) && !strings.Contains(strings.ToLower(accept), "text/html") {
			t.Errorf("Accept %q gets a page", accept)
		}
		if AsksPage(r) && Media(r) == MediaJSON {
			t.Errorf("an API call of %q gets a page", contentType)
		}
	})
}

func FuzzForm(f *testing.F) {
	for _, text := range []string{"", "a=b", "a=%ff", "%", "a;b", "a=b&a=c", "=%00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, body string) {
		values, err := parseForm(body)
		if err != nil {
			if !errors.As(err, new(MalformedError)) {
				t.Errorf("%q is refused with %v", body, err)
			}
			return
		}
		for name, list := range values {
			for _, value := range append(list, name) {
				if !utf8.ValidString(value) {
					t.Errorf("%q has %q", body, value)
				}
			}
		}
	})
}

func FuzzPathAfter(f *testing.F) {
	for _, text := range []string{
		"", "/", "/me", "//x", `/\x`, "https://x", "/a?b#c", "/%2f/x", "/\x00", "javascript:x",
	} {
		f.Add(text)
	}
	house, _ := url.Parse("https://house.example/signin")
	f.Fuzz(func(t *testing.T, next string) {
		path := PathAfter(next)
		// As a browser reads it: backslashes are slashes, tabs and line ends are nothing.
		browser := strings.NewReplacer(`\`, "/", "\t", "", "\n", "", "\r", "").Replace(path)
		led, err := house.Parse(browser)
		if err != nil || led.Host != house.Host || led.Scheme != house.Scheme {
			t.Errorf("%q leads to %v, %v", next, led, err)
		}
	})
}

func FuzzLocalTime(f *testing.F) {
	for _, text := range []string{
		"2030-03-31T02:30", "2030-10-27T02:30", "2030-10-27T02:30:59", "0001-01-01T00:00", "9999-12-31T23:59",
		"2030-01-01", "",
	} {
		f.Add(text, "Europe/Berlin")
	}
	f.Add("2030-10-06T02:15", "Australia/Lord_Howe") // a change of half an hour
	f.Add("2011-12-30T12:00", "Pacific/Apia")        // a day that did not exist
	f.Fuzz(func(t *testing.T, text, zoneName string) {
		zone, wrong := Zone(zoneName)
		if wrong != nil {
			return
		}
		moment, both, wrong := LocalTime("endTime", text, "", zone)
		if wrong != nil {
			if len(both) == 0 {
				return
			}
			first, second := both[0].In(zone), both[1].In(zone)
			if len(both) != 2 || !first.Before(second) ||
				first.Format(localLayouts[1]) != second.Format(localLayouts[1]) {
				t.Errorf("%q in %s may be %v", text, zoneName, both)
			}
			return
		}
		shown := moment.In(zone)
		if got := shown.Format(localLayouts[0]); got != text && shown.Format(localLayouts[1]) != text {
			t.Errorf("%q in %s is read as %v", text, zoneName, shown)
		}
		for _, apart := range []time.Duration{
			time.Hour, 30 * time.Minute, 2 * time.Hour, -time.Hour, -30 * time.Minute, -2 * time.Hour,
		} {
			if other := moment.Add(apart).In(zone); other.Format(localLayouts[1]) == shown.Format(localLayouts[1]) {
				t.Errorf("%q in %s: also %v is shown so, not only %v", text, zoneName, other, shown)
			}
		}
	})
}

func TestLocalTimes(t *testing.T) {
	for _, c := range []struct{ text, zone, want string }{ // two times to choose from have a slash between them
		{"2030-07-01T20:15", "Europe/Berlin", "2030-07-01T18:15:00Z"},
		{"2030-01-01T20:15:30", "Europe/Berlin", "2030-01-01T19:15:30Z"},
		{"2030-03-31T01:59", "Europe/Berlin", "2030-03-31T00:59:00Z"},
		{"2030-03-31T02:00", "Europe/Berlin", ""},
		{"2030-03-31T02:59", "Europe/Berlin", ""},
		{"2030-03-31T03:00", "Europe/Berlin", "2030-03-31T01:00:00Z"},
		{"2030-10-27T02:00", "Europe/Berlin", "2030-10-27T00:00:00Z/2030-10-27T01:00:00Z"},
		{"2030-10-27T02:59", "Europe/Berlin", "2030-10-27T00:59:00Z/2030-10-27T01:59:00Z"},
		{"2030-10-27T03:00", "Europe/Berlin", "2030-10-27T02:00:00Z"},
		{"2030-11-03T01:30", "America/New_York", "2030-11-03T05:30:00Z/2030-11-03T06:30:00Z"},
		{"2030-10-06T02:15", "Australia/Lord_Howe", ""},
		{"2030-04-07T01:45", "Australia/Lord_Howe", "2030-04-06T14:45:00Z/2030-04-06T15:15:00Z"},
		{"2011-12-30T12:00", "Pacific/Apia", ""},
		{"2030-01-01T00:00", "Asia/Kathmandu", "2029-12-31T18:15:00Z"},
		{"2030-01-01T00:00", "UTC", "2030-01-01T00:00:00Z"},
		{"2030-02-30T00:00", "UTC", ""},
		{"2030-01-01 00:00", "UTC", ""},
		{"2030-1-1T0:00", "UTC", ""},
	} {
		zone, wrong := Zone(c.zone)
		if wrong != nil {
			t.Fatal(wrong)
		}
		moment, both, refused := LocalTime("endTime", c.text, "", zone)
		if refused == nil {
			both = []time.Time{moment}
		}
		var got []string
		for _, moment := range both {
			got = append(got, moment.UTC().Format(time.RFC3339))
		}
		if strings.Join(got, "/") != c.want || (refused == nil) != (len(got) == 1) {
			t.Errorf("%s in %s is %v, %v, want %q", c.text, c.zone, got, refused, c.want)
		}
	}
	zone, _ := Zone("Europe/Berlin")
	for offset, want := range map[string]string{"+02:00": "2030-10-27T00:30:00Z", "+01:00": "2030-10-27T01:30:00Z"} {
		moment, _, refused := LocalTime("endTime", "2030-10-27T02:30", offset, zone)
		if refused != nil || moment.UTC().Format(time.RFC3339) != want {
			t.Errorf("at %s: %v %v", offset, moment.UTC(), refused)
		}
	}
	if _, both, refused := LocalTime("endTime", "2030-10-27T02:30", "+05:00", zone); refused == nil || len(both) != 2 {
		t.Errorf("an offset of neither: %v %v", both, refused)
	}
}

func TestEveryLocaleIsWrittenItsOwnWay(t *testing.T) {
	for _, locale := range Locales {
		r := &http.Request{Header: http.Header{"Accept-Language": {locale}}}
		if got := Locale(r); got != locale {
			t.Errorf("a reader of %s gets %s", locale, got)
		}
	}
}

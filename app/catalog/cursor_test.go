package catalog

import (
	"testing"
	"time"

	"martelo/app/auction"
	"martelo/app/money"
)

func FuzzCursor(f *testing.F) {
	yen := money.MustCurrency("JPY")
	a := Auction{State: auction.State{ID: 42, EndAt: time.Date(2030, 1, 2, 3, 4, 5, 6000, time.UTC), Currency: yen, CurrentPrice: money.FromMinor(500, yen)}}
	for _, sort := range []Sort{SortEnding, SortPrice, SortNewest} {
		f.Add(cursorAt(a, sort).String())
	}
	for _, text := range []string{"", "x", "====", "ZW5kaW5nLjAuMQ", "ZW5kaW5nLi0wLjE", "cHJpY2UuKzEuMQ", "bmV3ZXN0LjAuLTE", "\x00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, sort := range []Sort{SortEnding, SortPrice, SortNewest} {
			c, err := readCursor(text, sort)
			if err != nil {
				continue
			}
			if text != "" && c.String() != text {
				t.Errorf("%q is read as %q", text, c)
			}
			if year := c.endAt.Year(); year < 1 || year > 9999 {
				t.Errorf("%q ends in the year %d", text, year)
			}
		}
	})
}

func TestCursorsComeBack(t *testing.T) {
	dinar := money.MustCurrency("KWD")
	a := Auction{State: auction.State{ID: 1 << 62, EndAt: time.Date(2030, 1, 2, 3, 4, 5, 6000, time.UTC), Currency: dinar, CurrentPrice: money.FromMinor(1234, dinar)}}
	for _, sort := range []Sort{SortEnding, SortPrice, SortNewest} {
		c, err := readCursor(cursorAt(a, sort).String(), sort)
		if err != nil || c.id != a.ID {
			t.Errorf("%s: %+v %v", sort, c, err)
		}
		if sort == SortEnding && !c.endAt.Equal(a.EndAt) || sort == SortPrice && c.price != 12340 {
			t.Errorf("%s: %+v", sort, c)
		}
	}
}

func FuzzSearchWords(f *testing.F) {
	for _, text := range []string{"", "a b", "o'b\\c", "\x00", "\xff", "!!!", "ﷺ", "a:*&b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		words, searches := searchWords(text)
		if words != "" && !searches {
			t.Errorf("%q becomes %q", text, words)
		}
		// Outside the quotes there is only what this package wrote.
		quoted, outside := false, ""
		for _, r := range words {
			if r == '\'' {
				quoted = !quoted
			} else if !quoted {
				outside += string(r)
			}
			if r == 0 {
				t.Errorf("%q becomes %q", text, words)
			}
		}
		for rest := outside; rest != ""; {
			switch {
			case len(rest) >= 2 && rest[:2] == ":*":
				rest = rest[2:]
			case len(rest) >= 3 && rest[:3] == " & ":
				rest = rest[3:]
			default:
				t.Fatalf("%q becomes %q", text, words)
			}
		}
	})
}

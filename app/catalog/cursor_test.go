package catalog

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"martelo/app/auction"
	"martelo/app/money"
)

func FuzzCursor(f *testing.F) {
	yen := money.MustCurrency("JPY")
	a := Auction{
		State: auction.State{
			ID: 42, EndAt: time.Date(2030, 1, 2, 3, 4, 5, 6000, time.UTC), Currency: yen,
			CurrentPrice: money.FromMinor(500, yen),
		},
	}
	for _, sort := range []Sort{SortEnding, SortPrice, SortNewest} {
		f.Add(cursorAt(a, sort).String())
	}
	for _, text := range []string{
		"", "x", "====", "ZW5kaW5nLjAuMQ", "ZW5kaW5nLi0wLjE", "cHJpY2UuKzEuMQ", "bmV3ZXN0LjAuLTE", "\x00",
	} {
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
			if year := c.endAt().Year(); sort == SortEnding && (year < 1 || year > 9999) {
				t.Errorf("%q ends in the year %d", text, year)
			}
		}
	})
}

func TestCursorsComeBack(t *testing.T) {
	dinar := money.MustCurrency("KWD")
	a := Auction{
		State: auction.State{
			ID: 1 << 62, EndAt: time.Date(2030, 1, 2, 3, 4, 5, 6000, time.UTC), Currency: dinar,
			CurrentPrice: money.FromMinor(1234, dinar),
		},
	}
	for _, sort := range []Sort{SortEnding, SortPrice, SortNewest} {
		c, err := readCursor(cursorAt(a, sort).String(), sort)
		if err != nil || c.id != a.ID {
			t.Errorf("%s: %+v %v", sort, c, err)
		}
		if sort == SortEnding && !c.endAt().Equal(a.EndAt) || sort == SortPrice && c.key != 12340 {
			t.Errorf("%s: %+v", sort, c)
		}
	}
}

// TestOldCursorsGoOn holds that a page which somebody has open over a change of version leads on:
// in the order of end, where everything that is over follows what is not.
func TestOldCursorsGoOn(t *testing.T) {
	for text, want := range map[string]cursor{
		"ending.1893456000000000.42": {sort: SortEnding, key: 1893456000000000, id: 42},
		"over.1893456000000000.42":   {sort: SortEnding, over: true, key: 1893456000000000, id: 42},
		"price.12340.42":             {sort: SortPrice, key: 12340, id: 42},
		"newest.0.42":                {sort: SortNewest, id: 42},
	} {
		got, err := readCursor(base64.RawURLEncoding.EncodeToString([]byte(text)), want.sort)
		if err != nil || got != want {
			t.Errorf("%s is read as %+v %v", text, got, err)
		}
	}
	for _, text := range []string{"over.1.2", "ending.1.2", "newest.0.-1", "price.x.1", "price.1"} {
		if _, err := readCursor(base64.RawURLEncoding.EncodeToString([]byte(text)), SortPrice); err == nil {
			t.Errorf("%s is a position by price", text)
		}
	}
}

func FuzzSearchWords(f *testing.F) {
	for _, text := range []string{"", "a b", "o'b\\c", "\x00", "\xff", "!!!", "ﷺ", "a:*&b", "lot 13", "＃１３"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		words, searches := searchWords(text)
		if len(words) > searchWordsMax || len(words) > 0 && !searches || numberIn(text) < 0 {
			t.Errorf("%q becomes %q", text, words)
		}
		for _, word := range words {
			if !utf8.ValidString(word) || strings.ContainsRune(word, 0) ||
				utf8.RuneCountInString(word) > searchWordLengthMax {
				t.Errorf("%q becomes %q", text, words)
			}
		}
	})
}

func TestNumbersOfLots(t *testing.T) {
	for typed, want := range map[string]int64{
		"13": 13, " 13 ": 13, "#13": 13, "# 13": 13, "Lot 13": 13, "lot13": 13, "LOT #13": 13, "Lot no. 13": 13,
		"lote nº 13": 13, "lô số 13": 13, "１３": 13, "№ 13": 13,
		"0013": 13, "0": 0, "": 0, "13a": 0, "a 13": 0, "1 3": 0, "-13": 0, "12.50": 0, "lot": 0,
		"99999999999999999999": 0, "\xff13": 13,
	} {
		if got := numberIn(typed); got != want {
			t.Errorf("%q names lot %d, want %d", typed, got, want)
		}
	}
}

package money_test

import (
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"
	"unicode"

	"martelo/app/money"
)

// The notations that the tests read by. Package components derives those of all locales from CLDR.
var (
	english    = money.Notation{Locale: "en-US", Decimal: ".", Group: ","}
	indian     = money.Notation{Locale: "en-IN", Decimal: ".", Group: ",", Pairs: true}
	german     = money.Notation{Locale: "de", Decimal: ",", Group: "."}
	swiss      = money.Notation{Locale: "de-CH", Decimal: ".", Group: "'"}
	french     = money.Notation{Locale: "fr", Decimal: ",", Group: "\u202f"}
	brazilian  = money.Notation{Locale: "pt-BR", Decimal: ",", Group: "."}
	vietnamese = money.Notation{Locale: "vi", Decimal: ",", Group: "."}
	japanese   = money.Notation{Locale: "ja", Decimal: ".", Group: ","}
	canadian   = money.Notation{Locale: "en-CA", Decimal: ".", Group: ","}
	everywhere = []money.Notation{
		english, indian, german, swiss, french, brazilian, vietnamese, japanese, canadian,
	}
)

func TestReadTypedReadsAmountsAsPeopleWriteThem(t *testing.T) {
	for _, c := range []struct {
		text, currency string
		notation       money.Notation
		want           string
	}{
		{"1100", "USD", english, "1100.00"},
		{"$1,100.00", "USD", english, "1100.00"},
		{"1,100", "USD", english, "1100.00"},
		{"US$ 1,100", "USD", english, "1100.00"},
		{"$1,100.00 USD", "USD", english, "1100.00"},
		{"1100 usd", "USD", english, "1100.00"},
		{"1,234,567", "USD", german, "1234567.00"},
		{"1.234,50", "USD", english, "1234.50"},
		{"1030,50", "USD", english, "1030.50"},
		{"1030,5", "EUR", german, "1030.50"},
		{"€1100", "EUR", german, "1100.00"},
		{"1100 EUR", "EUR", german, "1100.00"},
		{"1.234,50 €", "EUR", german, "1234.50"},
		{"1.234.567", "EUR", english, "1234567.00"},
		{",50", "EUR", german, "0.50"},
		{"0,00", "EUR", german, "0.00"},
		{"0", "EUR", german, "0.00"},
		{"1,234.50", "EUR", german, "1234.50"},
		{"R$ 1.234,50", "BRL", brazilian, "1234.50"},
		{"r$1234,50", "BRL", brazilian, "1234.50"},
		{"US$ 1.160,00", "USD", brazilian, "1160.00"},
		{"1 160,00 $US", "USD", french, "1160.00"},
		{"1\u202f234,50", "EUR", french, "1234.50"},
		{"1\u00a0050.00", "USD", english, "1050.00"},
		{"1\u2009050", "USD", english, "1050.00"}, {"1 050", "KWD", french, "1050.000"},
		{"1'040.00", "CHF", swiss, "1040.00"},
		{"1’040", "CHF", swiss, "1040.00"},
		{"CHF 1'040.50", "CHF", swiss, "1040.50"},
		{"Fr. 1040", "CHF", swiss, "1040.00"}, {"1'040,00", "CHF", german, "1040.00"},
		{"₹12,34,567.50", "INR", indian, "1234567.50"}, {"1,00,000", "USD", indian, "100000.00"},
		{"100.000 ₫", "VND", vietnamese, "100000"},
		{"100.000đ", "VND", vietnamese, "100000"},
		{"1.500", "VND", vietnamese, "1500"},
		{"1,500", "JPY", english, "1500"},
		{"1.500", "JPY", german, "1500"},
		{"￥１，５００", "JPY", japanese, "1500"},
		{"1500円", "JPY", japanese, "1500"},
		{"１２３４．５０", "USD", japanese, "1234.50"}, {"１２３４。５０", "USD", japanese, "1234.50"},
		{"١٬٢٣٤٫٥٠", "USD", english, "1234.50"},
		{"١٢٣٤", "USD", english, "1234.00"},
		{"१२३४.५०", "USD", indian, "1234.50"},
		{"۱۲۳۴", "USD", english, "1234.00"},
		{"\u200e1100\u200f", "USD", english, "1100.00"},
		{"\u2066$\u20691,100\u2069", "USD", english, "1100.00"},
		{"  1100\t", "USD", english, "1100.00"},
		{"1.500", "KWD", english, "1.500"},
		{"1,500", "KWD", german, "1.500"},
		{"1.234,567", "KWD", english, "1234.567"},
		{"1500.125", "KWD", german, "1500.125"},
		{"999999999999,99", "EUR", german, "999999999999.99"},
	} {
		got, err := money.ReadTyped(c.text, money.MustCurrency(c.currency), c.notation)
		if err != nil || got.String() != c.want {
			t.Errorf("%q in %s by %s = %s, %v; want %s", c.text, c.currency, c.notation.Locale, got, err, c.want)
		}
	}
}

func TestReadTypedAsksWhatCouldMeanTwoThings(t *testing.T) {
	for _, c := range []struct {
		text, currency string
		notations      []money.Notation
		want           string // the readings
	}{
		{"1.500", "USD", everywhere, "1.50 1500.00"},
		{"1.500", "EUR", everywhere, "1.50 1500.00"},
		{"€ 1.500", "EUR", everywhere, "1.50 1500.00"},
		{"1.501", "USD", everywhere, "1501.00"},
		{"12.340", "BRL", everywhere, "12.34 12340.00"},
		{"100.000", "USD", everywhere, "100.00 100000.00"},
		{"1.500", "JPY", []money.Notation{english, french, swiss}, "1500"},
		{"1,500", "VND", []money.Notation{german, french, vietnamese}, "1500"},
		{"1,500", "USD", []money.Notation{german, french, swiss, brazilian}, "1.50 1500.00"},
		{"1.500", "KWD", []money.Notation{german, french}, "1.500 1500.000"},
		{"1,234", "KWD", []money.Notation{swiss}, "1.234 1234.000"},
		{"1500.000", "USD", everywhere, "1500.00"},
		{"10,5000", "USD", everywhere, "10.50"},
		{"0.500", "USD", everywhere, "0.50"},
		{"1.234,500", "EUR", everywhere, "1234.50"},
		{"1500.00", "JPY", everywhere, "1500"},
		{"1500,0", "JPY", everywhere, "1500"},
		{"1,50,000", "USD", []money.Notation{english, german}, "150000.00"},
		{"1.2340", "KWD", everywhere, "1.234"},
		{"１．５００", "USD", everywhere, "1.50 1500.00"}, {"1。500", "USD", everywhere, "1.50 1500.00"},
	} {
		for _, notation := range c.notations {
			_, err := money.ReadTyped(c.text, money.MustCurrency(c.currency), notation)
			var ambiguous *money.AmbiguousError
			if !errors.As(err, &ambiguous) {
				t.Errorf("%q in %s by %s: %v", c.text, c.currency, notation.Locale, err)
				continue
			}
			var readings []string
			for _, reading := range ambiguous.Readings {
				readings = append(readings, reading.String())
			}
			if got := strings.Join(readings, " "); got != c.want {
				t.Errorf("%q in %s by %s may be %s, want %s", c.text, c.currency, notation.Locale, got, c.want)
			}
		}
	}
}

func TestReadTypedRefusesWhatIsNoAmountOfTheCurrency(t *testing.T) {
	for _, c := range []struct {
		text, currency string
		want           error
	}{
		{"", "USD", money.ErrNotDecimal},
		{"  ", "USD", money.ErrNotDecimal},
		{"$", "USD", money.ErrNotDecimal},
		{"abc", "USD", money.ErrNotDecimal},
		{"-5", "USD", money.ErrNotDecimal},
		{"+5", "USD", money.ErrNotDecimal},
		{"−5", "USD", money.ErrNotDecimal},
		{"1e3", "USD", money.ErrNotDecimal},
		{"1E3", "EUR", money.ErrNotDecimal},
		{"1k", "USD", money.ErrNotDecimal},
		{"5.", "USD", money.ErrNotDecimal},
		{"5,", "EUR", money.ErrNotDecimal},
		{"1..5", "USD", money.ErrNotDecimal},
		{"1,23,4", "USD", money.ErrNotDecimal},
		{"1.2.3", "USD", money.ErrNotDecimal},
		{"1 50", "USD", money.ErrNotDecimal},
		{"1,234,56", "USD", money.ErrNotDecimal},
		{"1,234 567", "USD", money.ErrNotDecimal},
		{"12'34.50", "USD", money.ErrNotDecimal},
		{"007", "USD", money.ErrNotDecimal},
		{"0,100,000", "USD", money.ErrNotDecimal},
		{"½", "USD", money.ErrNotDecimal},
		{"10²", "USD", money.ErrNotDecimal},
		{"1٢", "USD", money.ErrNotDecimal},
		{"1\u200f2", "USD", money.ErrNotDecimal},
		{"\u202e21\u202c3", "USD", money.ErrNotDecimal},
		{"€100", "USD", money.ErrNotDecimal},
		{"R$ 100", "USD", money.ErrNotDecimal},
		{"100 EUR", "USD", money.ErrNotDecimal},
		{"$100", "EUR", money.ErrNotDecimal},
		{"$100", "CAD", money.ErrNotDecimal},
		{"1\n2", "USD", money.ErrNotDecimal},
		{"1\x00", "USD", money.ErrNotDecimal},
		{"\xff1", "USD", money.ErrNotDecimal},
		{strings.Repeat("1", 65), "USD", money.ErrNotDecimal},
		{"1000000000000", "USD", money.ErrTooLarge},
		{"1,000,000,000,000", "USD", money.ErrTooLarge},
		{"1.505,505", "USD", money.ErrTooPrecise},
		{"1500.001", "USD", money.ErrTooPrecise},
		{"1.5", "JPY", money.ErrTooPrecise},
		{"1,50", "JPY", money.ErrTooPrecise}, {"1.00005", "CLF", money.ErrTooPrecise},
	} {
		got, err := money.ReadTyped(c.text, money.MustCurrency(c.currency), english)
		if !errors.Is(err, c.want) {
			t.Errorf("%q in %s = %s, %v; want %v", c.text, c.currency, got, err, c.want)
		}
	}
	if _, err := money.ReadTyped("$100", money.MustCurrency("USD"), canadian); !errors.Is(err, money.ErrNotDecimal) {
		t.Errorf("a dollar sign on a US lot in Canada: %v", err)
	}
}

// Whatever is typed, an amount read from it or offered as its reading has exactly the digits that
// were typed, with the decimals beginning at the last mark or nowhere.
func FuzzReadTyped(f *testing.F) {
	for _, seed := range []string{
		"1.500", "€1.234,50", "１２，３４", "1 234.5", "१,५०,०००", "\u200e12'000", "1e9", ",5", "-1", "1.2.3",
	} {
		for i := range everywhere {
			f.Add(seed, byte(i), byte(i))
		}
	}
	codes := []string{"USD", "EUR", "BRL", "JPY", "VND", "KWD", "CLF", "CHF"}
	f.Fuzz(func(t *testing.T, text string, notation, code byte) {
		c := money.MustCurrency(codes[int(code)%len(codes)])
		amount, err := money.ReadTyped(text, c, everywhere[int(notation)%len(everywhere)])
		readings := []money.Amount{amount}
		if err != nil {
			var ambiguous *money.AmbiguousError
			if !errors.As(err, &ambiguous) {
				return
			}
			readings = ambiguous.Readings
			if len(readings) == 0 || len(readings) > 2 || len(readings) == 2 && !readings[0].Less(readings[1]) {
				t.Fatalf("%q may be %v", text, readings)
			}
		}
		possible := possibleReadings(text, c.Digits())
		for _, reading := range readings {
			if !slices.ContainsFunc(possible, func(r *big.Rat) bool { return sameAmount(r, reading) }) {
				t.Fatalf("%q in %s was read as %s (%v)", text, c.Code(), reading, err)
			}
			if !reading.Biddable() {
				t.Fatalf("%q was read as %s, which is too large", text, reading)
			}
		}
	})
}

// possibleReadings is a slow way to read, independent of the real one: all digits as a whole
// number, and with the decimals after the last mark.
func possibleReadings(text string, decimals int) []*big.Rat {
	digits, afterMark := "", -1
	for _, r := range text {
		switch value := digitOf(r); {
		case value >= 0:
			digits += string(rune('0' + value))
			if afterMark >= 0 {
				afterMark++
			}
		case strings.ContainsRune(".,．，。、｡､٫", r):
			afterMark = 0
		}
	}
	whole, _ := new(big.Int).SetString("0"+digits, 10)
	readings := []*big.Rat{new(big.Rat).SetInt(whole)}
	if afterMark > 0 {
		scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(afterMark)), nil)
		readings = append(readings, new(big.Rat).SetFrac(whole, scale))
	}
	return readings
}

// digitOf counts how far a digit is from the first of its alphabet.
func digitOf(r rune) int {
	if !unicode.Is(unicode.Nd, r) {
		return -1
	}
	n := 0
	for unicode.Is(unicode.Nd, r-1) {
		r, n = r-1, n+1
	}
	return n % 10
}

func sameAmount(r *big.Rat, a money.Amount) bool {
	exact, _ := new(big.Rat).SetString(a.String())
	return exact.Cmp(r) == 0
}

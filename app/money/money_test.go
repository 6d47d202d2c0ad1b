package money_test

import (
	"errors"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"martelo/app/money"
)

func TestParseReadsPlainDecimalsExactly(t *testing.T) {
	for _, c := range []struct {
		text, currency, want string
	}{
		{"0", "USD", "0.00"}, {"0.10", "USD", "0.10"}, {"1250000", "USD", "1250000.00"}, {"10.5", "USD", "10.50"},
		{"10.5000000", "USD", "10.50"}, {"500", "JPY", "500"}, {"500.00", "JPY", "500"}, {"1.234", "KWD", "1.234"},
		{"999999999999.99", "USD", "999999999999.99"}, {"21474836.48", "USD", "21474836.48"},
		{"100000", "VND", "100000"},
		{"999999999999.9999", "CLF", "999999999999.9999"}, {"1.5", "BRL", "1.50"},
	} {
		decimal, err := money.Parse(c.text)
		if err != nil {
			t.Errorf("Parse(%q): %v", c.text, err)
			continue
		}
		amount, err := decimal.In(money.MustCurrency(c.currency))
		if err != nil || amount.String() != c.want {
			t.Errorf("%s %s = %q, %v; want %q", c.text, c.currency, amount, err, c.want)
		}
	}
}

func TestParseRefusesWhatCouldBeReadAsAnotherAmount(t *testing.T) {
	for text, want := range map[string]error{
		"": money.ErrNotDecimal, "1e3": money.ErrNotDecimal, "1E3": money.ErrNotDecimal, "+1": money.ErrNotDecimal,
		"-1": money.ErrNotDecimal,
		" 1": money.ErrNotDecimal, "1 ": money.ErrNotDecimal, "1,5": money.ErrNotDecimal,
		"1.234,50": money.ErrNotDecimal, "1_000": money.ErrNotDecimal,
		"１２": money.ErrNotDecimal, "٣": money.ErrNotDecimal, ".5": money.ErrNotDecimal, "5.": money.ErrNotDecimal,
		"1.2.3": money.ErrNotDecimal,
		"0x10":  money.ErrNotDecimal, "NaN": money.ErrNotDecimal, "Infinity": money.ErrNotDecimal,
		"007": money.ErrNotDecimal, "1\n": money.ErrNotDecimal,
		"1000000000000": money.ErrTooLarge, "1.00001": money.ErrTooPrecise,
		strings.Repeat("9", 500): money.ErrNotDecimal,
	} {
		if got, err := money.Parse(text); !errors.Is(err, want) {
			t.Errorf("Parse(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	yen, _ := money.Parse("10.5")
	if _, err := yen.In(money.MustCurrency("JPY")); !errors.Is(err, money.ErrTooPrecise) {
		t.Errorf("half a yen: %v", err)
	}
}

func TestUnknownCurrenciesAreRefused(t *testing.T) {
	for _, code := range []string{"", "usd", "US", "USDX", "ZZZ", "U$D"} {
		if _, err := money.ParseCurrency(code); !errors.Is(err, money.ErrUnknownCurrency) {
			t.Errorf("ParseCurrency(%q): %v", code, err)
		}
	}
}

// An independent exact arithmetic agrees: what is printed is what was read, and sums are sums.
func TestAmountsAgreeWithRationalArithmetic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := money.MustCurrency(rapid.SampledFrom([]string{"USD", "JPY", "KWD", "CLF", "EUR"}).Draw(t, "currency"))
		draw := func(name string) (money.Amount, *big.Rat) {
			a := money.FromMinor(rapid.Int64Range(0, 9_999_999_999_999_999).Draw(t, name), c)
			r, ok := new(big.Rat).SetString(a.String())
			if !ok {
				t.Fatalf("%q is no number", a)
			}
			return a, r
		}
		a, ra := draw("a")
		b, rb := draw("b")
		if sum, _ := new(big.Rat).SetString(a.Add(b).String()); sum.Cmp(new(big.Rat).Add(ra, rb)) != 0 {
			t.Fatalf("%s + %s = %s", a, b, a.Add(b))
		}
		if a.Less(b) != (ra.Cmp(rb) < 0) {
			t.Fatalf("%s < %s: %v", a, b, a.Less(b))
		}
		d, err := money.Parse(a.String())
		if errors.Is(err, money.ErrTooLarge) {
			return
		}
		again, inErr := d.In(c)
		if err != nil || inErr != nil || !again.Equal(a) {
			t.Fatalf("%s read again is %s, %v, %v", a, again, err, inErr)
		}
	})
}

func TestFormatWritesAsPeopleOfTheLocaleDo(t *testing.T) {
	usd, eur, jpy := money.MustCurrency("USD"), money.MustCurrency("EUR"), money.MustCurrency("JPY")
	for _, c := range []struct {
		amount       money.Amount
		locale, want string
	}{
		{money.FromMinor(110000, usd), "en-US", "$1,100.00"},
		{money.FromMinor(110000, eur), "de-DE", "1.100,00\u00a0€"},
		{money.FromMinor(5000, jpy), "en-US", "¥5,000"},
	} {
		if got := c.amount.Format(c.locale); got != c.want {
			t.Errorf("%s in %s: %q, want %q", c.amount, c.locale, got, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"1", "1.50", "1e3", "0.0001", "１", "999999999999.9999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := money.Parse(text)
		if err != nil {
			return
		}
		want, ok := new(big.Rat).SetString(text)
		got, inErr := d.In(money.MustCurrency("CLF"))
		exact, _ := new(big.Rat).SetString(got.String())
		if !ok || inErr != nil || exact.Cmp(want) != 0 {
			t.Fatalf("%q was read as %s", text, got)
		}
	})
}

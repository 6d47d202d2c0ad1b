package web

import (
	"strings"
	"testing"

	"github.com/bojanz/currency"
	"pgregory.net/rapid"

	"martelo/app/money"
	"martelo/app/refusal"
	"martelo/templates/words"
	"martelo/web/read"
)

// What a field is prefilled with is read back as the same amount, and so is what the page shows.
func TestShownAmountsAreReadBack(t *testing.T) {
	codes := currency.GetCurrencyCodes()
	rapid.Check(t, func(t *rapid.T) {
		locale := rapid.SampledFrom(read.Locales).Draw(t, "locale")
		c := money.MustCurrency(rapid.SampledFrom(codes).Draw(t, "currency"))
		amount := money.FromMinor(rapid.Int64Range(0, 99_999_999_999_999).Draw(t, "minor"), c)
		if !amount.Biddable() {
			return
		}
		notation := words.NotationOf(locale)
		for _, text := range []string{words.EditAmount(locale, amount), amount.Format(locale)} {
			got, err := money.ReadTyped(text, c, notation)
			if err != nil || !got.Equal(amount) {
				t.Fatalf("%q in %s by %s = %s, %v; want %s", text, c.Code(), locale, got, err, amount)
			}
		}
	})
}

func TestNotationsAreThoseOfTheLocale(t *testing.T) {
	for locale, want := range map[string]money.Notation{
		"en-US": {Decimal: ".", Group: ","}, "de": {Decimal: ",", Group: "."}, "fr": {Decimal: ",", Group: "\u202f"},
		"de-CH": {Decimal: ".", Group: "'"}, "en-IN": {Decimal: ".", Group: ",", Pairs: true},
		"pl": {Decimal: ",", Group: "\u00a0"},
	} {
		want.Locale = locale
		if got := words.NotationOf(locale); got != want {
			t.Errorf("%s: %+v, want %+v", locale, got, want)
		}
	}
	for _, locale := range read.Locales {
		notation := words.NotationOf(locale)
		if !strings.Contains(".,", notation.Decimal) || notation.Group == notation.Decimal {
			t.Errorf("%s: %+v", locale, notation)
		}
	}
}

func TestProblemsWithAmountsSayWhatToDo(t *testing.T) {
	for _, c := range []struct{ text, locale, currency, want string }{
		{"", "en-US", "USD", "Enter an amount in USD, for example 1,250.00."},
		{"x", "de", "EUR", "Enter an amount in EUR, for example 1.250,00."},
		{"1.500", "en-US", "USD", "Did you mean $1.50 or $1,500.00? Choose the amount."},
		{"1.5", "ja", "JPY", "Enter an amount without decimals: JPY has none."},
		{"1500.005", "en-US", "USD", "Enter at most 2 decimals: USD has no more."},
		{"1000000000000", "en-US", "USD", "Enter a smaller amount: at most 12 digits before the decimals."},
	} {
		currency := money.MustCurrency(c.currency)
		_, err := money.ReadTyped(c.text, currency, words.NotationOf(c.locale))
		refused := refusal.Of("amount", refusal.Typed{Currency: currency, Cause: err})
		if got := words.In(c.locale).Reason(refused); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

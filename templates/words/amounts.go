package words

import (
	"strings"
	"unicode"

	"martelo/app/money"
)

// NotationOf is how people of a locale (BCP 47) write amounts. It looks at how twelve million are
// printed, which is "12,345,678.90" in English, so that what people type is read by the same data
// as what they are shown.
func NotationOf(locale string) money.Notation {
	printed := figures(locale, money.FromMinor(12_345_678_90, money.MustCurrency("EUR")))
	marks := strings.FieldsFunc(printed, unicode.IsDigit)
	digits := strings.FieldsFunc(printed, func(r rune) bool { return !unicode.IsDigit(r) })
	return money.Notation{
		Locale: locale, Decimal: marks[len(marks)-1], Group: marks[0], Pairs: len(digits[1]) == 2,
	}
}

// figures is an amount as the locale prints it, without the currency's sign.
func figures(locale string, a money.Amount) string {
	return strings.TrimFunc(a.Format(locale), func(r rune) bool { return !unicode.IsDigit(r) })
}

// EditAmount writes an amount as a form's field holds it: in the locale's notation, without
// currency sign and groups. money.ReadTyped reads it back to the same amount.
func EditAmount(locale string, a money.Amount) string {
	return strings.Replace(a.String(), ".", NotationOf(locale).Decimal, 1)
}

// ExampleAmount shows how an amount may be written.
func ExampleAmount(locale string, c money.Currency) string {
	minor := int64(1250)
	for range c.Digits() {
		minor *= 10
	}
	return figures(locale, money.FromMinor(minor, c))
}

// grouped writes a number that is told, with the locale's sign between groups of digits.
func grouped(locale string, n int64) string {
	return figures(locale, money.FromMinor(n, money.MustCurrency("JPY")))
}

package components

import (
	"errors"
	"strings"
	"unicode"

	"martelo/app/money"
)

// NotationOf is how people of a locale (BCP 47) write amounts. It looks at how twelve million are printed, which is
// "12,345,678.90" in English, so that what people type is read by the same data as what they are shown.
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

// EditAmount writes an amount as a form's field holds it: in the locale's notation, without currency sign and groups.
// money.ReadTyped reads it back to the same amount.
func EditAmount(locale string, a money.Amount) string {
	return strings.Replace(a.String(), ".", NotationOf(locale).Decimal, 1)
}

// AmountProblem says in a sentence what is wrong with an amount that money.ReadTyped refused, or asks what was meant.
// In that case the readings of *money.AmbiguousError make the buttons beside the sentence.
func AmountProblem(locale string, c money.Currency, err error) string {
	var ambiguous *money.AmbiguousError
	switch {
	case errors.As(err, &ambiguous):
		readings := make([]string, len(ambiguous.Readings))
		for i, reading := range ambiguous.Readings {
			readings[i] = reading.Format(locale)
		}
		return "Did you mean " + strings.Join(readings, " or ") + "? Choose the amount."
	case errors.Is(err, money.ErrTooLarge):
		return "Enter a smaller amount: at most 12 digits before the decimals."
	case errors.Is(err, money.ErrTooPrecise) && c.Digits() == 0:
		return "Enter an amount without decimals: " + c.Code() + " has none."
	case errors.Is(err, money.ErrTooPrecise):
		return "Enter at most " + Number(int64(c.Digits())) + " decimals: " + c.Code() + " has no more."
	}
	return "Enter an amount in " + c.Code() + ", for example " + ExampleAmount(locale, c) + "."
}

// ExampleAmount shows how an amount may be written.
func ExampleAmount(locale string, c money.Currency) string {
	minor := int64(1250)
	for range c.Digits() {
		minor *= 10
	}
	return figures(locale, money.FromMinor(minor, c))
}

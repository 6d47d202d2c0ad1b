// Package money is exact amounts of a currency: read from text, compared, added and printed, never
// through a float.
//
// An Amount is a whole number of the currency's minor units (ISO 4217: cents for USD, fils for KWD,
// yen for JPY), which is also how PostgreSQL and Redis hold it.
package money

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bojanz/currency"
)

const (
	// IntegerDigitsMax is the contract's largest amount: 12 digits before the point. With the four
	// decimals that the finest currency has, 16 digits in all stay far below what an int64 holds.
	IntegerDigitsMax = 12
	// decimalsMax is the most decimals any ISO 4217 currency has (CLF, UYW).
	decimalsMax = 4
	// textLengthMax bounds what is worth reading: any amount fits many times over, and a longer
	// text is somebody's mistake.
	textLengthMax = 64
)

// Refusals of Parse, ParseCurrency and In, to be shown to whoever typed the amount.
var (
	ErrNotDecimal      = errors.New("money: not a plain decimal number such as 1250.00")
	ErrTooLarge        = errors.New("money: more than 12 digits before the point")
	ErrTooPrecise      = errors.New("money: more decimals than the currency has")
	ErrUnknownCurrency = errors.New("money: not an ISO 4217 currency code in capital letters")
)

// Currency is an ISO 4217 currency with its number of decimals. The zero value is no currency.
type Currency struct {
	code   string
	digits uint8
}

// ParseCurrency looks up a three-letter ISO 4217 code such as "USD".
func ParseCurrency(code string) (Currency, error) {
	digits, ok := currency.GetDigits(code)
	if !ok || digits > decimalsMax {
		return Currency{}, ErrUnknownCurrency
	}
	return Currency{code: code, digits: digits}, nil
}

// StoredCurrency is the currency of amounts that were written down with its number of decimals,
// which says how to read them for ever. Lists of currencies change: a code may have left them
// since, or come to have other decimals.
func StoredCurrency(code string, digits int) Currency {
	return Currency{code: code, digits: uint8(min(max(digits, 0), decimalsMax))}
}

// MustCurrency is ParseCurrency for constants.
func MustCurrency(code string) Currency {
	c, err := ParseCurrency(code)
	if err != nil {
		panic(fmt.Sprintf("%v: %q", err, code))
	}
	return c
}

// CurrencyOf is what people pay with in a country (ISO 3166, such as "BR"), if that is known.
func CurrencyOf(country string) (Currency, bool) {
	code, ok := currency.ForCountryCode(country)
	if !ok {
		return Currency{}, false
	}
	c, err := ParseCurrency(code)
	return c, err == nil
}

// Code is the ISO 4217 code.
func (c Currency) Code() string { return c.code }

// Digits is how many decimals the currency has: 0 for JPY, 2 for USD, 3 for KWD.
func (c Currency) Digits() int { return int(c.digits) }

// Decimal is a number as somebody wrote it, read exactly, before it is known which currency it is
// in.
type Decimal struct {
	unscaled int64 // without the point and without trailing zeros after it
	decimals uint8
}

// Parse reads a plain decimal: ASCII digits with at most one point, as in "1250", "1250.5" or
// "0.10". Signs, exponents, grouping, spaces, other alphabets' digits and leading zeros are
// refused, because each has been misread as another amount somewhere. It returns ErrNotDecimal,
// ErrTooLarge, or ErrTooPrecise when no currency has so many decimals.
func Parse(text string) (Decimal, error) {
	if len(text) > textLengthMax {
		return Decimal{}, ErrNotDecimal
	}
	whole, fraction, point := strings.Cut(text, ".")
	if !digitsOnly(whole) || point && !digitsOnly(fraction) || len(whole) > 1 && whole[0] == '0' {
		return Decimal{}, ErrNotDecimal
	}
	if len(whole) > IntegerDigitsMax {
		return Decimal{}, ErrTooLarge
	}
	fraction = strings.TrimRight(fraction, "0")
	if len(fraction) > decimalsMax {
		return Decimal{}, ErrTooPrecise
	}
	unscaled, err := strconv.ParseInt(whole+fraction, 10, 64)
	if err != nil {
		return Decimal{}, ErrNotDecimal
	}
	return Decimal{unscaled: unscaled, decimals: uint8(len(fraction))}, nil
}

func digitsOnly(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// In says how much the number is in a currency, or ErrTooPrecise if the currency cannot express it.
func (d Decimal) In(c Currency) (Amount, error) {
	if d.decimals > c.digits {
		return Amount{}, ErrTooPrecise
	}
	return Amount{minor: d.unscaled * pow10(c.digits-d.decimals), currency: c}, nil
}

func pow10(n uint8) int64 {
	p := int64(1)
	for range n {
		p *= 10
	}
	return p
}

// Amount is an exact amount of money. Amounts of different currencies do not mix: adding or
// comparing them panics, since no input can bring it about, only a fault of the program.
type Amount struct {
	minor    int64
	currency Currency
}

// FromMinor makes an amount from a whole number of minor units: FromMinor(1050, USD) is 10.50
// dollars.
func FromMinor(minor int64, c Currency) Amount { return Amount{minor: minor, currency: c} }

// Minor is the amount in minor units.
func (a Amount) Minor() int64 { return a.minor }

// Currency is the currency of the amount.
func (a Amount) Currency() Currency { return a.currency }

// IsPositive tells whether the amount is more than nothing.
func (a Amount) IsPositive() bool { return a.minor > 0 }

// Add is a + b.
func (a Amount) Add(b Amount) Amount {
	a.mustMatch(b)
	return Amount{minor: a.minor + b.minor, currency: a.currency}
}

// Biddable tells whether Parse would read the amount: whether it has at most 12 digits before the
// point.
func (a Amount) Biddable() bool {
	return a.minor/pow10(a.currency.digits) < pow10(IntegerDigitsMax)
}

// Times is a taken n times over, as for a step of several increments.
func (a Amount) Times(n int64) Amount { return Amount{minor: a.minor * n, currency: a.currency} }

// Less tells whether a < b.
func (a Amount) Less(b Amount) bool {
	a.mustMatch(b)
	return a.minor < b.minor
}

// Equal tells whether a and b are the same amount of the same currency.
func (a Amount) Equal(b Amount) bool { return a == b }

func (a Amount) mustMatch(b Amount) {
	if a.currency != b.currency {
		panic(fmt.Sprintf("money: %s and %s do not mix", a.currency.code, b.currency.code))
	}
}

// String prints the amount as the contract does: all the currency's decimals, a point, nothing else
// ("1100.00", "500").
func (a Amount) String() string {
	digits := int(a.currency.digits)
	if digits == 0 {
		return strconv.FormatInt(a.minor, 10)
	}
	sign, minor := "", a.minor
	if minor < 0 {
		sign, minor = "-", -minor
	}
	text := strconv.FormatInt(minor, 10)
	if len(text) <= digits {
		text = strings.Repeat("0", digits+1-len(text)) + text
	}
	return sign + text[:len(text)-digits] + "." + text[len(text)-digits:]
}

// Format prints the amount as people of a locale (BCP 47, such as "de-DE") write it: "1.100,00 €".
// The data is Unicode's CLDR.
func (a Amount) Format(locale string) string {
	formatter := currency.NewFormatter(currency.NewLocale(locale))
	formatter.MinDigits, formatter.MaxDigits = a.currency.digits, a.currency.digits
	amount, err := currency.NewAmount(a.String(), a.currency.code)
	if err != nil {
		return a.currency.code + " " + a.String()
	}
	return formatter.Format(amount)
}

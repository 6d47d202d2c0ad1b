package money

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bojanz/currency"
	"golang.org/x/text/width"
)

// typedLengthMax is in characters. It leaves room for an amount with groups, decimals, a currency
// sign and a code.
const typedLengthMax = 64

// groupLength is how many digits stand between two group signs. Some Indian languages put two
// there, except at the end.
const groupLength = 3

// Notation is how people of a locale write amounts.
type Notation struct {
	// Locale is the BCP 47 name. It says which currency signs people use.
	Locale string
	// Decimal is the sign before the decimals, Group the sign between groups of digits.
	Decimal, Group string
	// Pairs tells that digits are grouped as in "12,34,567.89".
	Pairs bool
}

// AmbiguousError refuses a text that could mean something else than it seems to, or that has more
// decimals than the currency. Readings are the amounts that may be meant, one or two of them, the
// smaller first: ask which it is.
type AmbiguousError struct{ Readings []Amount }

func (e *AmbiguousError) Error() string { return "money: may mean " + joinAmounts(e.Readings) }

func joinAmounts(amounts []Amount) string {
	texts := make([]string, len(amounts))
	for i, amount := range amounts {
		texts[i] = amount.String()
	}
	return strings.Join(texts, " or ")
}

// ReadTyped reads an amount as people write it: with group signs, a decimal sign, the currency's
// sign or code, spaces and the digits of any alphabet. The other notation is understood too where
// the text allows only one reading, as in "1.234,50". It returns *AmbiguousError for what has to be
// asked, ErrNotDecimal, ErrTooLarge or ErrTooPrecise.
func ReadTyped(text string, c Currency, n Notation) (Amount, error) {
	if !utf8.ValidString(text) || utf8.RuneCountInString(text) > typedLengthMax {
		return Amount{}, ErrNotDecimal
	}
	number, ok := plainDigits(withoutSigns(trim(plainMarks(text)), c, n))
	if !ok {
		return Amount{}, ErrNotDecimal
	}
	return readNumber(number, c, n)
}

// The marks that may stand between digits, after plainMarks. The last two are those of Arabic,
// which have one meaning.
const (
	point, comma, space, apostrophe = '.', ',', ' ', '\''
	arabicDecimal, arabicGroup      = '٫', '٬'
)

// plainMarks writes each kind of mark in one way: full-width letters and marks, spaces,
// apostrophes.
func plainMarks(text string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '。', '｡':
			return point
		case '、', '､':
			return comma
		case '’', '‘', 'ʼ', '＇':
			return apostrophe
		}
		if unicode.Is(unicode.Zs, r) || r == '\t' {
			return space
		}
		return r
	}, width.Fold.String(text))
}

// trim takes away what a copied amount brings along at its ends: space, and marks of direction that
// take no place. Between digits such a mark may change the order in which they are seen, so it
// stays there and is refused.
func trim(text string) string {
	return strings.TrimFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u200b' || r == '\ufeff'
	})
}

// withoutSigns takes the currency's sign or code away from either end. The sign of another currency
// stays and is refused: it would be another amount.
func withoutSigns(text string, c Currency, n Notation) string {
	signs := signsOf(c, n)
	for _, sign := range signs {
		if len(text) >= len(sign) && strings.EqualFold(text[:len(sign)], sign) {
			text = trim(text[len(sign):])
			break
		}
	}
	for _, sign := range signs {
		if begin := len(text) - len(sign); begin >= 0 && strings.EqualFold(text[begin:], sign) {
			return trim(text[:begin])
		}
	}
	return text
}

// customarySigns are those that people type and CLDR does not list.
var customarySigns = map[string][]string{
	"CHF": {"SFr.", "SFr", "Fr.", "Fr"}, "CNY": {"元"}, "GBP": {"￡"}, "JPY": {"円"}, "KRW": {"원"},
	"VND": {"VNĐ", "đồng", "đ"},
}

// signsOf are what stands for a currency beside an amount, the longest first. A sign that the
// locale keeps for another currency is left out: "$" is no sign of the Canadian dollar where the
// page writes "CA$".
func signsOf(c Currency, n Notation) []string {
	locale := currency.NewLocale(n.Locale)
	own, _ := currency.GetSymbol(c.code, locale)
	signs := append([]string{c.code, own}, customarySigns[c.code]...)
	for _, other := range []string{"en", "en-GB"} {
		sign, _ := currency.GetSymbol(c.code, currency.NewLocale(other))
		if !slices.ContainsFunc(currency.GetCurrencyCodes(), func(code string) bool {
			theirs, _ := currency.GetSymbol(code, locale)
			return code != c.code && theirs == sign
		}) {
			signs = append(signs, sign)
		}
	}
	for i := range signs {
		signs[i] = plainMarks(signs[i])
	}
	slices.SortFunc(signs, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return signs
}

// plainDigits writes the digits of whatever alphabet in ASCII. Digits of two alphabets in one
// number are refused, since some look like others of another value.
func plainDigits(text string) (string, bool) {
	zero, known := rune(0), false
	var b strings.Builder
	for _, r := range text {
		if !unicode.IsDigit(r) {
			b.WriteRune(r)
			continue
		}
		value := digitValue(r)
		if known && r-value != zero {
			return "", false
		}
		zero, known = r-value, true
		b.WriteRune('0' + value)
	}
	return b.String(), known
}

// digitValue relies on Unicode's promise that decimal digits stand in runs of ten, from 0 to 9.
func digitValue(r rune) rune {
	for _, run := range unicode.Nd.R16 {
		if rune(run.Lo) <= r && r <= rune(run.Hi) {
			return (r - rune(run.Lo)) % 10
		}
	}
	for _, run := range unicode.Nd.R32 {
		if rune(run.Lo) <= r && r <= rune(run.Hi) {
			return (r - rune(run.Lo)) % 10
		}
	}
	return 0
}

// readNumber chooses between the two ways to read ASCII digits and marks: the last mark begins the
// decimals, or it ends a group as all the marks before it do.
func readNumber(number string, c Currency, n Notation) (Amount, error) {
	runs, marks, ok := split(number)
	if !ok {
		return Amount{}, ErrNotDecimal
	}
	last := len(marks) - 1
	grouped := groupingOf(runs, marks)
	if last < 0 {
		return exactly(runs[0], "", c)
	}
	decimal, mark := notGrouped, marks[last]
	if (mark == point || mark == comma || mark == arabicDecimal) && !slices.Contains(marks[:last], mark) {
		decimal = groupingOf(runs[:last+1], marks[:last])
	}
	fraction := runs[last+1]
	switch {
	case grouped != notGrouped && decimal != notGrouped:
		return readSingle(runs[0], marks[0], fraction, c, n)
	case grouped != notGrouped:
		return understood(strings.Join(runs, ""), "", c, grouped == byThrees || n.Pairs)
	case decimal != notGrouped:
		return understood(strings.Join(runs[:last+1], ""), fraction, c, decimal == byThrees || n.Pairs)
	}
	return Amount{}, ErrNotDecimal
}

// readSingle reads what has one point or comma with three digits behind it, which may be a group or
// the decimals.
func readSingle(whole string, mark rune, fraction string, c Currency, n Notation) (Amount, error) {
	switch {
	case c.digits == 0 && string(mark) == n.Group: // no decimals are possible
		return exactly(whole+fraction, "", c)
	case int(c.digits) == len(fraction) && string(mark) == n.Decimal:
		return exactly(whole, fraction, c)
	case mark == comma && string(mark) == n.Group:
		return exactly(whole+fraction, "", c)
	}
	// A point is asked about in every locale: it is the decimal sign of programs, and of the
	// keypads of many phones.
	group, err := exactly(whole+fraction, "", c)
	if err != nil {
		return Amount{}, err
	}
	readings := []Amount{group}
	if decimal, err := exactly(whole, strings.TrimRight(fraction, "0"), c); err == nil {
		readings = []Amount{decimal, group}
	}
	return Amount{}, &AmbiguousError{Readings: readings}
}

// understood is the only amount a text can mean, asked about if it was not written as expected.
func understood(whole, fraction string, c Currency, usual bool) (Amount, error) {
	amount, err := exactly(whole, strings.TrimRight(fraction, "0"), c)
	if err != nil {
		return Amount{}, err
	}
	if !usual || len(fraction) > int(c.digits) {
		return Amount{}, &AmbiguousError{Readings: []Amount{amount}}
	}
	return amount, nil
}

// exactly is Parse and In for digits that were taken apart.
func exactly(whole, fraction string, c Currency) (Amount, error) {
	if fraction != "" {
		whole += "." + fraction
	}
	decimal, err := Parse(whole)
	if err != nil {
		return Amount{}, err
	}
	return decimal.In(c)
}

// split takes a number apart into runs of digits and the marks between them. A point or comma at
// the very beginning has a 0 before it.
func split(number string) (runs []string, marks []rune, ok bool) {
	if strings.IndexAny(number, ".,٫") == 0 {
		number = "0" + number
	}
	begin := 0
	for i, r := range number {
		if '0' <= r && r <= '9' {
			continue
		}
		if !strings.ContainsRune(".,' ٫٬", r) {
			return nil, nil, false
		}
		runs, marks = append(runs, number[begin:i]), append(marks, r)
		begin = i + utf8.RuneLen(r)
	}
	runs = append(runs, number[begin:])
	return runs, marks, !slices.Contains(runs, "")
}

// grouping says how digits are grouped.
type grouping int

const (
	notGrouped grouping = iota
	byThrees            // 1,234,567, and what has no group sign at all
	byPairs             // 12,34,567
)

func groupingOf(runs []string, marks []rune) grouping {
	first, last := runs[0], runs[len(runs)-1]
	switch {
	case len(marks) == 0:
		return byThrees
	case marks[0] == arabicDecimal || first[0] == '0' || len(first) > groupLength || len(last) != groupLength:
		return notGrouped
	case slices.ContainsFunc(marks, func(mark rune) bool { return mark != marks[0] }):
		return notGrouped
	}
	between := runs[1 : len(runs)-1]
	sized := func(size int) bool {
		return !slices.ContainsFunc(between, func(run string) bool { return len(run) != size })
	}
	switch {
	case sized(groupLength):
		return byThrees
	case sized(groupLength-1) && len(first) < groupLength:
		return byPairs
	}
	return notGrouped
}

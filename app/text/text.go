// Package text brings what people write (titles, descriptions, names) into the form in which the
// house keeps and shows it, and tells whether a reader would see anything of it.
package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"martelo/app/refusal"
)

const (
	// marksMax is how many combining marks a letter keeps. Thai needs two, Arabic three, pointed
	// Hebrew four. More of them grow over the lines above and below, where other people's prices
	// stand.
	marksMax = 4
	// clusterMarksMax is how many it keeps in scripts that write whole syllables with marks, such
	// as Tibetan and Burmese.
	clusterMarksMax = 8
	// placeLength is how many characters before a hidden one are shown to say where it stands.
	placeLength = 20
)

// Line cleans a text of one line, such as a title or a name: composed (NFC), with single plain
// spaces between words and none around them, with few marks on a letter, and without characters
// that show nothing. It refuses line breaks, control characters and the marks that reverse the text
// after them. Cleaning what is clean changes nothing.
func Line(typed string) (string, refusal.Reason) {
	if !utf8.ValidString(typed) {
		return "", refusal.NotText
	}
	typed = strings.TrimSpace(typed)
	for i, r := range typed {
		switch {
		case r == '\n' || r == '\r':
			return "", refusal.LineBreaks
		case unicode.IsControl(r) && !unicode.IsSpace(r) || overrides(r):
			return "", hiddenAt(typed, i, r)
		}
	}
	spaced := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == brailleBlank {
			return ' '
		}
		return r
	}, typed)
	return strings.Join(strings.Fields(settle(spaced)), " "), nil
}

// Lines cleans a text of many lines, such as a description, as Line does. Its spaces stay as they
// are, and every mark that ends a line ends one as "\n" does. Control characters that come along
// with copied text are dropped; it refuses only U+0000.
func Lines(typed string) (string, refusal.Reason) {
	if !utf8.ValidString(typed) {
		return "", refusal.NotText
	}
	if i := strings.IndexByte(typed, 0); i >= 0 {
		return "", hiddenAt(typed, i, 0)
	}
	broken := lineEnds.Replace(typed)
	printed := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, broken)
	return settle(printed), nil
}

// lineEnds are the marks that end a line or a page, the longest first.
var lineEnds = strings.NewReplacer(
	"\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n",
)

// Visible tells whether a reader would see anything of a text.
func Visible(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsGraphic(r) && !unicode.IsSpace(r) && !unicode.IsMark(r) && !showsNothing(r) &&
			r != brailleBlank
	})
}

// brailleBlank is the Braille pattern without dots: a space that is no space to programs.
const brailleBlank = '\u2800'

// overrides tells whether a character reverses the text that follows it, which nobody's writing
// needs.
func overrides(r rune) bool { return r == '\u202d' || r == '\u202e' }

func hiddenAt(text string, i int, r rune) refusal.Reason {
	before := []rune(strings.TrimSpace(strings.Map(printedOnly, text[:i])))
	return refusal.Hidden{Character: r, After: string(before[max(0, len(before)-placeLength):])}
}

func printedOnly(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case unicode.IsControl(r) || showsNothing(r):
		return -1
	}
	return r
}

// settle drops marks beyond the few and then what shows nothing, and composes what is left.
func settle(text string) string {
	if isASCII(text) {
		return text
	}
	return norm.NFC.String(withoutHidden(withFewMarks(norm.NFC.String(text))))
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// withoutHidden drops the characters that show nothing, but those that change how the characters
// around them look.
func withoutHidden(text string) string {
	var kept strings.Builder
	kept.Grow(len(text))
	before := rune(-1) // the character kept last
	letter := rune(-1) // the one kept last that is no mark on another
	flag := false      // inside the tags of a flag
	for i, r := range text {
		if showsNothing(r) {
			next, _ := utf8.DecodeRuneInString(text[i+utf8.RuneLen(r):])
			if !shapes(r, letter, before, next, flag) {
				continue
			}
		}
		flag = r == blackFlag || flag && isTag(r)
		kept.WriteRune(r)
		before = r
		if !unicode.IsMark(r) && !showsNothing(r) {
			letter = r
		}
	}
	return kept.String()
}

// Characters that show nothing and shape others.
const (
	nonJoiner    = '\u200c'
	joiner       = '\u200d'
	mongolianGap = '\u180e'
	blackFlag    = '\U0001f3f4' // tags after it make it the flag of a region
)

// shapes tells whether a character that shows nothing has work to do where it stands.
func shapes(r, letter, before, next rune, flag bool) bool {
	switch {
	case r == joiner && isPicture(before) && unicode.Is(unicode.So, next):
		return true
	case r == joiner || r == nonJoiner:
		return joins(letter) && before != joiner && before != nonJoiner
	case r == mongolianGap:
		return unicode.Is(unicode.Mongolian, before) && !showsNothing(before)
	case isTag(r):
		return flag
	case unicode.Is(unicode.Variation_Selector, r):
		return unicode.IsGraphic(before) && !unicode.IsSpace(before) && !showsNothing(before)
	}
	return false
}

// isPicture tells whether a character may stand before a joiner in a picture of several: a symbol,
// a skin tone, or the selector that makes a picture of a symbol.
func isPicture(r rune) bool {
	return unicode.Is(unicode.So, r) || r >= 0x1f3fb && r <= 0x1f3ff || r == '\ufe0f'
}

// joins tells whether a character is of a script in which joiners decide about the shape of
// letters.
func joins(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsDigit(r)) && !unicode.In(r, joinless...)
}

// joinless are the scripts whose letters stand alone, and the characters that no script owns.
var joinless = []*unicode.RangeTable{
	unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Armenian, unicode.Georgian, unicode.Hebrew, unicode.Han,
	unicode.Hiragana,
	unicode.Katakana, unicode.Hangul, unicode.Bopomofo, unicode.Thai, unicode.Lao, unicode.Common, unicode.Inherited,
}

func isTag(r rune) bool { return r >= 0xe0020 && r <= 0xe007f }

// showsNothing is Unicode's property Default_Ignorable_Code_Point, and the marks around
// annotations, which browsers do not show either.
func showsNothing(r rune) bool {
	switch {
	case r < 0xad:
		return false
	case unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
		return true
	case r >= 0x13430 && r <= 0x1343f: // these arrange hieroglyphs
		return false
	}
	return unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// withFewMarks drops marks beyond those that some language needs on one letter, and marks on
// nothing. What shows nothing is no letter.
func withFewMarks(text string) string {
	var kept strings.Builder
	kept.Grow(len(text))
	marks, most := 0, 0
	for _, r := range text {
		switch {
		case showsNothing(r):
		case !unicode.IsMark(r):
			marks, most = 0, marksOn(r)
		case marks == most:
			continue
		default:
			marks++
		}
		kept.WriteRune(r)
	}
	return kept.String()
}

func marksOn(r rune) int {
	switch {
	case unicode.IsSpace(r) || unicode.IsControl(r):
		return 0
	case unicode.In(
		r, unicode.Tibetan, unicode.Myanmar, unicode.Khmer, unicode.Tai_Tham, unicode.Balinese, unicode.Javanese,
	):
		return clusterMarksMax
	}
	return marksMax
}

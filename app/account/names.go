package account

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"martelo/app/auction"
)

// marksMax is how many marks one letter may carry. Every language does with fewer, and more would
// cover the neighbouring lines.
const marksMax = 4

// cleanName is a name of a person or token as it is kept: in one normal form, without characters
// that nobody sees.
func cleanName(typed string) (string, *auction.FieldError) {
	wrong := func(reason string) (string, *auction.FieldError) {
		return typed, &auction.FieldError{Field: FieldName, Reason: reason}
	}
	typed = strings.TrimSpace(typed)
	if !oneLine(typed) {
		return wrong("Enter a name of one line, without control characters.")
	}
	name := visible(norm.NFC.String(typed))
	switch {
	case !strings.ContainsFunc(name, showsSomething):
		return wrong("Enter your name.")
	case utf8.RuneCountInString(name) > NameLengthMax:
		return wrong("Shorten the name to at most 100 characters.")
	case marksInARow(name) > marksMax:
		return wrong("Remove the marks that are stacked on one letter of the name.")
	}
	return name, nil
}

// likeNumber is a name that could be taken for the number that the house shows beside a seller's
// name.
var likeNumber = regexp.MustCompile(`(?i)^seller\s*[#\p{N}]`)

// cleanSellerName is the name that buyers see. "" is allowed: then they see the number alone.
func cleanSellerName(typed string) (*string, *auction.FieldError) {
	if !strings.ContainsFunc(visible(strings.ToValidUTF8(typed, "?")), showsSomething) {
		return nil, nil
	}
	name, wrong := cleanName(typed)
	reason := ""
	switch {
	case wrong != nil:
		reason = wrong.Reason
	case likeNumber.MatchString(norm.NFKC.String(name)):
		reason = "Choose a name that does not look like a seller's number."
	case mixesAlphabets(name):
		reason = "Write each word of the name in one alphabet. Letters of two alphabets can look the same."
	}
	if reason != "" {
		return nil, &auction.FieldError{Field: FieldSellerName, Reason: reason}
	}
	return &name, nil
}

// visible removes characters that take no room or show nothing, and writes each stretch of blanks
// as one. A joiner stays between letters that it changes the look of, as in Persian and Hindi, and
// inside an emoji.
func visible(text string) string {
	runes := []rune(text)
	var kept strings.Builder
	for i, r := range runes {
		switch {
		case unicode.IsSpace(r):
			kept.WriteByte(' ')
		case joiner(r):
			if i > 0 && i+1 < len(runes) && joins(runes[i-1]) && joins(runes[i+1]) {
				kept.WriteRune(r)
			}
		case r == '\ufe0f' && i > 0 && unicode.Is(unicode.So, runes[i-1]): // asks for an emoji in colour
			kept.WriteRune(r)
		case !invisible(r):
			kept.WriteRune(r)
		}
	}
	return strings.Join(strings.Fields(kept.String()), " ")
}

func joiner(r rune) bool { return r == '\u200c' || r == '\u200d' }

// joins tells whether a joiner beside the character can be seen.
func joins(r rune) bool {
	return r == '\ufe0f' || unicode.In(r, unicode.So, unicode.Sk, unicode.Mn, unicode.Mc, unicode.Arabic, unicode.Syriac,
		unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu,
		unicode.Kannada, unicode.Malayalam, unicode.Sinhala)
}

// invisible tells whether a character shows nothing: Unicode's ignorable characters, the fillers of
// Hangul, and the empty pattern of braille, which is a symbol without a mark.
func invisible(r rune) bool {
	return r == '\u2800' || unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs, unicode.Noncharacter_Code_Point,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

func showsSomething(r rune) bool {
	return !invisible(r) && unicode.In(r, unicode.L, unicode.N, unicode.S, unicode.P)
}

func marksInARow(text string) int {
	most, now := 0, 0
	for _, r := range text {
		if now++; !unicode.In(r, unicode.Mn, unicode.Me) {
			now = 0
		}
		most = max(most, now)
	}
	return most
}

// alphabets are those whose letters look alike.
var alphabets = []*unicode.RangeTable{
	unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee, unicode.Coptic,
}

// mixesAlphabets tells whether one word of a text has letters of two alphabets, as "Alma" with a
// Cyrillic A has.
func mixesAlphabets(text string) bool {
	between := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }
	for word := range strings.FieldsFuncSeq(text, between) {
		found := 0
		for _, alphabet := range alphabets {
			if strings.ContainsFunc(word, func(r rune) bool { return unicode.Is(alphabet, r) }) {
				found++
			}
		}
		if found > 1 {
			return true
		}
	}
	return false
}

package account

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"martelo/app/auction"
	"martelo/app/text"
)

// cleanName is a name of a person or token as it is kept: in one normal form, without characters
// that nobody sees.
func cleanName(typed string) (string, *auction.FieldError) {
	wrong := func(reason string) (string, *auction.FieldError) {
		return typed, &auction.FieldError{Field: FieldName, Reason: reason}
	}
	name, err := text.Line(typed)
	switch {
	case err != nil:
		return wrong(text.Advice(err))
	case !text.Visible(name):
		return wrong("Enter your name.")
	case utf8.RuneCountInString(name) > NameLengthMax:
		return wrong("Shorten the name to at most 100 characters.")
	}
	return name, nil
}

// likeNumber is a name that could be taken for the number that the house shows beside a seller's
// name.
var likeNumber = regexp.MustCompile(`(?i)^seller\s*[#\p{N}]`)

// cleanSellerName is the name that buyers see. "" is allowed: then they see the number alone.
func cleanSellerName(typed string) (*string, *auction.FieldError) {
	if cleaned, err := text.Line(typed); err == nil && !text.Visible(cleaned) {
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

package account

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"martelo/app/refusal"
	"martelo/app/text"
)

// cleanName is a name of a person or token as it is kept: in one normal form, without characters
// that nobody sees.
func cleanName(typed string) (string, *refusal.FieldError) {
	name, reason := text.Line(typed)
	switch {
	case reason != nil:
	case !text.Visible(name):
		reason = refusal.Missing
	case utf8.RuneCountInString(name) > NameLengthMax:
		reason = refusal.TooLong{Max: NameLengthMax}
	default:
		return name, nil
	}
	return typed, refusal.Of(FieldName, reason)
}

// likeNumber is a name that could be taken for the number that the house shows beside a seller's
// name.
var likeNumber = regexp.MustCompile(`(?i)^seller\s*[#\p{N}]`)

// cleanSellerName is the name that buyers see. "" is allowed: then they see the number alone.
func cleanSellerName(typed string) (*string, *refusal.FieldError) {
	if cleaned, reason := text.Line(typed); reason == nil && !text.Visible(cleaned) {
		return nil, nil
	}
	name, wrong := cleanName(typed)
	var reason refusal.Reason
	switch {
	case wrong != nil:
		reason = wrong.Reason
	case likeNumber.MatchString(norm.NFKC.String(name)):
		reason = refusal.LikeNumber
	case mixesAlphabets(name):
		reason = refusal.MixedAlphabets
	}
	if reason != nil {
		return nil, refusal.Of(FieldSellerName, reason)
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

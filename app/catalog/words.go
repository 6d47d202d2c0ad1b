package catalog

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// searchWordsMax is how many words of a search count: more narrow nothing that people look for.
	searchWordsMax = 8
	// searchWordLengthMax is how many characters of a word count.
	searchWordLengthMax = 64
)

// searchWords turns what somebody typed into a text for to_tsquery in which every word must occur, each at least as a beginning. It tells
// whether anything was searched for; words is "" when nothing typed could occur in any text.
func searchWords(typed string) (words string, searches bool) {
	var terms []string
	for word := range strings.FieldsFuncSeq(strings.ToValidUTF8(typed, " "), separates) {
		searches = true
		if len(terms) == searchWordsMax {
			break
		}
		if !strings.ContainsFunc(word, carriesMeaning) {
			continue
		}
		// Quoted, a word is read by PostgreSQL as it read the texts: "12.50" and "e-mail" are found as they were written.
		terms = append(terms, "'"+quoted.Replace(firstOfWord(word))+"':*")
	}
	return strings.Join(terms, " & "), searches
}

var quoted = strings.NewReplacer("'", "''", `\`, `\\`)

func separates(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

func carriesMeaning(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

func firstOfWord(word string) string {
	if utf8.RuneCountInString(word) <= searchWordLengthMax {
		return word
	}
	return string([]rune(word)[:searchWordLengthMax])
}

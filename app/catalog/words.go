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
	// searchBeginningMin is how many letters of a word find longer words that begin so. One letter would find half of all texts, at a price
	// that only who runs the house pays; alone it is looked for as a word.
	searchBeginningMin = 2
)

// searchWords turns what somebody typed into a text for to_tsquery in which every word must occur, each at least as a beginning if it is not too short for that. It tells
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
		term := "'" + quoted.Replace(firstOfWord(word)) + "'"
		if begins(word) {
			term += ":*"
		}
		terms = append(terms, term)
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

// begins tells whether a word is looked for as the beginning of others. One character of a script that writes words with few of them
// says as much as several letters.
func begins(word string) bool {
	letters := 0
	for _, r := range word {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
			return true
		case carriesMeaning(r):
			letters++
		}
	}
	return letters >= searchBeginningMin
}

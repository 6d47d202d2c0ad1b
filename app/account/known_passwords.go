package account

import (
	_ "embed"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"martelo/app/refusal"
	"martelo/app/text"
)

// DemoPassword opens the accounts that martelo demo makes, and everybody may read it here. No other
// account may have it.
const DemoPassword = "martelo-demo"

// The passwords of at least 8 characters that were found most often in leaked lists, in small
// letters. They come from zxcvbn-ts (@zxcvbn-ts/language-common); its licence stands beside the
// list.
//
//go:embed common_passwords.txt
var commonPasswordsText string

var commonPasswords = sync.OnceValue(func() map[string]struct{} {
	known := map[string]struct{}{DemoPassword: {}}
	for password := range strings.Lines(commonPasswordsText) {
		known[strings.TrimSuffix(password, "\n")] = struct{}{}
	}
	return known
})

// unitMax is the longest stretch that, written again and again, is guessed as soon as one of its
// characters is.
const unitMax = 4

// easyToGuess says why a password would be among the first to be tried, or nil when it would not.
func easyToGuess(password string, email Email, name string) refusal.Reason {
	plain := strings.ToLower(norm.NFKC.String(password))
	bare := strings.TrimSpace(plain)
	_, common := commonPasswords()[bare]
	local, _, _ := strings.Cut(string(email), "@")
	switch {
	case !text.Visible(plain):
		return refusal.Blank
	case common || repeats(bare) || runsOn(bare):
		return refusal.Common
	case bare == string(email) || bare == local || bare == strings.ToLower(norm.NFKC.String(name)):
		return refusal.OwnName
	}
	return nil
}

// repeats tells whether a text is a short stretch written again and again, as in "12341234".
func repeats(text string) bool {
	for n := 1; n <= unitMax && 2*n <= len(text); n++ {
		if strings.ReplaceAll(text, text[:n], "") == "" {
			return true
		}
	}
	return false
}

// runsOn tells whether each character follows the one before it, up or down, as in "abcdefgh" and
// "87654321".
func runsOn(text string) bool {
	runes := []rune(text)
	if len(runes) < 2 || !unicode.IsLetter(runes[0]) && !unicode.IsDigit(runes[0]) {
		return false
	}
	step := runes[1] - runes[0]
	if step != 1 && step != -1 {
		return false
	}
	for i := 1; i < len(runes); i++ {
		if runes[i]-runes[i-1] != step {
			return false
		}
	}
	return true
}

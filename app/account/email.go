package account

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Email is an e-mail address in the one form in which it is kept, looked up and counted, so that no
// other spelling of it is a way around a limit. "" is no address.
type Email string

// CanonicalEmail brings what somebody typed into the one form of an e-mail address, or returns ""
// for what cannot be one. Capital letters, full-width letters and accents written as characters of
// their own have never told two people apart.
func CanonicalEmail(typed string) Email {
	if len(typed) > emailLengthMax*utf8.UTFMax || !utf8.ValidString(typed) {
		return ""
	}
	// Lower case is taken between two normal forms: it can leave letters that compose once more.
	email := norm.NFKC.String(strings.ToLower(norm.NFKC.String(strings.TrimSpace(typed))))
	if !plausibleEmail(email) {
		return ""
	}
	return Email(email)
}

// plausibleEmail refuses what cannot be an address. Whether it is one, only mail sent to it could
// tell.
func plausibleEmail(email string) bool {
	local, domain, found := strings.Cut(email, "@")
	if !found || local == "" || domain == "" || strings.Contains(domain, "@") ||
		strings.ContainsAny(email, " <>()[]\\,;:\"") {
		return false
	}
	n := utf8.RuneCountInString(email)
	return n >= emailLengthMin && n <= emailLengthMax && oneLine(email)
}

// plain tells whether an address has no letters that look like others. New accounts are refused
// with any other: "admın@example.com" must not stand beside "admin@example.com".
func (e Email) plain() bool {
	for i := range len(e) {
		if e[i] <= ' ' || e[i] > '~' {
			return false
		}
	}
	return e != ""
}

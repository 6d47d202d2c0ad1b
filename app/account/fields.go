package account

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"martelo/app/auction"
)

// Lengths in characters.
const (
	// PasswordLengthMin is NIST SP 800-63B's least for a password that somebody chose.
	PasswordLengthMin = 8
	// PasswordLengthMax leaves room for any sentence.
	PasswordLengthMax = 200
	// NameLengthMax is what fits a line, for people and tokens alike; the database holds it too.
	NameLengthMax = 100
	// EmailLengthMax is the longest address mail can be sent to (RFC 5321).
	EmailLengthMax = 254
	emailLengthMin = 3

	// passwordBytesMax bounds what is worth hashing.
	passwordBytesMax = PasswordLengthMax * utf8.UTFMax
)

// Names of the fields of an account, for the refusals.
const (
	FieldEmail    = "email"
	FieldName     = "name"
	FieldPassword = "password"
	FieldRole     = "role"
)

// clean brings the account into the form it is kept in and says what is wrong with it, in the order of the form.
func (a *Account) clean() auction.FieldErrors {
	var wrong auction.FieldErrors
	name, refusal := cleanName(a.Name)
	if refusal != nil {
		wrong = append(wrong, refusal)
	}
	a.Name, a.Email = name, normalEmail(a.Email)
	if !plausibleEmail(a.Email) {
		wrong = append(wrong, &auction.FieldError{Field: FieldEmail, Reason: "Write an e-mail address such as ana@example.com."})
	}
	switch n := utf8.RuneCountInString(a.Password); {
	case !utf8.ValidString(a.Password):
		wrong = append(wrong, &auction.FieldError{Field: FieldPassword, Reason: "A password is text."})
	case n < PasswordLengthMin:
		wrong = append(wrong, &auction.FieldError{Field: FieldPassword, Reason: "A password has at least 8 characters."})
	case n > PasswordLengthMax:
		wrong = append(wrong, &auction.FieldError{Field: FieldPassword, Reason: "A password has at most 200 characters."})
	}
	switch a.Role {
	case "":
		a.Role = RoleUser
	case RoleUser, RoleSeller, RoleAdmin:
	default:
		wrong = append(wrong, &auction.FieldError{Field: FieldRole, Reason: "A role is user, seller or admin."})
	}
	return wrong
}

func cleanName(name string) (string, *auction.FieldError) {
	name = strings.TrimSpace(name)
	switch n := utf8.RuneCountInString(name); {
	case !oneLine(name):
		return name, &auction.FieldError{Field: FieldName, Reason: "A name is one line of plain text."}
	case n == 0:
		return name, &auction.FieldError{Field: FieldName, Reason: "Give a name."}
	case n > NameLengthMax:
		return name, &auction.FieldError{Field: FieldName, Reason: "A name has at most 100 characters."}
	}
	return name, nil
}

// normalEmail is the one form in which an address is kept and looked up: capital letters have never told two people apart. It is "" for
// what is not text.
func normalEmail(email string) string {
	if !utf8.ValidString(email) {
		return ""
	}
	return strings.ToLower(norm.NFC.String(strings.TrimSpace(email)))
}

// plausibleEmail refuses what cannot be an address. Whether it is one, only mail sent to it could tell.
func plausibleEmail(email string) bool {
	local, domain, found := strings.Cut(email, "@")
	if !found || local == "" || domain == "" || strings.ContainsAny(email, " <>()[]\\,;:\"") || strings.Contains(domain, "@") {
		return false
	}
	n := utf8.RuneCountInString(email)
	return n >= emailLengthMin && n <= EmailLengthMax && oneLine(email)
}

// oneLine refuses what no reader can see or the database cannot hold: broken UTF-8, control characters, line ends, and the marks
// that turn the direction of the text around them.
func oneLine(text string) bool {
	if !utf8.ValidString(text) {
		return false
	}
	for _, r := range text {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			return false
		}
	}
	return true
}

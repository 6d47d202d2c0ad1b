package account

import (
	"unicode"
	"unicode/utf8"

	"martelo/app/refusal"
)

// Lengths in characters.
const (
	// PasswordLengthMin is NIST SP 800-63B's least for a password that somebody chose.
	PasswordLengthMin = 8
	// PasswordLengthMax leaves room for any sentence.
	PasswordLengthMax = 200
	// NameLengthMax is what fits a line, for people and tokens alike; the database holds it too.
	NameLengthMax = 100
	// emailLengthMax is the longest address mail can be sent to (RFC 5321).
	emailLengthMax = 254
	emailLengthMin = 3

	// passwordBytesMax bounds what is worth hashing.
	passwordBytesMax = PasswordLengthMax * utf8.UTFMax
)

// Names of the fields of an account, for the refusals.
const (
	FieldEmail      = "email"
	FieldName       = "name"
	FieldPassword   = "password"
	FieldRole       = "role"
	FieldSellerName = "seller-name"
)

// clean brings the account into the form it is kept in and says what is wrong with it, in the order
// of the form.
func (a *Account) clean() refusal.FieldErrors {
	var wrong refusal.FieldErrors
	name, refused := cleanName(a.Name)
	if refused != nil {
		wrong = append(wrong, refused)
	}
	email := CanonicalEmail(a.Email)
	a.Name, a.Email = name, string(email)
	switch {
	case email == "":
		wrong = append(wrong, refusal.Of(FieldEmail, refusal.NotEmail))
	case !email.plain():
		wrong = append(wrong, refusal.Of(FieldEmail, refusal.NotPlain))
	}
	if reason := refusePassword(a.Password, email, name); reason != nil {
		wrong = append(wrong, refusal.Of(FieldPassword, reason))
	}
	if a.Role == "" {
		a.Role = RoleUser
	}
	if !a.Role.known() {
		wrong = append(wrong, wrongRole)
	}
	return wrong
}

var wrongRole = refusal.Of(FieldRole, refusal.Unknown)

// refusePassword says what is wrong with a password that somebody chose, or nil.
func refusePassword(password string, email Email, name string) refusal.Reason {
	switch n := utf8.RuneCountInString(password); {
	case password == "":
		return refusal.Missing
	case !utf8.ValidString(password):
		return refusal.NotText
	case n < PasswordLengthMin:
		return refusal.TooShort{Min: PasswordLengthMin}
	case n > PasswordLengthMax:
		return refusal.TooLong{Max: PasswordLengthMax}
	}
	return easyToGuess(password, email, name)
}

// oneLine refuses what no reader can see or the database cannot hold: broken UTF-8, control
// characters, line ends, and the marks that turn the direction of the text around them.
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

package pages

import (
	"time"

	"martelo/templates/components"
	"martelo/templates/layouts"
)

// SignInView is the sign-in page. Next is where it leads afterwards.
type SignInView struct {
	layouts.PageView
	Next     string
	Email    string
	Problems components.Problems
	// Carried is a lot's form that somebody signed out had sent. It comes back after signing in.
	Carried []HiddenField
	// Notice says why one has to sign in, nil if one came of oneself.
	Notice *components.Notice
}

// SignUpView is the page that makes an account.
type SignUpView struct {
	layouts.PageView
	Next        string
	Name, Email string
	Problems    components.Problems
}

// Names of the fields of signing in, signing up and making tokens.
const (
	FieldName     = "name"
	FieldEmail    = "email"
	FieldPassword = "password"
	FieldNext     = "next"
)

// AccountView is the viewer's own page.
type AccountView struct {
	layouts.PageView
	Email  string
	Tokens []TokenRow
	// NewToken is a token that was just made. It is shown this once and kept nowhere.
	NewToken string
	// TokenName and Problems are the token form after a failed POST.
	TokenName string
	Problems  components.Problems
}

// TokenRow is one API token.
type TokenRow struct {
	ID        int64
	Name      string
	CreatedAt time.Time
}

func (v AccountView) roleWords() string {
	if v.Viewer == nil {
		return ""
	}
	switch v.Viewer.Role {
	case "seller":
		return "You may bid and sell."
	case "admin":
		return "You may bid and sell, and you moderate the house."
	}
	return "You may bid. Selling is one step away."
}

// PasswordLengthMin is what the sign-up page asks for, in characters.
const PasswordLengthMin = 8

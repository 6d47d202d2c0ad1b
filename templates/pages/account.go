package pages

import (
	"strings"
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
	// Contact is who helps with a forgotten password: an e-mail address, a web address, or words;
	// "" for nobody in particular.
	Contact string
}

// contactURL leads to the contact, "" if it is only words.
func (v SignInView) contactURL() string {
	switch at := strings.Index(v.Contact, "@"); {
	case strings.ContainsAny(v.Contact, " \t"):
		return ""
	case strings.HasPrefix(v.Contact, "https://"), strings.HasPrefix(v.Contact, "http://"):
		return v.Contact
	case at > 0 && at < len(v.Contact)-1:
		return "mailto:" + v.Contact
	}
	return ""
}

// SignUpView is the page that makes an account.
type SignUpView struct {
	layouts.PageView
	Next        string
	Name, Email string
	Problems    components.Problems
}

// Names of the fields of signing in, signing up and of the forms on the account page.
const (
	FieldName     = "name"
	FieldEmail    = "email"
	FieldPassword = "password"
	FieldNext     = "next"

	FieldSellerName  = "seller-name"
	FieldOldPassword = "old-password"
	FieldNewPassword = "new-password"
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
	// OpenSelling tells whether everybody may start selling here.
	OpenSelling bool
	// SellerName is what buyers see or are to see, and SellerProblems what was wrong with it.
	SellerName     string
	SellerProblems components.Problems
	// PasswordProblems is what was wrong with a change of password.
	PasswordProblems components.Problems
}

// sellerNumber is what buyers see of a seller without a name.
func (v AccountView) sellerNumber() string { return SellerView{ID: v.ViewerID()}.Number() }

// TokenRow is one API token.
type TokenRow struct {
	ID        int64
	Name      string
	CreatedAt time.Time
}

// shown is the token's name, or words for one without.
func (r TokenRow) shown() string {
	if r.Name == "" {
		return "no name"
	}
	return r.Name
}

func (v AccountView) roleWords() string {
	if v.Viewer == nil {
		return ""
	}
	switch v.Viewer.Role {
	case "seller":
		return "You can bid and sell."
	case "admin":
		return "You can bid and sell, and you moderate the house."
	}
	return "You can bid."
}

// PasswordLengthMin is what the sign-up page asks for, in characters.
const PasswordLengthMin = 8

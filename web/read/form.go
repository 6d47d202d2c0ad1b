package read

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"martelo/app/refusal"
)

// Form reads the body of a form. It returns ErrUnsupportedMedia, ErrTooLarge or a MalformedError.
func Form(r *http.Request) (url.Values, error) {
	if Media(r) != MediaForm {
		return nil, ErrUnsupportedMedia
	}
	body, err := Body(r)
	if err != nil {
		return nil, err
	}
	return parseForm(string(body))
}

func parseForm(body string) (url.Values, error) {
	values, err := url.ParseQuery(body)
	if err != nil {
		return nil, MalformedError{Reason: refusal.FormUnreadable}
	}
	for name, fields := range values {
		for _, value := range append(fields, name) {
			if !utf8.ValidString(value) {
				return nil, MalformedError{Reason: refusal.FormNotUTF8}
			}
		}
	}
	return values, nil
}

// PathAfter is where a form leads afterwards: a path of this house, or its front page for anything
// that could lead elsewhere.
func PathAfter(next string) string {
	parsed, err := url.Parse(next)
	elsewhere := err != nil || parsed.IsAbs() || parsed.Host != "" || parsed.User != nil ||
		!strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t")
	if elsewhere {
		return "/"
	}
	return next
}

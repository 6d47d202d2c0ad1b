package web

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"
)

// readForm reads the body of a form. It returns errUnsupportedMedia, errTooLarge or a malformedError.
func readForm(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	if mediaOf(r) != mediaForm {
		return nil, errUnsupportedMedia
	}
	body, err := readBody(w, r)
	if err != nil {
		return nil, err
	}
	return parseForm(string(body))
}

func parseForm(body string) (url.Values, error) {
	values, err := url.ParseQuery(body)
	if err != nil {
		return nil, malformedError("The form cannot be read.")
	}
	for name, fields := range values {
		for _, value := range append(fields, name) {
			if !utf8.ValidString(value) {
				return nil, malformedError("The form is not UTF-8.")
			}
		}
	}
	return values, nil
}

// pathAfter is where a form leads afterwards: a path of this house, or its front door for anything that could lead elsewhere.
func pathAfter(next string) string {
	parsed, err := url.Parse(next)
	elsewhere := err != nil || parsed.IsAbs() || parsed.Host != "" || parsed.User != nil ||
		!strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t")
	if elsewhere {
		return "/"
	}
	return next
}

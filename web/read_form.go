package web

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"martelo/app/refusal"
	"martelo/templates/components"
)

// formOf reads a form that acts in somebody's name. It returns what readForm returns, and errOtherViewer for a form that
// names another viewer than the one who sends it: it was opened before somebody else signed in in the same browser.
// Forms that programs make need not name anybody.
func (s *Server) formOf(c echo.Context) (url.Values, error) {
	values, err := readForm(c.Response(), c.Request())
	if err != nil || !values.Has(components.FieldViewer) {
		return values, err
	}
	who, err := s.caller(c)
	if err == nil && values.Get(components.FieldViewer) != components.Number(who.ID) {
		return values, errOtherViewer
	}
	return values, nil // without a caller it is for the handler to say so
}

// emptyForm reads the body of a call that needs none; a page's form names its viewer in it.
func (s *Server) emptyForm(c echo.Context) error {
	if mediaOf(c.Request()) == mediaForm {
		_, err := s.formOf(c)
		return err
	}
	_, err := readBody(c.Response(), c.Request())
	return err
}

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
		return nil, malformedError{refusal.FormUnreadable}
	}
	for name, fields := range values {
		for _, value := range append(fields, name) {
			if !utf8.ValidString(value) {
				return nil, malformedError{refusal.FormNotUTF8}
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

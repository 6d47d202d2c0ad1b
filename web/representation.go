package web

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

const (
	mediaJSON = "application/json"
	mediaForm = "application/x-www-form-urlencoded"
	mediaHTML = "text/html; charset=utf-8"
)

// asksPage tells whether the answer is to be HTML. What is sent as JSON is the API's and answered in kind.
func asksPage(r *http.Request) bool { return acceptsHTML(r.Header) && mediaOf(r) != mediaJSON }

// acceptsHTML is the contract's rule: anything else than an Accept with text/html in it gets JSON.
func acceptsHTML(header http.Header) bool {
	for _, accept := range header.Values("Accept") {
		if strings.Contains(strings.ToLower(accept), "text/html") {
			return true
		}
	}
	return false
}

// asksFragment tells whether a page's script asks for the part of a page that changes.
func asksFragment(r *http.Request) bool { return asksPage(r) && r.Header.Get("HX-Request") == "true" }

// mediaOf is the type of a request's body, "" when it says none or nonsense. Text must be UTF-8.
func mediaOf(r *http.Request) string {
	values := r.Header.Values("Content-Type")
	if len(values) != 1 {
		return ""
	}
	media, parameters, err := mime.ParseMediaType(values[0])
	if err != nil {
		return ""
	}
	if charset, given := parameters["charset"]; given && !strings.EqualFold(charset, "utf-8") {
		return ""
	}
	return media
}

// writeJSON encodes a value whole before it writes anything.
func writeJSON(c echo.Context, status int, media string, value any) error {
	var body bytes.Buffer
	if err := json.NewEncoder(&body).Encode(value); err != nil {
		return err
	}
	return send(c, status, media, &content{plain: body.Bytes()})
}

// formatTime writes a moment as the contract does: RFC 3339 in UTC, to the microsecond that the house decides by.
func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

package web

import (
	"bytes"
	"encoding/json"

	"github.com/labstack/echo/v4"

	"martelo/web/read"
)

const mediaHTML = "text/html; charset=utf-8"

// answer is the one place that decides what a client gets: JSON, a page, or the fragment of one
// that a page's script asks for. Without a fragment the script gets the page.
func answer(c echo.Context, json, page, fragment func() error) error {
	switch {
	case !read.AsksPage(c.Request()):
		return json()
	case fragment != nil && read.AsksFragment(c.Request()):
		return fragment()
	}
	return page()
}

// refused is answer for an error that a form tells of: people get the form again, with what is
// wrong, and programs the error.
func (s *Server) refused(c echo.Context, err error, form func(status int) error) error {
	return answer(c,
		func() error { return err },
		func() error { return form(s.logProblem(c, err).status) },
		nil,
	)
}

// writeJSON encodes a value whole before it writes anything.
func writeJSON(c echo.Context, status int, media string, value any) error {
	var body bytes.Buffer
	if err := json.NewEncoder(&body).Encode(value); err != nil {
		return err
	}
	return send(c, status, media, &content{plain: body.Bytes()})
}

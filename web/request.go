package web

import (
	"net/url"

	"github.com/labstack/echo/v4"

	"martelo/app/auction"
	"martelo/app/refusal"
	"martelo/templates/components"
	"martelo/templates/words"
	"martelo/web/read"
)

// formOf reads a form that acts in somebody's name. It returns what read.Form returns, and
// errOtherViewer for a form that names another viewer than the one who sends it: it was opened
// before somebody else signed in in the same browser. Forms that programs make need not name
// anybody.
func (s *Server) formOf(c echo.Context) (url.Values, error) {
	values, err := read.Form(c.Request())
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
	if read.Media(c.Request()) == read.MediaForm {
		_, err := s.formOf(c)
		return err
	}
	_, err := read.Body(c.Request())
	return err
}

// auctionID reads the id in the path. What cannot be an id is not found.
func auctionID(c echo.Context) (int64, error) {
	id, ok := read.ID(c.Param("id"))
	if !ok {
		return 0, auction.ErrNotFound
	}
	logOf(c).auctionID = id
	return id, nil
}

// languageOf is what a page's sentences are written in.
func languageOf(c echo.Context) words.Language { return words.In(read.Locale(c.Request())) }

// say writes a sentence in the language of a page.
func say(c echo.Context, key words.Key, figures refusal.Figures) string {
	return languageOf(c).Say(key, figures)
}

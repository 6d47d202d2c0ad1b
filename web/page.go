package web

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"martelo/app/account"
	"martelo/app/auction"
	"martelo/templates/components"
	"martelo/templates/fragments"
	"martelo/templates/layouts"
	"martelo/templates/pages"
	"martelo/web/read"
)

// Where a session keeps a message for the next page.
const (
	sessionFlashKind = "flash_kind"
	sessionFlashText = "flash_text"
)

// page draws a page whole and then answers with it, so that a page that cannot be drawn is not half
// an answer.
func (s *Server) page(c echo.Context, status int, drawing templ.Component) error {
	var body bytes.Buffer
	if err := drawing.Render(c.Request().Context(), &body); err != nil {
		return err
	}
	// What a page changes in a session is that a message was shown. If that cannot be kept it is
	// shown again, which is no reason to show nothing now.
	if err := s.keepSession(c); err != nil {
		logOf(c).fault = err
	}
	return answerPage(c, status, &content{plain: body.Bytes()})
}

func answerPage(c echo.Context, status int, html *content) error {
	vary := "Accept, Accept-Language, Cookie, HX-Request"
	if read.IsLotShow(c.Request()) {
		vary += ", User-Agent"
	}
	c.Response().Header().Set("Vary", vary)
	return send(c, status, mediaHTML, html)
}

// pageView is what every page has around it. Path is where the page itself is found.
func (s *Server) pageView(c echo.Context, title, path string) (layouts.PageView, error) {
	viewer, err := s.viewer(c)
	if err != nil {
		return layouts.PageView{}, err
	}
	return layouts.PageView{
		Title: title, Locale: read.Locale(c.Request()), Viewer: viewer, Path: path, ServerTime: s.Hub.Clock().Now(),
		Flash: s.takeFlash(c),
		House: s.House,
	}, nil
}

// viewer is who looks at a page, nil for a visitor. A token or session that is no longer good makes
// a visitor.
func (s *Server) viewer(c echo.Context) (*layouts.Viewer, error) {
	who, err := s.caller(c)
	for _, visitor := range []error{errUnauthenticated, errBadToken, account.ErrUnknownToken, account.ErrNoSuchUser} {
		if errors.Is(err, visitor) {
			return nil, nil
		}
	}
	if err != nil {
		return nil, err
	}
	v := &layouts.Viewer{ID: who.ID, Name: who.Name}
	if who.Role != account.RoleUser {
		v.Role = string(who.Role)
	}
	return v, nil
}

// barePageView is the same for nobody in particular, when it cannot be known who looks.
func (s *Server) barePageView(c echo.Context, title, path string) layouts.PageView {
	return layouts.PageView{
		Title: title, Locale: read.Locale(c.Request()), Path: path, ServerTime: s.Hub.Clock().Now(), House: s.House,
	}
}

// errorPage tells a person what did not work. It must not fail for the reason it tells of.
func (s *Server) errorPage(c echo.Context, p problem) error {
	path := "/"
	if c.Request().Method == http.MethodGet || c.Request().Method == http.MethodHead {
		path = c.Request().URL.RequestURI()
	} else if id, ok := read.ID(c.Param("id")); ok {
		path = components.AuctionPath(id) // what was posted concerned this lot
	} else if from, err := url.Parse(c.Request().Referer()); err == nil && from.Host == c.Request().Host {
		path = read.PathAfter(from.RequestURI())
	}
	view := pages.ErrorView{Status: p.status, RequestID: logOf(c).requestID}
	said := p.words(languageOf(c))
	switch p.page {
	case ownAdvice:
		view.Advice = said.Detail
	case ownWords:
		view.Headline, view.Advice = said.Title, said.Detail
	}
	var err error
	if view.PageView, err = s.pageView(c, said.Title, path); err != nil {
		view.PageView = s.barePageView(c, said.Title, path)
	}
	return s.page(c, p.status, pages.Error(view))
}

// flash leaves a message for the next page.
func (s *Server) flash(c echo.Context, kind components.NoticeKind, text string) error {
	ctx, err := s.session(c)
	if err != nil {
		return err
	}
	s.sessions.Put(ctx, sessionFlashKind, string(kind))
	s.sessions.Put(ctx, sessionFlashText, text)
	return nil
}

// takeFlash takes the message that the request before has left. Pages for visitors without a
// session have none.
func (s *Server) takeFlash(c echo.Context) *components.Notice {
	if !logOf(c).session || c.Request().Method == http.MethodHead {
		return nil
	}
	ctx := c.Request().Context()
	if !s.sessions.Exists(ctx, sessionFlashText) {
		return nil
	}
	notice := &components.Notice{
		Kind: components.NoticeKind(s.sessions.PopString(ctx, sessionFlashKind)),
		Text: s.sessions.PopString(ctx, sessionFlashText),
	}
	if len(s.sessions.Keys(ctx)) == 0 {
		// A visitor's session that had only this message is of no more use. If it stays it runs
		// out.
		_ = s.sessions.Destroy(ctx)
	}
	return notice
}

// seeOther sends a browser on after a form did what it was for.
func (s *Server) seeOther(c echo.Context, path string) error {
	if err := s.keepSession(c); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, path)
}

// problems are what a form is refused for, for the form; false for any other error.
func problems(c echo.Context, err error) (components.Problems, bool) {
	if err == nil {
		return nil, false
	}
	list := describe(err).forForm(languageOf(c))
	return list, list != nil
}

// history is the latest bids as pages show them.
func history(lot fragments.LotView, bids []auction.Bid) fragments.BidHistoryView {
	return fragments.BidHistoryView{Lot: lot, Bids: bids}
}

// onlyPage refuses a page that has no other representation to whoever does not accept one.
func onlyPage(draw echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		notFound := func() error { return auction.ErrNotFound }
		return answer(c, notFound, func() error { return draw(c) }, nil)
	}
}

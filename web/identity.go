package web

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/labstack/echo/v4"

	"martelo/app/account"
	"martelo/templates/components"
)

const (
	// sessionFor is how long somebody stays signed in after the last page.
	sessionFor = 14 * 24 * time.Hour
	// sessionRenewedEvery bounds how often a session in use is written, only to last longer.
	sessionRenewedEvery = time.Hour
	// sessionUser is where a session keeps who is signed in.
	sessionUser = "user"
	// sessionEpoch is where it keeps the person's epoch at that time: a session of another one is
	// over.
	sessionEpoch = "epoch"
)

// newSessions makes the browser sessions, which live in PostgreSQL so that Redis may be away.
func (s *Server) newSessions() *scs.SessionManager {
	m := scs.New()
	m.Store = s.People.Sessions()
	m.Lifetime = sessionFor
	m.HashTokenInStore = true
	m.Cookie.Name = "martelo_session"
	m.Cookie.HttpOnly = true
	m.Cookie.SameSite = http.SameSiteLaxMode
	if s.secure() {
		m.Cookie.Secure = true
		m.Cookie.Name = "__Host-" + m.Cookie.Name // browsers take it over https only, and from this host only
	}
	return m
}

// caller is who a request comes from: by its token if it has one, otherwise by its session. It
// returns errUnauthenticated if it has neither, and errBadToken for a token that is not one of
// ours, whatever the session says.
func (s *Server) caller(c echo.Context) (account.Identity, error) {
	n := logOf(c)
	if n.identity != nil {
		return *n.identity, nil
	}
	who, err := s.identify(c)
	if err != nil {
		return account.Identity{}, err
	}
	n.identity, n.userID = &who, who.ID
	return who, nil
}

func (s *Server) identify(c echo.Context) (account.Identity, error) {
	if values := c.Request().Header.Values("Authorization"); len(values) > 0 {
		scheme, token, _ := strings.Cut(values[0], " ")
		if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") {
			return account.Identity{}, errBadToken
		}
		return s.People.ByToken(c.Request().Context(), strings.TrimSpace(token))
	}
	ctx, err := s.session(c)
	if err != nil {
		return account.Identity{}, err
	}
	id := s.sessions.GetInt64(ctx, sessionUser)
	if id == 0 {
		return account.Identity{}, errUnauthenticated
	}
	person, err := s.People.Person(ctx, id)
	if err == nil && (person.Blocked || person.SessionEpoch != s.sessions.GetInt64(ctx, sessionEpoch)) {
		return account.Identity{}, errUnauthenticated
	}
	if err == nil {
		s.renewSession(ctx)
	}
	return account.Identity{Person: person}, err
}

// renewSession lets a session in use last longer. It is written with the page, if there is one.
func (s *Server) renewSession(ctx context.Context) {
	until := time.Now().Add(sessionFor)
	if until.Sub(s.sessions.Deadline(ctx)) >= sessionRenewedEvery {
		s.sessions.SetDeadline(ctx, until)
	}
}

// signedIn is the person whose browser sent a form about the own account. A token is refused: one
// that leaked must not make another, or outlive its end in any other way.
func (s *Server) signedIn(c echo.Context) (account.Identity, error) {
	if len(c.Request().Header.Values("Authorization")) > 0 {
		return account.Identity{}, errNeedsSession
	}
	return s.caller(c)
}

// personal leads a visitor who asks for a page of their own to signing in, and back.
func (s *Server) personal(draw echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		_, err := s.caller(c)
		if errors.Is(err, errUnauthenticated) {
			refuse := func() error { return err }
			signIn := func() error {
				return s.seeOther(c, components.ReturnURL(components.PathSignIn, c.Request().URL.RequestURI()))
			}
			return answer(c, refuse, signIn, refuse)
		}
		if err != nil {
			return err
		}
		return draw(c)
	}
}

// session loads the browser's session, once a request; without a cookie it is empty and nothing is
// asked.
func (s *Server) session(c echo.Context) (context.Context, error) {
	n := logOf(c)
	if n.session {
		return c.Request().Context(), nil
	}
	token := ""
	if cookie, err := c.Request().Cookie(s.sessions.Cookie.Name); err == nil {
		token = cookie.Value
	}
	ctx, err := s.sessions.Load(c.Request().Context(), token)
	if err != nil {
		return nil, err
	}
	c.SetRequest(c.Request().WithContext(ctx))
	n.session = true
	return ctx, nil
}

// keepSession writes the session and its cookie if anything in it has changed. It must come before
// the answer.
func (s *Server) keepSession(c echo.Context) error {
	ctx := c.Request().Context()
	if !logOf(c).session {
		return nil
	}
	switch s.sessions.Status(ctx) {
	case scs.Modified:
		token, expiry, err := s.sessions.Commit(ctx)
		if err != nil {
			return err
		}
		s.sessions.WriteSessionCookie(ctx, c.Response(), token, expiry)
	case scs.Destroyed:
		s.sessions.WriteSessionCookie(ctx, c.Response(), "", time.Time{})
	}
	return nil
}

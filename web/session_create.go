package web

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"martelo/app/account"
	"martelo/templates/components"
	"martelo/templates/pages"
)

// signInShow is GET /signin.
func (s *Server) signInShow(c echo.Context) error {
	return s.signInPage(c, http.StatusOK, pages.SignInView{Next: pathAfter(c.QueryParam(pages.FieldNext))})
}

// signIn is POST /signin.
func (s *Server) signIn(c echo.Context) error {
	form, err := readForm(c.Response(), c.Request())
	if err != nil {
		return err
	}
	view := pages.SignInView{Next: pathAfter(form.Get(pages.FieldNext)), Email: form.Get(pages.FieldEmail)}
	if lot, ok := carriedForm(form); ok {
		view.Carried = lot.Fields()
	}
	person, err := s.checkPassword(c, form)
	switch {
	case err == nil:
	case !asksPage(c.Request()):
		return err
	case errors.Is(err, account.ErrWrongPassword):
		view.Problems = components.Problems{{Field: pages.FieldEmail, Text: "E-mail and password do not go together."}}
	case isLimited(err):
		view.Problems = components.Problems{{Text: "Too many tries. Wait a minute before the next."}}
	default:
		return err
	}
	if err != nil {
		return s.signInPage(c, s.noteProblem(c, err).Status, view)
	}
	if err := s.beginSession(c, person.ID); err != nil {
		return err
	}
	if view.Next, err = s.keepCarried(c, person.ID, form, view.Next); err != nil {
		return err
	}
	return s.seeOther(c, view.Next)
}

func (s *Server) checkPassword(c echo.Context, form url.Values) (account.Person, error) {
	ctx, email := c.Request().Context(), form.Get(pages.FieldEmail)
	if wait := s.Limits.Attempt(ctx, c.RealIP(), email); wait > 0 {
		return account.Person{}, &limitedError{wait: wait}
	}
	person, err := s.People.SignIn(ctx, email, form.Get(pages.FieldPassword))
	if err == nil {
		s.Limits.SignedIn(ctx, email)
	}
	return person, err
}

func isLimited(err error) bool {
	var limited *limitedError
	return errors.As(err, &limited)
}

func (s *Server) signInPage(c echo.Context, status int, view pages.SignInView) (err error) {
	if view.PageView, err = s.frame(c, "Sign in", components.PathSignIn); err != nil {
		return err
	}
	return s.page(c, status, pages.SignIn(view))
}

// beginSession signs somebody in, under a new name of the session: whoever knew the old one does not know this.
func (s *Server) beginSession(c echo.Context, userID int64) error {
	ctx, err := s.session(c)
	if err != nil {
		return err
	}
	if err := s.sessions.RenewToken(ctx); err != nil {
		return err
	}
	s.sessions.Put(ctx, sessionUser, userID)
	n := noteOf(c)
	n.userID, n.identity = userID, nil
	return nil
}

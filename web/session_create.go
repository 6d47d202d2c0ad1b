package web

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"martelo/app/account"
	"martelo/app/auction"
	"martelo/app/limits"
	"martelo/templates/components"
	"martelo/templates/pages"
)

// signInShow is GET /signin. Who is signed in already is led on.
func (s *Server) signInShow(c echo.Context) error {
	next := pathAfter(c.QueryParam(pages.FieldNext))
	viewer, err := s.viewer(c)
	if err != nil {
		return err
	}
	if viewer != nil {
		return s.seeOther(c, next)
	}
	return s.signInPage(c, http.StatusOK, pages.SignInView{Next: next})
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
	person, err := s.whoKnows(c, view.Email, form.Get(pages.FieldPassword))
	if err != nil {
		list, ok := problems(err)
		switch {
		case errors.Is(err, account.ErrWrongPassword):
			list, ok = components.Problems{{Field: pages.FieldEmail, Text: "The e-mail or password is wrong."}}, true
		case errors.Is(err, account.ErrBlocked):
			list, ok = components.Problems{{Text: "The house has blocked this account. Ask the house why."}}, true
		case errors.Is(err, errDemoElsewhere):
			list, ok = components.Problems{{Text: "Demo accounts sign in only on the machine that the house runs on."}}, true
		case isLimited(err):
			list, ok = components.Problems{{Text: tooManyTries(err)}}, true
		}
		if !ok || !asksPage(c.Request()) {
			return err
		}
		view.Problems = list
		return s.signInPage(c, s.noteProblem(c, err).Status, view)
	}
	if err := s.beginSession(c, person); err != nil {
		return err
	}
	if view.Next, err = s.keepCarried(c, person.ID, form, view.Next); err != nil {
		return err
	}
	return s.seeOther(c, view.Next)
}

// whoKnows returns whom an e-mail address and a password belong to, unless there were too many
// tries.
func (s *Server) whoKnows(c echo.Context, typed, password string) (person account.Person, err error) {
	var empty auction.FieldErrors
	if strings.TrimSpace(typed) == "" {
		empty = append(empty, &auction.FieldError{Field: pages.FieldEmail, Reason: "Enter your e-mail."})
	}
	if password == "" {
		empty = append(empty, &auction.FieldError{Field: pages.FieldPassword, Reason: "Enter your password."})
	}
	if len(empty) > 0 {
		return person, empty
	}
	err = s.checkPassword(c, account.CanonicalEmail(typed), func() (err error) {
		person, err = s.People.SignIn(c.Request().Context(), typed, password)
		return err
	})
	if err == nil && password == account.DemoPassword && !onThisMachine(c) {
		return person, errDemoElsewhere // everybody knows it
	}
	return person, err
}

// checkPassword has a password checked unless there were too many tries, which it counts.
func (s *Server) checkPassword(c echo.Context, email account.Email, check func() error) error {
	ctx := c.Request().Context()
	device, err := s.knownDevice(c, email)
	if err != nil {
		return err
	}
	try := limits.Try{Address: c.RealIP(), Email: email, Device: device}
	if wait := s.Limits.SignIn(ctx, try); wait > 0 {
		return &limitedError{wait: wait}
	}
	if err := check(); err != nil {
		return err
	}
	s.Limits.SignedIn(ctx, try)
	return nil
}

// tooManyTries says how long to wait, as the limit does.
func tooManyTries(err error) string {
	var limited *limitedError
	errors.As(err, &limited)
	wait := max(time.Second, (limited.wait + time.Second - 1).Truncate(time.Second))
	if wait > 2*time.Minute {
		wait = (wait + time.Minute - 1).Truncate(time.Minute)
	}
	return "Too many tries from here. You can try again in " + components.Span(wait) + "."
}

func isLimited(err error) bool {
	var limited *limitedError
	return errors.As(err, &limited)
}

func (s *Server) signInPage(c echo.Context, status int, view pages.SignInView) (err error) {
	view.Contact = s.Contact
	if view.PageView, err = s.frame(c, "Sign in", components.PathSignIn); err != nil {
		return err
	}
	return s.page(c, status, pages.SignIn(view))
}

// beginSession signs somebody in, under a new name of the session: whoever knew the old one does not know this.
func (s *Server) beginSession(c echo.Context, person account.Person) error {
	ctx, err := s.session(c)
	if err != nil {
		return err
	}
	if err := s.sessions.RenewToken(ctx); err != nil {
		return err
	}
	s.sessions.Put(ctx, sessionUser, person.ID)
	s.sessions.Put(ctx, sessionEpoch, person.SessionEpoch)
	n := noteOf(c)
	n.userID, n.identity = person.ID, nil
	return s.keepDevice(c, person.ID)
}

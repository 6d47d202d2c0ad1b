package web

import (
	"errors"
	"strings"

	"github.com/labstack/echo/v4"

	"martelo/app/account"
	"martelo/app/refusal"
	"martelo/templates/components"
	"martelo/templates/pages"
	"martelo/templates/words"
	"martelo/web/read"
)

// sessionCreate is POST /signin.
func (s *Server) sessionCreate(c echo.Context) error {
	form, err := read.Form(c.Request())
	if err != nil {
		return err
	}
	view := pages.SignInView{Next: read.PathAfter(form.Get(pages.FieldNext)), Email: form.Get(pages.FieldEmail)}
	if lot, ok := carriedForm(form); ok {
		view.Carried = lot.Fields()
	}
	person, err := s.whoKnows(c, view.Email, form.Get(pages.FieldPassword))
	if err != nil {
		list, ok := problems(c, err)
		if errors.Is(err, account.ErrWrongPassword) {
			list[0].Field = pages.FieldEmail
		}
		if !ok {
			return err
		}
		view.Problems = list
		return s.refused(c, err, func(status int) error { return s.signInPage(c, status, view) })
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
	var empty refusal.FieldErrors
	if strings.TrimSpace(typed) == "" {
		empty = append(empty, refusal.Of(pages.FieldEmail, refusal.NotGiven))
	}
	if password == "" {
		empty = append(empty, refusal.Of(pages.FieldPassword, refusal.NotGiven))
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

func (s *Server) signInPage(c echo.Context, status int, view pages.SignInView) (err error) {
	view.Contact = s.Contact
	if view.PageView, err = s.pageView(c, say(c, words.TitleSignIn, nil), components.PathSignIn); err != nil {
		return err
	}
	return s.page(c, status, pages.SignIn(view))
}

// beginSession signs somebody in, under a new name of the session: whoever knew the old one does
// not know this.
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
	n := logOf(c)
	n.userID, n.identity = person.ID, nil
	return s.keepDevice(c, person.ID)
}

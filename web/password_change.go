package web

import (
	"errors"

	"github.com/labstack/echo/v4"

	"martelo/app/account"
	"martelo/templates/components"
	"martelo/templates/pages"
)

// passwordChange is POST /me/password: a new password for who knows the old one. Everywhere else
// the person is signed out.
func (s *Server) passwordChange(c echo.Context) error {
	who, err := s.signedIn(c)
	if err != nil {
		return err
	}
	form, err := s.formOf(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	err = s.checkPassword(c, account.CanonicalEmail(who.Email), func() error {
		return s.People.CheckPassword(ctx, who.ID, form.Get(pages.FieldOldPassword))
	})
	var list components.Problems
	switch {
	case err == nil:
		who.SessionEpoch, err = s.People.SetPassword(ctx, who.ID, form.Get(pages.FieldNewPassword))
		list, _ = problems(err)
		for i := range list {
			list[i].Field = pages.FieldNewPassword
		}
	case errors.Is(err, account.ErrWrongPassword):
		list = components.Problems{{
			Field: pages.FieldOldPassword, Text: "This is not your password now. Enter the one you signed in with.",
		}}
	case isLimited(err):
		list = components.Problems{{Text: tooManyTries(err)}}
	}
	switch {
	case err != nil && (len(list) == 0 || !asksPage(c.Request())):
		return err
	case err != nil:
		return s.accountPage(c, s.noteProblem(c, err).Status, pages.AccountView{PasswordProblems: list})
	}
	if err := s.beginSession(c, who.Person); err != nil {
		return err
	}
	const words = "Your password is changed. You are signed out everywhere else."
	if err := s.flash(c, components.NoticeGood, words); err != nil {
		return err
	}
	return s.seeOther(c, components.PathAccount)
}

// sessionsEnd is POST /me/sessions/end: the person is signed out in every browser, this one
// included.
func (s *Server) sessionsEnd(c echo.Context) error {
	who, err := s.signedIn(c)
	if err != nil {
		return err
	}
	if err := s.emptyForm(c); err != nil {
		return err
	}
	if _, err := s.People.EndSessions(c.Request().Context(), who.ID); err != nil {
		return err
	}
	return s.leaveSession(c, "You are signed out everywhere.")
}

// leaveSession ends the browser's session and says so on the house's front page.
func (s *Server) leaveSession(c echo.Context, words string) error {
	ctx, err := s.session(c)
	if err != nil {
		return err
	}
	signedIn := s.sessions.GetInt64(ctx, sessionUser) != 0
	if err := s.sessions.Destroy(ctx); err != nil {
		return err
	}
	if n := noteOf(c); signedIn {
		n.identity = nil
		if err := s.flash(c, components.NoticeInfo, words); err != nil {
			return err
		}
	}
	return s.seeOther(c, components.PathHome)
}

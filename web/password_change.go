package web

import (
	"errors"

	"github.com/labstack/echo/v4"

	"martelo/app/account"
	"martelo/templates/components"
	"martelo/templates/pages"
	"martelo/templates/words"
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
		list, _ = problems(c, err)
		for i := range list {
			list[i].Field = pages.FieldNewPassword
		}
	case errors.Is(err, account.ErrWrongPassword):
		list = components.Problems{{
			Field: pages.FieldOldPassword, Text: say(c, words.OldPasswordWrong, nil),
		}}
	default:
		list, _ = problems(c, err)
	}
	switch {
	case err != nil && len(list) == 0:
		return err
	case err != nil:
		view := pages.AccountView{PasswordProblems: list}
		return s.refused(c, err, func(status int) error { return s.accountPage(c, status, view) })
	}
	if err := s.beginSession(c, who.Person); err != nil {
		return err
	}
	if err := s.flash(c, components.NoticeGood, say(c, words.DonePassword, nil)); err != nil {
		return err
	}
	return s.seeOther(c, components.PathAccount)
}

package web

import (
	"github.com/labstack/echo/v4"

	"martelo/app/account"
	"martelo/app/refusal"
	"martelo/templates/components"
	"martelo/templates/pages"
	"martelo/templates/words"
	"martelo/web/read"
)

// accountCreate is POST /signup.
func (s *Server) accountCreate(c echo.Context) error {
	form, err := read.Form(c.Request())
	if err != nil {
		return err
	}
	view := pages.SignUpView{
		Next: read.PathAfter(form.Get(pages.FieldNext)), Name: form.Get(pages.FieldName),
		Email: form.Get(pages.FieldEmail),
	}
	person, err := s.makeAccount(
		c, account.Account{Email: view.Email, Name: view.Name, Password: form.Get(pages.FieldPassword)},
	)
	if err != nil {
		list, ok := problems(c, err)
		if !ok {
			return err
		}
		view.Problems = list
		return s.refused(c, err, func(status int) error { return s.signUpPage(c, status, view) })
	}
	if err := s.beginSession(c, person); err != nil {
		return err
	}
	welcome := say(c, words.DoneSignedUp, refusal.Figures{"name": person.Name})
	if err := s.flash(c, components.NoticeGood, welcome); err != nil {
		return err
	}
	return s.seeOther(c, view.Next)
}

func (s *Server) makeAccount(c echo.Context, a account.Account) (account.Person, error) {
	ctx := c.Request().Context()
	if wait := s.Limits.SignUp(ctx, c.RealIP()); wait > 0 {
		return account.Person{}, &limitedError{wait: wait, says: tooManyTries}
	}
	return s.People.SignUp(ctx, a)
}

func (s *Server) signUpPage(c echo.Context, status int, view pages.SignUpView) (err error) {
	if view.PageView, err = s.pageView(c, say(c, words.TitleSignUp, nil), components.PathSignUp); err != nil {
		return err
	}
	return s.page(c, status, pages.SignUp(view))
}

package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"martelo/templates/pages"
	"martelo/web/read"
)

// tokenCreate is POST /me/tokens. The token is on this one answer and nowhere else.
func (s *Server) tokenCreate(c echo.Context) error {
	who, err := s.signedIn(c)
	if err != nil {
		return err
	}
	form, err := s.formOf(c)
	if err != nil {
		return err
	}
	name := form.Get(pages.FieldName)
	token, err := s.People.MakeToken(c.Request().Context(), who.ID, name, false)
	if err != nil {
		list, ok := problems(c, err)
		if !ok {
			return err
		}
		view := pages.AccountView{TokenName: name, Problems: list}
		return s.refused(c, err, func(status int) error { return s.accountPage(c, status, view) })
	}
	return answer(c,
		func() error {
			return writeJSON(c, http.StatusCreated, read.MediaJSON, map[string]string{"token": token})
		},
		func() error { return s.accountPage(c, http.StatusCreated, pages.AccountView{NewToken: token}) },
		nil,
	)
}

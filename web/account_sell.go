package web

import (
	"net/url"

	"github.com/labstack/echo/v4"

	"martelo/templates/components"
	"martelo/templates/pages"
	"martelo/templates/words"
	"martelo/web/read"
)

// accountSell is POST /me/selling: a user becomes a seller, where the house is open to that, and a
// seller gets another name.
func (s *Server) accountSell(c echo.Context) error {
	who, err := s.signedIn(c)
	if err != nil {
		return err
	}
	form := url.Values{}
	if read.Media(c.Request()) != "" { // a program may send nothing at all
		if form, err = s.formOf(c); err != nil {
			return err
		}
	}
	if !s.OpenSelling && !who.MaySell() {
		return errForbidden
	}
	name := form.Get(pages.FieldSellerName)
	if who.MaySell() && !form.Has(pages.FieldSellerName) {
		name = who.SellerName // nothing was asked for
	}
	err = s.People.StartSelling(c.Request().Context(), who.ID, name)
	if list, ok := problems(c, err); ok {
		view := pages.AccountView{SellerName: name, SellerProblems: list}
		return s.refused(c, err, func(status int) error { return s.accountPage(c, status, view) })
	}
	if err != nil {
		return err
	}
	path, done := components.PathNewAuction, words.DoneMaySell
	if who.MaySell() {
		path, done = components.PathAccount, words.DoneSellerName
	}
	if err := s.flash(c, components.NoticeGood, say(c, done, nil)); err != nil {
		return err
	}
	return s.seeOther(c, path)
}

package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"martelo/app/account"
	"martelo/app/draft"
	"martelo/templates/components"
	"martelo/templates/pages"
	"martelo/templates/words"
	"martelo/web/read"
)

func encodeForm(form pages.CreateForm) []byte {
	text, _ := json.Marshal(form) // strings and a boolean: it cannot fail
	return text
}

// keepAndShow keeps a form and leads to where it is shown, so that reloading that page or going
// back to it sends nothing a second time.
func (s *Server) keepAndShow(c echo.Context, who account.Identity, form pages.CreateForm, path string) error {
	if err := s.keepForm(c, who.ID, form); err != nil {
		return err
	}
	return s.seeOther(c, components.DraftPath(path, form.Key))
}

func (s *Server) keepForm(c echo.Context, userID int64, form pages.CreateForm) error {
	key, _ := read.ParseKey(form.Key) // readCreateForm has seen to it
	return s.Drafts.Keep(c.Request().Context(), userID, key, encodeForm(form))
}

// keptForm is somebody's form under a key, or the lot that was published from it. It returns
// draft.ErrNone if nothing is kept there.
func (s *Server) keptForm(
	c echo.Context, who account.Identity, text string,
) (form pages.CreateForm, lotID int64, err error) {
	key, ok := read.ParseKey(text)
	if !ok {
		return form, 0, draft.ErrNone
	}
	kept, err := s.Drafts.Find(c.Request().Context(), who.ID, key)
	if err != nil || kept.AuctionID != 0 {
		return form, kept.AuctionID, err
	}
	return form, 0, json.Unmarshal(kept.Form, &form)
}

// unpublished gives a form a key of its own if its lot is published already and the form has been
// changed since: that is another lot. If nothing was changed, the form was sent twice, and the
// lot's id is returned.
func (s *Server) unpublished(
	c echo.Context, who account.Identity, form pages.CreateForm,
) (pages.CreateForm, int64, error) {
	key, _ := read.ParseKey(form.Key)
	kept, err := s.Drafts.Find(c.Request().Context(), who.ID, key)
	switch {
	case errors.Is(err, draft.ErrNone):
		return form, 0, nil
	case err != nil || kept.AuctionID == 0:
		return form, 0, err
	case bytes.Equal(kept.Form, encodeForm(form)):
		return form, kept.AuctionID, nil
	}
	form.Key = newKey()
	return form, 0, nil
}

// signInAgain answers a lot's form from somebody who is signed out, or as somebody else, with a
// sign-in page that carries the form along. Nothing is kept for strangers: what they sent goes back
// to them.
func (s *Server) signInAgain(c echo.Context, form pages.CreateForm, refused error) error {
	var notice words.Key
	switch {
	case errors.Is(refused, errUnauthenticated):
		notice = words.DraftSignedOut
	case errors.Is(refused, errOtherViewer):
		notice = words.DraftOtherViewer
	case errors.Is(refused, errForbidden):
		notice = words.DraftNotForSeller
	}
	if notice == "" {
		return refused
	}
	return s.refused(c, refused, func(status int) error {
		return s.signInPage(c, status, pages.SignInView{
			Next: components.PathNewAuction, Carried: form.Fields(),
			Notice: &components.Notice{Kind: components.NoticeBad, Text: say(c, notice, nil)},
		})
	})
}

// carriedForm is the lot's form that came along with a sign-in, if there is one.
func carriedForm(values url.Values) (pages.CreateForm, bool) {
	carried := url.Values{}
	for name, texts := range values {
		if field, ok := strings.CutPrefix(name, pages.CarriedPrefix); ok {
			carried[field] = texts
		}
	}
	if len(carried) == 0 {
		return pages.CreateForm{}, false
	}
	return readCreateForm(carried), true
}

// keepCarried keeps a lot's form that came along with a sign-in, and says where it is shown.
// Without one that is where the sign-in leads anyway.
func (s *Server) keepCarried(c echo.Context, userID int64, values url.Values, next string) (string, error) {
	form, ok := carriedForm(values)
	if !ok {
		return next, nil
	}
	return components.DraftPath(components.PathNewAuction, form.Key), s.keepForm(c, userID, form)
}

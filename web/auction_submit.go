package web

import (
	"errors"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"martelo/app/account"
	"martelo/app/refusal"
	"martelo/templates/components"
	"martelo/templates/pages"
	"martelo/templates/words"
	"martelo/web/read"
)

// auctionSubmit is POST /auctions from the form: it leads to the review, shows the form again, or
// publishes, as the button says.
func (s *Server) auctionSubmit(c echo.Context) error {
	values, err := s.formOf(c)
	if err != nil && !errors.Is(err, errOtherViewer) {
		return err
	}
	form, step := readCreateForm(values), values.Get(pages.FieldStep)
	who, refused := s.seller(c)
	if err == nil {
		err = refused
	}
	if err != nil {
		return s.signInAgain(c, form, err)
	}
	return answer(c,
		func() error { return s.publish(c, who, form) },
		func() error { return s.takeStep(c, who, form, step) },
		nil,
	)
}

// takeStep does what the form's button says.
func (s *Server) takeStep(c echo.Context, who account.Identity, form pages.CreateForm, step string) error {
	form, lotID, err := s.unpublished(c, who, form)
	if err != nil {
		return err
	}
	if lotID != 0 {
		return s.seeOther(c, components.AuctionPath(lotID))
	}
	switch step {
	case pages.StepPublish:
		return s.publish(c, who, form)
	case pages.StepEdit:
		return s.keepAndShow(c, who, form, components.PathNewAuction)
	}
	lot := readLot(form, read.Locale(c.Request()))
	if _, err := lot.open(s.Hub.Clock().Now()); err != nil {
		return s.createRefused(c, form, lot, err)
	}
	return s.keepAndShow(c, who, form, components.PathReview)
}

// seller is who asks, if that is somebody who may sell.
func (s *Server) seller(c echo.Context) (account.Identity, error) {
	who, err := s.caller(c)
	if err == nil && !who.MaySell() {
		err = errForbidden
	}
	return who, err
}

func (s *Server) publish(c echo.Context, who account.Identity, form pages.CreateForm) error {
	lot := readLot(form, read.Locale(c.Request()))
	if _, err := lot.open(s.Hub.Clock().Now()); err != nil {
		return s.createRefused(c, form, lot, err)
	}
	lot.draft.SellerID = who.ID
	id, err := s.Auctioneer.Open(c.Request().Context(), lot.draft)
	if err != nil {
		return s.createRefused(c, form, lot, err)
	}
	logOf(c).auctionID = id
	return answer(c,
		func() error { return s.answerOpened(c, id) },
		func() error { return s.showPublished(c, who, form, lot.draft.Key, id) },
		nil,
	)
}

// showPublished leads to a new lot's page. The lot is published whatever becomes of its form.
func (s *Server) showPublished(
	c echo.Context, who account.Identity, form pages.CreateForm, key uuid.UUID, id int64,
) error {
	if err := s.Drafts.Publish(c.Request().Context(), who.ID, key, encodeForm(form), id); err != nil {
		s.Log.Warn("web: a published lot's form was not kept", "auctionId", id, "error", err)
	}
	done := say(c, words.DonePublished, refusal.Figures{"lot": id})
	if err := s.flash(c, components.NoticeGood, done); err != nil {
		return err
	}
	return s.seeOther(c, components.AuctionPath(id))
}

// createRefused draws the form again with what is wrong in it.
func (s *Server) createRefused(c echo.Context, form pages.CreateForm, lot *lotForm, err error) error {
	list, ok := problems(c, err)
	if !ok {
		return err
	}
	for i := range list {
		list[i].Label = pages.CreateLabel(list[i].Field)
		list[i].Choices = lot.choices[list[i].Field]
	}
	return s.refused(c, err, func(status int) error { return s.createPage(c, status, form, list) })
}

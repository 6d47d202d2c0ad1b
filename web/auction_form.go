package web

import (
	"errors"
	"net/http"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"
	"golang.org/x/text/language"

	"martelo/app/account"
	"martelo/app/auction"
	"martelo/app/draft"
	"martelo/app/money"
	"martelo/app/refusal"
	"martelo/templates/components"
	"martelo/templates/pages"
	"martelo/templates/words"
	"martelo/web/read"
)

// auctionNew is GET /auctions/new: the empty form, or one that is kept.
func (s *Server) auctionNew(c echo.Context) error {
	who, err := s.seller(c)
	if err != nil {
		return err
	}
	form := pages.NewCreateForm(newKey(), currencyFor(read.Locale(c.Request())), "")
	if key := c.QueryParam(components.QueryDraft); key != "" {
		kept, lotID, err := s.keptForm(c, who, key)
		switch {
		case lotID != 0:
			return s.seeOther(c, components.AuctionPath(lotID))
		case err == nil:
			return s.createPage(c, http.StatusOK, kept, nil)
		case !errors.Is(err, draft.ErrNone):
			return err
		}
	}
	// Browsers keep what is typed for the way back and for a reload only if the page may be kept. There is nothing
	// private in the empty form.
	c.Response().Header().Set("Cache-Control", "private, no-cache")
	return s.createPage(c, http.StatusOK, form, nil)
}

// auctionReview is GET /auctions/new/review: a kept form in words, before it is published.
func (s *Server) auctionReview(c echo.Context) error {
	who, err := s.seller(c)
	if err != nil {
		return err
	}
	form, lotID, err := s.keptForm(c, who, c.QueryParam(components.QueryDraft))
	switch {
	case lotID != 0:
		return s.seeOther(c, components.AuctionPath(lotID))
	case errors.Is(err, draft.ErrNone):
		if err := s.flash(c, components.NoticeBad, say(c, words.DoneNotKept, nil)); err != nil {
			return err
		}
		return s.seeOther(c, components.PathNewAuction)
	case err != nil:
		return err
	}
	lot := readLot(form, read.Locale(c.Request()))
	opened, err := lot.open(s.Hub.Clock().Now())
	if err != nil {
		return s.createRefused(c, form, lot, err)
	}
	return s.reviewPage(c, form, lot, opened)
}

// auctionForm is POST /auctions from the form: it leads to the review, shows the form again, or publishes, as the
// button says.
func (s *Server) auctionForm(c echo.Context) error {
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

func (s *Server) createPage(c echo.Context, status int, form pages.CreateForm, wrong components.Problems) error {
	view, err := s.pageView(c, say(c, words.TitleNewAuction, nil), components.PathNewAuction)
	if err != nil {
		return err
	}
	return s.page(c, status, pages.Create(pages.CreateView{
		PageView: view, Form: form, Problems: wrong, OffersHot: s.Auctioneer.OffersHot(c.Request().Context()),
	}))
}

func (s *Server) reviewPage(c echo.Context, form pages.CreateForm, lot *lotForm, opened auction.State) error {
	view, err := s.pageView(c, say(c, words.TitleReview, nil), components.DraftPath(components.PathReview, form.Key))
	if err != nil {
		return err
	}
	return s.page(c, http.StatusOK, pages.Review(pages.ReviewView{
		PageView: view, Form: form, State: opened, Zone: lot.zone, Start: lot.draft.StartAt,
		StartsNow: opened.Status == auction.Open,
	}))
}

// currencyFor is what people of a locale most likely sell for.
func currencyFor(locale string) string {
	if region, confidence := language.MustParse(locale).Region(); confidence != language.No {
		if currency, ok := money.CurrencyOf(region.String()); ok {
			return currency.Code()
		}
	}
	return currencyDefault
}

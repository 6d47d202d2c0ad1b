package web

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"martelo/app/auction"
	"martelo/app/draft"
	"martelo/templates/components"
	"martelo/templates/pages"
	"martelo/templates/words"
	"martelo/web/read"
)

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

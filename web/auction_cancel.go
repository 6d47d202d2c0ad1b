package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"martelo/app/auction"
	"martelo/templates/components"
	"martelo/templates/pages"
)

// auctionCancel is POST /auctions/{id}/cancel. It needs no body.
func (s *Server) auctionCancel(c echo.Context) error {
	who, err := s.caller(c)
	if err != nil {
		return err
	}
	id, err := auctionID(c)
	if err != nil {
		return err
	}
	if err := s.emptyForm(c); err != nil {
		return err
	}
	refusal := s.Auctioneer.Cancel(c.Request().Context(), id, who.Actor())
	if asksPage(c.Request()) {
		return s.auctionCancelPage(c, id, refusal)
	}
	if refusal != nil {
		return refusal
	}
	cancelled, err := s.Catalog.One(c.Request().Context(), id)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, mediaJSON, toAuctionJSON(cancelled))
}

func (s *Server) auctionCancelPage(c echo.Context, id int64, refusal error) error {
	if refusal == nil {
		if err := s.flash(c, components.NoticeInfo, "Lot "+components.Number(id)+" was withdrawn."); err != nil {
			return err
		}
		return s.seeOther(c, components.AuctionPath(id))
	}
	if !auction.IsRefusal(refusal) {
		return refusal
	}
	lot, err := s.Catalog.One(c.Request().Context(), id)
	if err != nil {
		return err
	}
	view, err := s.auctionView(c, lot, auction.RecentMax)
	if err != nil {
		return err
	}
	p := s.noteProblem(c, refusal)
	view.CancelProblem = p.Detail
	return s.page(c, p.Status, pages.Auction(view))
}

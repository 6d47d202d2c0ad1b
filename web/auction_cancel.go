package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"martelo/app/auction"
	"martelo/app/refusal"
	"martelo/templates/components"
	"martelo/templates/pages"
	"martelo/templates/words"
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
	refused := s.Auctioneer.Cancel(c.Request().Context(), id, who.Actor())
	return answer(c,
		func() error {
			if refused != nil {
				return refused
			}
			return s.auctionAsJSON(c, http.StatusOK, id)
		},
		func() error { return s.auctionCancelPage(c, id, refused) },
		nil,
	)
}

func (s *Server) auctionCancelPage(c echo.Context, id int64, refused error) error {
	if refused == nil {
		done := say(c, words.DoneWithdrawn, refusal.Figures{"lot": id})
		if err := s.flash(c, components.NoticeInfo, done); err != nil {
			return err
		}
		return s.seeOther(c, components.AuctionPath(id))
	}
	if !auction.IsRefusal(refused) {
		return refused
	}
	lot, err := s.Catalog.One(c.Request().Context(), id)
	if err != nil {
		return err
	}
	view, err := s.auctionView(c, lot, auction.RecentMax)
	if err != nil {
		return err
	}
	p := s.logProblem(c, refused)
	view.CancelProblem = p.words(languageOf(c)).Detail
	return s.page(c, p.status, pages.Auction(view))
}

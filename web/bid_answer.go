package web

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"martelo/app/auction"
	"martelo/app/catalog"
	"martelo/templates/components"
	"martelo/templates/fragments"
	"martelo/templates/pages"
	"martelo/templates/words"
	"martelo/web/read"
)

// aroundWithin is how long the answer to a bid waits for what stands around it. The bid is decided by then, and whoever made it is told
// at once what became of it, however long others who read have to wait.
const aroundWithin = 500 * time.Millisecond

// aroundBid reads the page that a bid was made on, for a short while.
func (s *Server) aroundBid(c echo.Context, id int64) (lot catalog.Auction, view pages.AuctionView, err error) {
	whole := c.Request()
	ctx, cancel := context.WithTimeout(whole.Context(), aroundWithin)
	defer cancel()
	c.SetRequest(whole.WithContext(ctx))
	defer c.SetRequest(whole)
	if lot, err = s.Catalog.One(ctx, id); err != nil {
		return lot, view, err
	}
	view, err = s.auctionView(c, lot, auction.RecentMax)
	return lot, view, err
}

// bareDesk is somebody's place at a lot that cannot be read at this moment. The page has it already and takes only the answer.
func (s *Server) bareDesk(c echo.Context, id int64) fragments.BidFormView {
	lot := fragments.LotView{State: auction.State{ID: id, Status: auction.Open}, Locale: read.Locale(c.Request())}
	return fragments.BidFormView{Lot: lot, Bidding: fragments.BiddingAllowed, Key: newKey()}
}

// refusedAnyway tells somebody why a bid was refused when the page around the answer cannot be had.
func (s *Server) refusedAnyway(c echo.Context, id int64, typed typedBid, refused, why error) error {
	if !read.AsksFragment(c.Request()) {
		return errors.Join(refused, why)
	}
	desk := s.bareDesk(c, id)
	status := s.noteProblem(c, refused).status
	refuse(&desk, catalog.Auction{State: desk.Lot.State}, typed, refused)
	return s.page(c, status, fragments.BidAnswer(desk))
}

// acceptedAnyway tells somebody of an accepted bid when the page around the answer cannot be had, or the answer cannot be kept for the
// page that follows.
func (s *Server) acceptedAnyway(c echo.Context, id int64, bid auction.Bid) error {
	path := components.AuctionPath(id)
	notice := fragments.BlindMessage(read.Locale(c.Request()), path, bid)
	if read.AsksFragment(c.Request()) {
		desk := s.bareDesk(c, id)
		desk.Accepted, desk.BidHere, desk.Message = true, true, notice
		return s.page(c, http.StatusOK, fragments.BidAnswer(desk))
	}
	frame, err := s.frame(c, say(c, words.BidAcceptedTitle, nil), path)
	if err != nil {
		frame = s.bareFrame(c, say(c, words.BidAcceptedTitle, nil), path)
	}
	return s.page(c, http.StatusOK, pages.Answer(pages.AnswerView{PageView: frame, Text: notice.Text}))
}

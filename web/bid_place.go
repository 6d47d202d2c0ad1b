package web

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"martelo/app/account"
	"martelo/app/auction"
	"martelo/app/refusal"
	"martelo/web/read"
)

const headerReplayed = "Idempotency-Replayed"

// bidPlace is POST /auctions/{id}/bids, from a program or from the form on an auction's page.
func (s *Server) bidPlace(c echo.Context) error {
	var (
		request  auction.Request
		typed    typedBid // what came with a form
		bid      auction.Bid
		replayed bool
	)
	fromForm := read.Media(c.Request()) == read.MediaForm
	id, err := auctionID(c)
	if err != nil {
		s.countBid(false, err)
		return err
	}
	if fromForm {
		request, typed, err = s.readBidForm(c, id)
	} else {
		request, err = s.readBid(c, id)
	}
	if err == nil {
		bid, replayed, err = s.place(c.Request().Context(), request)
	}
	s.countBid(replayed, err)
	if err != nil && !fromForm {
		return err // whatever representation is asked for: there is no form to show again
	}
	result := bidResult{typed: typed, bid: bid, replayed: replayed, refused: err}
	return answer(c,
		func() error { return answerBid(c, result) },
		func() error { return s.bidPage(c, id, result) },
		func() error { return s.bidFragment(c, id, result) },
	)
}

// bidResult is what became of a bid.
type bidResult struct {
	typed    typedBid
	bid      auction.Bid
	replayed bool
	refused  error
}

// readBid reads a program's bid and whose it is. Only a service token names somebody else.
func (s *Server) readBid(c echo.Context, id int64) (auction.Request, error) {
	who, err := s.caller(c)
	if err != nil {
		return auction.Request{}, err
	}
	key, err := read.Key(c.Request().Header)
	if err != nil {
		return auction.Request{}, err
	}
	body, err := read.ObjectOf(c.Request())
	if err != nil {
		return auction.Request{}, err
	}
	amount, wrong := body.Decimal("amount")
	if wrong != nil {
		return auction.Request{}, wrong
	}
	bidderID, wrong := body.Integer("bidderId")
	if wrong != nil {
		return auction.Request{}, wrong
	}
	if !body.Has("bidderId") {
		bidderID = who.ID
	}
	if err := s.mayBidFor(c.Request().Context(), who, bidderID); err != nil {
		return auction.Request{}, err
	}
	return auction.Request{AuctionID: id, BidderID: bidderID, Amount: amount, Key: key}, nil
}

func (s *Server) mayBidFor(ctx context.Context, who account.Identity, bidderID int64) error {
	if bidderID == who.ID {
		return nil
	}
	if !who.Service {
		return errForbidden
	}
	exists, err := s.People.Exists(ctx, bidderID)
	if err != nil {
		return err
	}
	if !exists {
		return refusal.Of("bidderId", refusal.Unknown)
	}
	return nil
}

// place brings a bid to the auctioneer unless its bidder bids too often.
func (s *Server) place(ctx context.Context, r auction.Request) (bid auction.Bid, replayed bool, err error) {
	if wait := s.Limits.Bid(ctx, r.BidderID, r.AuctionID, r.Key); wait > 0 {
		return bid, false, &limitedError{wait: wait, says: tooManyBids}
	}
	return s.Auctioneer.Place(ctx, r)
}

// countBid counts an answer to a bid.
func (s *Server) countBid(replayed bool, refused error) {
	outcome := "accepted"
	switch {
	case refused != nil:
		outcome = describe(refused).code
	case replayed:
		outcome = "replayed"
	}
	s.bids.WithLabelValues(outcome).Inc()
}

// answerBid answers a program.
func answerBid(c echo.Context, r bidResult) error {
	switch {
	case r.refused != nil:
		return r.refused
	case r.replayed:
		c.Response().Header().Set(headerReplayed, "true")
		return writeJSON(c, http.StatusOK, read.MediaJSON, toBidJSON(r.bid))
	}
	return writeJSON(c, http.StatusCreated, read.MediaJSON, toBidJSON(r.bid))
}

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

// bidPlace is POST /auctions/{id}/bids.
func (s *Server) bidPlace(c echo.Context) error {
	if read.Media(c.Request()) == read.MediaForm {
		return s.bidForm(c)
	}
	who, err := s.caller(c)
	if err != nil {
		return s.refusedBid(err)
	}
	request, err := s.readBid(c, who)
	if err != nil {
		return s.refusedBid(err)
	}
	bid, replayed, err := s.place(c.Request().Context(), request)
	if err != nil {
		return err
	}
	return answerBid(c, bid, replayed)
}

// answerBid answers a program.
func answerBid(c echo.Context, bid auction.Bid, replayed bool) error {
	if replayed {
		c.Response().Header().Set(headerReplayed, "true")
		return writeJSON(c, http.StatusOK, read.MediaJSON, toBidJSON(bid))
	}
	return writeJSON(c, http.StatusCreated, read.MediaJSON, toBidJSON(bid))
}

// readBid reads a bid and whose it is. Only a service token names somebody else.
func (s *Server) readBid(c echo.Context, who account.Identity) (auction.Request, error) {
	id, err := auctionID(c)
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

// place brings a bid to the desk unless its bidder bids too often, and counts the answer.
func (s *Server) place(ctx context.Context, r auction.Request) (auction.Bid, bool, error) {
	if wait := s.Limits.Bid(ctx, r.BidderID, r.AuctionID, r.Key); wait > 0 {
		return auction.Bid{}, false, s.refusedBid(&limitedError{wait: wait, says: tooManyBids})
	}
	bid, replayed, err := s.Auctioneer.Place(ctx, r)
	switch {
	case err != nil:
		return bid, false, s.refusedBid(err)
	case replayed:
		s.bids.WithLabelValues("replayed").Inc()
	default:
		s.bids.WithLabelValues("accepted").Inc()
	}
	return bid, replayed, nil
}

// refusedBid counts a refusal under its code and passes it on.
func (s *Server) refusedBid(err error) error {
	s.bids.WithLabelValues(describe(err).code).Inc()
	return err
}

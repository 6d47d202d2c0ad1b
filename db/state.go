package db

import (
	"time"

	"martelo/app/auction"
	"martelo/app/money"
)

// State reads an auction's row as the rulebook's state.
func (a Auction) State() auction.State {
	c := money.StoredCurrency(a.Currency, int(a.CurrencyDigits))
	s := auction.State{
		ID: a.ID, SellerID: a.SellerID, Currency: c,
		StartPrice: money.FromMinor(a.StartPrice, c), MinIncrement: money.FromMinor(a.MinIncrement, c),
		CurrentPrice: money.FromMinor(a.CurrentPrice, c),
		BidCount:     a.BidCount, BidderCount: int(a.BidderCount), Status: auction.Status(a.Status),
		Lane: auction.Lane(a.Lane),
		SoftClose: auction.SoftClose{
			Window: time.Duration(a.SoftCloseWindowSeconds) * time.Second,
			Extend: time.Duration(a.SoftCloseExtendSeconds) * time.Second,
		},
		StartAt: a.StartAt, EndAt: a.EndAt, OriginalEndAt: a.OriginalEndAt, Version: a.Version,
	}
	if a.LeaderID != nil {
		s.LeaderID = *a.LeaderID
	}
	if a.LeaderPaddle != nil {
		s.LeaderPaddle = int(*a.LeaderPaddle)
	}
	if a.ClosedAt != nil {
		s.ClosedAt = *a.ClosedAt
	}
	return s
}

// Accepted reads a row of the bid log, whose amount is in the auction's currency.
func (b Bid) Accepted(c money.Currency) auction.Bid {
	return auction.Bid{
		ID: b.ID, AuctionID: b.AuctionID, Seq: b.Seq, BidderID: b.BidderID, Paddle: int(b.Paddle),
		Amount: money.FromMinor(b.Amount, c), Key: b.RequestID, AcceptedAt: b.AcceptedAt,
	}
}

// AcceptedMany reads rows of one auction's bid log.
func AcceptedMany(rows []Bid, c money.Currency) []auction.Bid {
	bids := make([]auction.Bid, len(rows))
	for i, row := range rows {
		bids[i] = row.Accepted(c)
	}
	return bids
}

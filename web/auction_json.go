package web

import (
	"time"

	"martelo/app/auction"
	"martelo/app/catalog"
	"martelo/templates/words"
	"martelo/web/stream"
)

// auctionJSON is an auction as the contract writes it, in the contract's order.
type auctionJSON struct {
	ID           int64          `json:"id"`
	SellerID     int64          `json:"sellerId"`
	Title        string         `json:"title"`
	Description  string         `json:"description"`
	Currency     string         `json:"currency"`
	StartPrice   string         `json:"startPrice"`
	CurrentPrice string         `json:"currentPrice"`
	MinIncrement string         `json:"minIncrement"`
	MinimumBid   string         `json:"minimumBid"`
	LeaderID     *int64         `json:"leaderId"`
	BidCount     int64          `json:"bidCount"`
	Status       auction.Status `json:"status"`
	StartTime    string         `json:"startTime"`
	EndTime      string         `json:"endTime"`
	ServerTime   string         `json:"serverTime"`
	SoftClose    softCloseJSON  `json:"softClose"`
	Lane         auction.Lane   `json:"lane"`
	Version      int64          `json:"version"`
}

type softCloseJSON struct {
	WindowSeconds int64 `json:"windowSeconds"`
	ExtendSeconds int64 `json:"extendSeconds"`
}

func toAuctionJSON(a catalog.Auction) auctionJSON {
	return auctionJSON{
		ID: a.ID, SellerID: a.SellerID, Title: a.Title, Description: a.Description, Currency: a.Currency.Code(),
		StartPrice: a.StartPrice.String(), CurrentPrice: a.CurrentPrice.String(), MinIncrement: a.MinIncrement.String(),
		MinimumBid: a.MinimumBid().String(),
		LeaderID:   stream.OrNull(a.LeaderID), BidCount: a.BidCount, Status: a.Status,
		StartTime: words.ExactTime(a.StartAt), EndTime: words.ExactTime(a.EndAt), ServerTime: words.ExactTime(a.Now),
		SoftClose: softCloseJSON{
			WindowSeconds: seconds(a.SoftClose.Window), ExtendSeconds: seconds(a.SoftClose.Extend),
		},
		Lane: a.Lane, Version: a.Version,
	}
}

// bidJSON is a bid as the contract writes it.
type bidJSON struct {
	ID         int64  `json:"id"`
	AuctionID  int64  `json:"auctionId"`
	Seq        int64  `json:"seq"`
	BidderID   int64  `json:"bidderId"`
	Amount     string `json:"amount"`
	AcceptedAt string `json:"acceptedAt"`
}

func toBidJSON(b auction.Bid) bidJSON {
	return bidJSON{
		ID: b.ID, AuctionID: b.AuctionID, Seq: b.Seq, BidderID: b.BidderID, Amount: b.Amount.String(),
		AcceptedAt: words.ExactTime(b.AcceptedAt),
	}
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }

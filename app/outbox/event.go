// Package outbox tells the world what happened: a row written in the transaction of the fact
// itself, and a relay that turns rows into events and hands them on, in order for each auction, at
// least once.
package outbox

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"martelo/app/auction"
)

// The topics, as the contract spells them.
const (
	TopicBidAccepted   = "bid-accepted"
	TopicAuctionClosed = "auction-closed"
)

// Topics are all of them. What happens to one holds no other up.
var Topics = []string{TopicBidAccepted, TopicAuctionClosed}

// Event is one message for consumers. Value is a CloudEvents 1.0 envelope in JSON; ID is what
// consumers drop repeats by.
type Event struct {
	Topic string
	Key   string // the auction's id: events with one key stay in order
	ID    string
	Value []byte
}

// envelope is CloudEvents 1.0 in its JSON format (cloudevents.io, spec 1.0.2 and its JSON event
// format).
type envelope struct {
	SpecVersion     string    `json:"specversion"`
	ID              string    `json:"id"`
	Source          string    `json:"source"`
	Type            string    `json:"type"`
	Subject         string    `json:"subject"`
	Time            time.Time `json:"time"`
	DataContentType string    `json:"datacontenttype"`
	Data            any       `json:"data"`
}

type bidAccepted struct {
	AuctionID  int64     `json:"auctionId"`
	Seq        int64     `json:"seq"`
	BidderID   int64     `json:"bidderId"`
	Amount     string    `json:"amount"`
	AcceptedAt time.Time `json:"acceptedAt"`
}

type auctionClosed struct {
	AuctionID   int64     `json:"auctionId"`
	SellerID    int64     `json:"sellerId"`
	WinnerID    *int64    `json:"winnerId"`
	HammerPrice *string   `json:"hammerPrice"`
	Currency    string    `json:"currency"`
	BidCount    int64     `json:"bidCount"`
	ClosedAt    time.Time `json:"closedAt"`
}

// bidEvent and closedEvent name the house in their source, so that a consumer of several houses, or
// of one and its copy, tells them apart.
func bidEvent(house string, b auction.Bid) (Event, error) {
	id := fmt.Sprintf("%s:%d:%d", TopicBidAccepted, b.AuctionID, b.Seq)
	return event(house, TopicBidAccepted, id, b.AuctionID, b.AcceptedAt, bidAccepted{
		AuctionID: b.AuctionID, Seq: b.Seq, BidderID: b.BidderID, Amount: b.Amount.String(),
		AcceptedAt: b.AcceptedAt.UTC(),
	})
}

func closedEvent(house string, s auction.State) (Event, error) {
	data := auctionClosed{
		AuctionID: s.ID, SellerID: s.SellerID, Currency: s.Currency.Code(), BidCount: s.BidCount,
		ClosedAt: s.ClosedAt.UTC(),
	}
	if result := s.Result(); result.WinnerID != 0 {
		price := result.HammerPrice.String()
		data.WinnerID, data.HammerPrice = &result.WinnerID, &price
	}
	return event(house, TopicAuctionClosed, fmt.Sprintf("%s:%d", TopicAuctionClosed, s.ID), s.ID, s.ClosedAt, data)
}

func event(house, topic, id string, auctionID int64, at time.Time, data any) (Event, error) {
	key := strconv.FormatInt(auctionID, 10)
	value, err := json.Marshal(envelope{
		SpecVersion: "1.0", ID: id, Source: "/houses/" + house + "/auctions/" + key, Type: topic, Subject: key,
		Time:            at.UTC(),
		DataContentType: "application/json", Data: data,
	})
	return Event{Topic: topic, Key: key, ID: id, Value: value}, err
}

package stream

import (
	"encoding/json"
	"time"

	"martelo/app/auction"
	"martelo/app/live"
	"martelo/templates/words"
)

// The data of the contract's live events.
type (
	priceJSON struct {
		AuctionID    int64          `json:"auctionId"`
		Version      int64          `json:"version"`
		Seq          int64          `json:"seq"`
		CurrentPrice string         `json:"currentPrice"`
		MinimumBid   string         `json:"minimumBid"`
		LeaderID     *int64         `json:"leaderId"`
		BidCount     int64          `json:"bidCount"`
		Status       auction.Status `json:"status"`
		EndTime      string         `json:"endTime"`
		ServerTime   string         `json:"serverTime"`
	}
	closedJSON struct {
		AuctionID   int64          `json:"auctionId"`
		Status      auction.Status `json:"status"`
		WinnerID    *int64         `json:"winnerId"`
		HammerPrice *string        `json:"hammerPrice"`
		ClosedAt    string         `json:"closedAt"`
	}
	clockJSON struct {
		ServerTime string `json:"serverTime"`
	}
)

// jsonLive writes updates as JSON; frame puts one with its event's name into the words of a
// protocol.
func jsonLive(name string, frame func(event string, data any) []byte) *live.Representation {
	return &live.Representation{
		Name:   name,
		Price:  func(u auction.Update, now time.Time) []byte { return frame("price", toPriceJSON(u.State, now)) },
		Closed: func(u auction.Update, _ time.Time) []byte { return frame("closed", toClosedJSON(u.State)) },
		Clock: func(now time.Time, _ bool) []byte {
			return frame("clock", clockJSON{ServerTime: words.ExactTime(now)})
		},
	}
}

// jsonEvents are the contract's server-sent events.
func jsonEvents() *live.Representation {
	as := jsonLive("json", func(name string, data any) []byte { return event(name, mustJSON(data)) })
	as.Retry = comeBack
	return as
}

// jsonMessages are the same as WebSocket messages.
func jsonMessages() *live.Representation {
	return jsonLive("websocket", func(name string, data any) []byte {
		return mustJSON(struct {
			Event string `json:"event"`
			Data  any    `json:"data"`
		}{name, data})
	})
}

func toPriceJSON(s auction.State, now time.Time) priceJSON {
	return priceJSON{
		AuctionID: s.ID, Version: s.Version, Seq: s.BidCount,
		CurrentPrice: s.CurrentPrice.String(), MinimumBid: s.MinimumBid().String(), LeaderID: OrNull(s.LeaderID),
		BidCount: s.BidCount, Status: s.Status, EndTime: words.ExactTime(s.EndAt), ServerTime: words.ExactTime(now),
	}
}

func toClosedJSON(s auction.State) closedJSON {
	closed := closedJSON{AuctionID: s.ID, Status: s.Status, ClosedAt: words.ExactTime(s.ClosedAt)}
	if result := s.Result(); result.WinnerID != 0 {
		price := result.HammerPrice.String()
		closed.WinnerID, closed.HammerPrice = &result.WinnerID, &price
	}
	return closed
}

// mustJSON encodes structs of strings and numbers, which cannot fail.
func mustJSON(value any) []byte {
	encoded, err := json.Marshal(value)
	if err != nil {
		panic("stream: " + err.Error())
	}
	return encoded
}

// OrNull is an id for the house's JSON, in which nobody is null.
func OrNull(id int64) *int64 {
	if id == 0 {
		return nil
	}
	return &id
}

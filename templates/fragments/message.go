package fragments

import (
	"time"

	"martelo/app/auction"
	"martelo/app/money"
	"martelo/templates/components"
)

// The answers to a bid, in words. A refusal that has to do with time names the house's clock and the end, so that
// nobody has to take our word for it.

// AcceptedMessage answers an accepted bid. lot is the state right after it: the bid may have been beaten already, and
// it may have moved the end.
func AcceptedMessage(lot LotView, bid auction.Bid) *components.Notice {
	text := "Your bid of " + lot.format(bid.Amount) + " was accepted"
	leads := lot.LeaderID == bid.BidderID
	switch {
	case leads && lot.sold():
		return &components.Notice{Kind: components.NoticeGood, Text: text + ", and you won the lot."}
	case leads && lot.Status == auction.Open:
		return &components.Notice{Kind: components.NoticeGood, Text: text + ": you lead."}
	case lot.Status == auction.Open:
		text += " and has been outbid since. The least you can bid now is " + lot.format(lot.MinimumBid())
	}
	return &components.Notice{Kind: components.NoticeInfo, Text: text + "."}
}

// ReplayedMessage answers a bid whose key was sent before: nothing new was bid.
func ReplayedMessage(lot LotView, bid auction.Bid) *components.Notice {
	m := AcceptedMessage(lot, bid)
	m.Text += " (It had arrived already and was counted once.)"
	return m
}

// TooLowMessage answers a bid below the least bid.
func TooLowMessage(lot LotView, asked, minimum money.Amount) *components.Notice {
	return bad(lot.format(asked) + " is not enough any more: the least you can bid is " + lot.format(minimum) + ".")
}

// AmountMessage answers something that is not an amount of the lot's currency; reason is the rulebook's sentence.
func AmountMessage(reason string) *components.Notice { return bad(reason) }

// ClosedMessage answers a bid that came at or after the end. decidedAt is the deciding clock's time.
func ClosedMessage(endAt, decidedAt time.Time) *components.Notice {
	return bad("Too late: bidding ended at " + components.FormatTime(endAt, components.TimeClock) +
		", and your bid was decided at " + components.FormatTime(decidedAt, components.TimeClock) + " by the house clock.")
}

// NotStartedMessage answers a bid before the start.
func NotStartedMessage(startAt time.Time) *components.Notice {
	return bad("Too early: bidding opens on " + components.FormatTime(startAt, components.TimeFull) + ".")
}

// CancelledMessage answers a bid on a withdrawn lot.
func CancelledMessage() *components.Notice {
	return bad("This lot was withdrawn from sale, so no bids are taken.")
}

// OwnAuctionMessage answers a seller's bid on an own lot.
func OwnAuctionMessage() *components.Notice {
	return bad("This is your own lot: a seller may not bid on it.")
}

// ForbiddenMessage answers what the account may not do.
func ForbiddenMessage() *components.Notice {
	return bad("Your account may not do this.")
}

// SignInMessage answers a bid without a session.
func SignInMessage(signInURL string) *components.Notice {
	m := bad("You are signed out, so nothing was bid.")
	m.LinkURL, m.LinkText = signInURL, "Sign in and come back"
	return m
}

// KeyReusedMessage answers a form that was sent before with another amount.
func KeyReusedMessage() *components.Notice {
	return bad("This form had been used for another bid already, so nothing new was bid. Here is a fresh one.")
}

// TooManyMessage answers a bid over the limit. Nothing was recorded.
func TooManyMessage() *components.Notice {
	return bad("That was faster than the house takes bids from one person. Nothing was bid; try again in a second.")
}

// UnavailableMessage answers a bid whose outcome is not known.
func UnavailableMessage() *components.Notice {
	return bad("The house cannot take bids at this moment. Press the button again shortly: the same bid never counts twice.")
}

// MalformedMessage answers a form that is not one of ours any more, for instance after a release.
func MalformedMessage() *components.Notice {
	return bad("The form could not be read, so nothing was bid. Here is a fresh one.")
}

func bad(text string) *components.Notice {
	return &components.Notice{Kind: components.NoticeBad, Text: text}
}

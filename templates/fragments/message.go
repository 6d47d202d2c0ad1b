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
		return &components.Notice{Kind: components.NoticeGood, Text: text + ": you are the highest bidder."}
	case lot.Status == auction.Open:
		text += " and has been outbid since. Bid at least " + lot.format(lot.MinimumBid())
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
	return bad(lot.format(asked) + " is too low. Bid at least " + lot.format(minimum) + ".")
}

// AmountMessage answers something that cannot be read as an amount of the lot's currency; reason says what to do.
func AmountMessage(reason string) *components.Notice { return bad(reason) }

// UnconfirmedMessage asks before a bid is taken that nobody may have meant, with both figures.
func UnconfirmedMessage(lot LotView, asked *auction.UnconfirmedError) *components.Notice {
	amount, minimum := lot.format(asked.Amount), lot.format(asked.MinimumBid)
	var text string
	if asked.OwnLead {
		text = "You are the highest bidder already, at " + lot.format(asked.CurrentPrice) + ". "
	}
	if asked.FarAbove {
		text += amount + " is far above the minimum bid of " + minimum + ". "
	}
	if asked.OwnLead {
		return info(text + "Raise your own bid to " + amount + "? To bid otherwise, change the amount.")
	}
	return info(text + "Bid " + amount + " all the same? To bid otherwise, change the amount.")
}

// LeadingMessage answers who presses again without naming a higher amount.
func LeadingMessage(lot LotView) *components.Notice {
	return info("You are the highest bidder already, at " + lot.format(lot.CurrentPrice) + ". Nothing more was bid.")
}

// OtherViewerMessage answers a form that was opened under another sign-in.
func OtherViewerMessage(lotURL string) *components.Notice {
	m := bad("You have signed in as somebody else since this page was opened, so nothing was bid.")
	m.LinkURL, m.LinkText = lotURL, "Reload the page"
	return m
}

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
	return bad("This lot was withdrawn from sale: no bids are taken.")
}

// OwnAuctionMessage answers a seller's bid on an own lot.
func OwnAuctionMessage() *components.Notice {
	return bad("This is your own lot: a seller may not bid on it.")
}

// ForbiddenMessage answers what the account may not do.
func ForbiddenMessage() *components.Notice {
	return bad("Your account may not bid here.")
}

// SignInMessage answers a bid without a session.
func SignInMessage(signInURL string) *components.Notice {
	m := bad("You are signed out, so nothing was bid. Your amount is kept.")
	m.LinkURL, m.LinkText = signInURL, "Sign in and come back"
	return m
}

// KeyReusedMessage answers a form that was sent before with another amount.
func KeyReusedMessage() *components.Notice {
	return bad("This form was used for another bid before, so nothing new was bid. Enter your bid again.")
}

// TooManyMessage answers a bid over the limit. Nothing was recorded.
func TooManyMessage() *components.Notice {
	return bad("You are bidding too quickly. Nothing was bid; try again in a second.")
}

// UnavailableMessage answers a bid whose outcome is not known.
func UnavailableMessage() *components.Notice {
	return bad("No bids can be taken at this moment. Press the button again shortly: the same bid never counts twice.")
}

// MalformedMessage answers a form that is not one of ours any more, for instance after a release.
func MalformedMessage() *components.Notice {
	return bad("The form could not be read, so nothing was bid. Enter your bid again.")
}

func info(text string) *components.Notice {
	return &components.Notice{Kind: components.NoticeInfo, Text: text}
}

func bad(text string) *components.Notice {
	return &components.Notice{Kind: components.NoticeBad, Text: text}
}

package fragments

import (
	"martelo/app/auction"
	"martelo/app/refusal"
	"martelo/templates/components"
	"martelo/templates/words"
)

// AcceptedMessage answers an accepted bid. lot is the state right after it: the bid may have been
// beaten already, and it may have moved the end. replayed tells that the same bid had come before,
// and nothing new was bid.
func AcceptedMessage(lot LotView, bid auction.Bid, replayed bool) *components.Notice {
	kind, key := components.NoticeInfo, words.BidAccepted
	switch leads := lot.LeaderID == bid.BidderID; {
	case leads && lot.sold():
		kind, key = components.NoticeGood, words.BidWon
	case leads && lot.Status == auction.Open:
		kind, key = components.NoticeGood, words.BidLeads
	case lot.Status == auction.Open:
		key = words.BidOutbid
	}
	text := lot.say(key, refusal.Figures{"amount": bid.Amount, "minimum": lot.MinimumBid()})
	if replayed {
		text = lot.say(words.BidReplayed, refusal.Figures{"sentence": text})
	}
	return &components.Notice{Kind: kind, Text: text}
}

// BlindMessage answers an accepted bid while the lot cannot be read: what is known is that it was
// accepted.
func BlindMessage(locale, lotURL string, bid auction.Bid) *components.Notice {
	language := words.In(locale)
	return &components.Notice{
		Kind: components.NoticeGood, LinkURL: lotURL, LinkText: language.Say(words.LinkReloadBlind, nil),
		Text: language.Say(words.BidAcceptedBlind, refusal.Figures{"amount": bid.Amount}),
	}
}

// UnconfirmedMessage asks before a bid is taken that nobody may have meant, with both figures.
func UnconfirmedMessage(lot LotView, asked *auction.UnconfirmedError) *components.Notice {
	key := words.AskFarAbove
	switch {
	case asked.OwnLead && asked.FarAbove:
		key = words.AskOwnLeadFar
	case asked.OwnLead:
		key = words.AskOwnLead
	}
	return info(lot.say(key, refusal.Figures{
		"amount": asked.Amount, "price": asked.CurrentPrice, "minimum": asked.MinimumBid,
	}))
}

// LeadingMessage answers who presses again without naming a higher amount.
func LeadingMessage(lot LotView) *components.Notice {
	return info(lot.say(words.AlreadyLeading, refusal.Figures{"price": lot.CurrentPrice}))
}

// RefusedMessage answers a bid that was not taken, in the words that templates/words has for why.
func RefusedMessage(text string) *components.Notice {
	return &components.Notice{Kind: components.NoticeBad, Text: text}
}

func info(text string) *components.Notice {
	return &components.Notice{Kind: components.NoticeInfo, Text: text}
}

func (v LotView) say(key words.Key, figures refusal.Figures) string {
	return words.In(v.Locale).Say(key, figures)
}

package fragments

import (
	"martelo/app/auction"
	"martelo/templates/components"
)

// PlainAcceptedMessage answers an accepted bid while the lot cannot be read: what is known is that it was accepted.
func PlainAcceptedMessage(locale, lotURL string, bid auction.Bid) *components.Notice {
	return &components.Notice{
		Kind: components.NoticeGood, LinkURL: lotURL, LinkText: "Reload the page.",
		Text: "Your bid of " + bid.Amount.Format(locale) + " was accepted. Whether you still lead cannot be shown at this moment.",
	}
}

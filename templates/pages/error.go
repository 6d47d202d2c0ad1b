package pages

import (
	"net/http"

	"martelo/templates/layouts"
	"martelo/templates/words"
)

// ErrorView is the page for everything that did not work. Headline and Advice may be left empty:
// every status has words of its own.
type ErrorView struct {
	layouts.PageView
	Status   int
	Headline string
	Advice   string
	// RequestID is shown for 5xx, so that somebody who asks about it can be helped.
	RequestID string
}

func (v ErrorView) words() words.Status {
	said := words.In(v.Locale).Status(v.Status)
	if v.Headline != "" {
		said.Headline = v.Headline
	}
	if v.Advice != "" {
		said.Advice = v.Advice
	}
	return said
}

// again tells whether reloading may help.
func (v ErrorView) again() bool {
	return v.Status >= http.StatusInternalServerError || v.Status == http.StatusTooManyRequests
}

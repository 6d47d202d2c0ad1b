package pages

import (
	"net/http"

	"martelo/templates/layouts"
)

// ErrorView is the page for everything that did not work. Headline and Advice may be left empty: every status has words
// of its own.
type ErrorView struct {
	layouts.PageView
	Status   int
	Headline string
	Advice   string
	// RequestID is shown for 5xx, so that somebody who asks about it can be helped.
	RequestID string
}

type errorWords struct{ headline, advice string }

var errorPages = map[int]errorWords{
	http.StatusBadRequest:            {"That request made no sense to us", "Go back, reload the page, and try it once more."},
	http.StatusUnauthorized:          {"You are signed out", "Sign in, and you come back to this page."},
	http.StatusForbidden:             {"This is not yours to do", "If it should be, sign in with the account that may do it."},
	http.StatusNotFound:              {"There is nothing here", "The address may be mistyped, or what was here is gone. All lots are in the list."},
	http.StatusMethodNotAllowed:      {"This page does not work that way", "Use the links and buttons of the house to get here."},
	http.StatusRequestEntityTooLarge: {"That was too much at once", "Shorten what you sent and try again."},
	http.StatusTooManyRequests:       {"Slower, please", "You asked more often than the house can answer one person. Wait a moment, then reload the page."},
	http.StatusInternalServerError:   {"Something went wrong on our side", "It has been written down. Your bids that were accepted are safe. Reload the page in a moment."},
	http.StatusServiceUnavailable:    {"The house is closed for a moment", "Bids that were accepted are safe. Reload the page shortly; sending the same bid again never counts it twice."},
}

func (v ErrorView) words() errorWords {
	words, ok := errorPages[v.Status]
	if !ok {
		words = errorPages[http.StatusInternalServerError]
		if v.Status < http.StatusInternalServerError {
			words = errorPages[http.StatusBadRequest]
		}
	}
	if v.Headline != "" {
		words.headline = v.Headline
	}
	if v.Advice != "" {
		words.advice = v.Advice
	}
	return words
}

// again tells whether reloading may help.
func (v ErrorView) again() bool {
	return v.Status >= http.StatusInternalServerError || v.Status == http.StatusTooManyRequests
}

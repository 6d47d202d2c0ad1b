package web

import (
	"errors"
	"testing"
	"time"

	"martelo/app/auction"
	"martelo/app/auctioneer"
	"martelo/app/live"
	"martelo/app/money"
	"martelo/app/refusal"
	"martelo/templates/words"
	"martelo/web/read"
)

// Whatever is refused has words in the table of each language: a title and a detail for programs,
// and a sentence for each form.
func TestEveryProblemHasWords(t *testing.T) {
	low := money.FromMinor(100, money.MustCurrency("USD"))
	errs := []error{
		&auction.TooLowError{CurrentPrice: low, MinimumBid: low}, &auction.UnconfirmedError{MinimumBid: low},
		&auction.ClosedError{EndAt: time.Unix(0, 0)}, &auction.NotStartedError{StartAt: time.Unix(0, 0)},
		refusal.Of("title", refusal.Missing), refusal.FieldErrors{refusal.Of("amount", refusal.NotAmount)},
		&limitedError{wait: time.Second, says: tooManyBids}, &limitedError{wait: time.Second, says: tooManyTries},
		&auctioneer.TooManyError{Reason: refusal.OpenedLately{Count: 1}},
		&auctioneer.TooManyError{Reason: refusal.TooManyOpen{Count: 1}},
		&auctioneer.TooManyError{Reason: refusal.MovedLately},
		&live.Refusal{}, auction.ErrUnavailable, errUndrawn,
	}
	for _, p := range plainProblems {
		errs = append(errs, p.err)
	}
	for _, reason := range []refusal.Reason{
		refusal.BodyBrokeOff, refusal.BodyNotUTF8, refusal.BodyNotJSON, refusal.BodyNotObject, refusal.FormUnreadable,
		refusal.FormNotUTF8, refusal.BadQuery, refusal.NoUpgrade, refusal.NamedTwice{Name: "a"},
	} {
		errs = append(errs, read.MalformedError{Reason: reason})
	}
	for _, err := range errs {
		p := describe(err)
		said := p.words(words.API)
		if said.Title == "" || said.Detail == "" || said.Bid == "" || said.Form == "" {
			t.Errorf("%v: %+v", err, said)
		}
		if p.status < 400 || p.code == "" || p.fault != errors.Is(err, errUndrawn) {
			t.Errorf("%v: %+v", err, p)
		}
	}
}

package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"martelo/app/auction"
	"martelo/app/refusal"
	"martelo/templates/components"
	"martelo/templates/fragments"
	"martelo/templates/pages"
	"martelo/templates/words"
	"martelo/web/read"
)

// aroundWithin is how long the answer to a bid waits for what stands around it. The bid is decided
// by then, and whoever made it is told at once what became of it, however long others who read have
// to wait.
const aroundWithin = 500 * time.Millisecond

// bidFragment answers the script on an auction's page: with the answer's place in the form and
// nothing else.
func (s *Server) bidFragment(c echo.Context, id int64, r bidResult) error {
	form, err := s.formAfterBid(c, id, r)
	if err != nil {
		form = s.blindBidForm(c, id) // the page has the lot already and takes only the answer
	}
	if r.refused != nil {
		status := s.logProblem(c, r.refused).status
		refuse(&form, r.typed, r.refused)
		return s.page(c, status, fragments.BidAnswer(form))
	}
	form.Accepted, form.BidHere = true, true
	form.Message = fragments.AcceptedMessage(form.Lot, r.bid, r.replayed)
	if err != nil {
		form.Message = blindMessage(c, id, r.bid)
	}
	return s.page(c, http.StatusOK, fragments.BidAnswer(form))
}

// formAfterBid reads the form as it is now: the lot, and whether the person has bid on it before.
// An accepted bid says that itself.
func (s *Server) formAfterBid(c echo.Context, id int64, r bidResult) (form fragments.BidFormView, err error) {
	defer s.hurry(c)()
	lot, err := s.Catalog.One(c.Request().Context(), id)
	if err != nil {
		return form, err
	}
	viewer, err := s.viewer(c)
	if err != nil {
		return form, err
	}
	view := lotView(lot, read.Locale(c.Request()))
	if r.refused == nil {
		return newBidForm(viewer, view), nil
	}
	return s.bidForm(c, viewer, view)
}

// bidPage answers the browser of somebody without the script: a good bid leads back to the
// auction's page, and a refused one is that page with the refusal on it.
func (s *Server) bidPage(c echo.Context, id int64, r bidResult) error {
	view, err := s.pageAfterBid(c, id)
	switch {
	case err != nil && r.refused == nil:
		return s.acceptedAnyway(c, id, r.bid)
	case err != nil:
		return errors.Join(r.refused, err)
	case r.refused != nil:
		status := s.logProblem(c, r.refused).status
		refuse(&view.BidForm, r.typed, r.refused)
		return s.page(c, status, pages.Auction(view))
	}
	said := fragments.AcceptedMessage(view.Lot, r.bid, r.replayed)
	err = s.flash(c, said.Kind, said.Text)
	if err == nil {
		err = s.seeOther(c, components.AuctionPath(id))
	}
	if err != nil {
		logOf(c).fault = err
		return s.acceptedAnyway(c, id, r.bid)
	}
	return nil
}

func (s *Server) pageAfterBid(c echo.Context, id int64) (view pages.AuctionView, err error) {
	defer s.hurry(c)()
	lot, err := s.Catalog.One(c.Request().Context(), id)
	if err != nil {
		return view, err
	}
	return s.auctionView(c, lot, auction.RecentMax)
}

// hurry bounds what the rest of a function reads to aroundWithin, until the returned function is
// called.
func (s *Server) hurry(c echo.Context) (done func()) {
	whole := c.Request()
	ctx, cancel := context.WithTimeout(whole.Context(), aroundWithin)
	c.SetRequest(whole.WithContext(ctx))
	return func() {
		cancel()
		c.SetRequest(whole)
	}
}

// blindBidForm is the form on a lot that cannot be read at this moment.
func (s *Server) blindBidForm(c echo.Context, id int64) fragments.BidFormView {
	lot := fragments.LotView{State: auction.State{ID: id, Status: auction.Open}, Locale: read.Locale(c.Request())}
	return fragments.BidFormView{Lot: lot, Bidding: fragments.BiddingAllowed, Key: newKey()}
}

func blindMessage(c echo.Context, id int64, bid auction.Bid) *components.Notice {
	return fragments.BlindMessage(read.Locale(c.Request()), components.AuctionPath(id), bid)
}

// acceptedAnyway tells somebody of an accepted bid on a page of its own: the auction's page cannot
// be had, or the answer cannot be kept for it.
func (s *Server) acceptedAnyway(c echo.Context, id int64, bid auction.Bid) error {
	path, title := components.AuctionPath(id), say(c, words.BidAcceptedTitle, nil)
	view, err := s.pageView(c, title, path)
	if err != nil {
		view = s.barePageView(c, title, path)
	}
	text := blindMessage(c, id, bid).Text
	return s.page(c, http.StatusOK, pages.Answer(pages.AnswerView{PageView: view, Text: text}))
}

// refuse puts a refusal on a bid form, with what was typed. While the outcome is open the key
// stays, so that trying again cannot bid twice.
func refuse(form *fragments.BidFormView, typed typedBid, refused error) {
	form.Amount = typed.text
	if typed.exact {
		form.Amount = "" // a button's amount was never in the field
	}
	if form.Bidding == fragments.BiddingSignIn {
		form.SignInURL = signInToBid(form.Lot.ID, typed)
	}
	p := describe(refused)
	if p.status == http.StatusServiceUnavailable || p.status == http.StatusTooManyRequests || p.fault {
		form.Key = typed.key.String()
	}
	language := words.In(form.Lot.Locale)
	unreadable, isUnreadable := unreadableAmount(p)
	var unconfirmed *auction.UnconfirmedError
	switch {
	case errors.As(refused, &unconfirmed):
		form.Message = fragments.UnconfirmedMessage(form.Lot, unconfirmed)
		form.Choices = []fragments.Choice{confirmation(language, unconfirmed)}
	case leads(form) && (p.code == "bid_too_low" || isUnreadable && typed.text == ""):
		form.Message = fragments.LeadingMessage(form.Lot) // a press more than was meant
	default:
		if p.code == "bid_too_low" {
			amount, _ := typed.amount(form.Lot.Locale) // it was read before it was refused
			p = p.with("amount", amount)
		}
		form.Message = fragments.RefusedMessage(p.words(language).Bid)
		form.Message.LinkURL, form.Message.LinkText = wayOut(form, p, language)
		form.Choices = readings(language, unreadable)
	}
	form.Wrong = (p.code == "bid_too_low" || isUnreadable) && !(leads(form) && typed.text == "")
}

// unreadableAmount is why what was typed is not an amount of the lot's currency, if that is the
// problem.
func unreadableAmount(p problem) (refusal.Typed, bool) {
	if len(p.fields) == 0 {
		return refusal.Typed{}, false
	}
	typed, ok := p.fields[0].Reason.(refusal.Typed)
	return typed, ok
}

// wayOut is the link that leads out of a refusal, if there is one.
func wayOut(form *fragments.BidFormView, p problem, language words.Language) (url, text string) {
	switch {
	case p.status == http.StatusUnauthorized:
		return form.SignInURL, language.Say(words.LinkSignIn, nil)
	case p.says == "other_viewer":
		return components.AuctionPath(form.Lot.ID), language.Say(words.LinkReload, nil)
	}
	return "", ""
}

// readings are the buttons for what a typed amount may mean.
func readings(language words.Language, unreadable refusal.Typed) []fragments.Choice {
	var choices []fragments.Choice
	for _, reading := range unreadable.Readings() {
		choices = append(choices, fragments.Choice{
			Name: fragments.FieldQuick, Value: reading.String(),
			Label: language.Say(words.ChoiceBid, refusal.Figures{"amount": reading}),
		})
	}
	return choices
}

// signInToBid leads to the sign-in page and back to the lot, with what was typed in its field
// again.
func signInToBid(id int64, typed typedBid) string {
	back := components.AuctionPath(id)
	if typed.text != "" {
		back += "?" + url.Values{fragments.FieldAmount: {typed.text}}.Encode()
	}
	return components.ReturnURL(components.PathSignIn, back)
}

// leads tells whether the form's person is the highest bidder.
func leads(form *fragments.BidFormView) bool {
	return form.ViewerID != 0 && form.Lot.Status == auction.Open && form.Lot.LeaderID == form.ViewerID
}

// confirmation is the button that takes a bid which was asked about: exactly that amount, and those
// questions.
func confirmation(language words.Language, asked *auction.UnconfirmedError) fragments.Choice {
	value := asked.Amount.String()
	if asked.OwnLead {
		value += " " + confirmOwnLead
	}
	if asked.FarAbove {
		value += " " + confirmFarAbove
	}
	return fragments.Choice{
		Name: fragments.FieldConfirm, Value: value,
		Label: language.Say(words.ChoiceConfirm, refusal.Figures{"amount": asked.Amount}),
	}
}

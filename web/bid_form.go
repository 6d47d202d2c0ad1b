package web

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"martelo/app/account"
	"martelo/app/auction"
	"martelo/app/catalog"
	"martelo/app/money"
	"martelo/app/refusal"
	"martelo/templates/components"
	"martelo/templates/fragments"
	"martelo/templates/pages"
	"martelo/templates/words"
	"martelo/web/read"
)

// bidForm is POST /auctions/{id}/bids from a page: the same bid, typed by a person. The page's script gets its form back, with
// the answer in it; without script a good bid leads back to the page, and a refused one is the page with the refusal on it.
func (s *Server) bidForm(c echo.Context) error {
	id, err := auctionID(c)
	if err != nil {
		return s.refusedBid(err)
	}
	var typed typedBid
	var bid auction.Bid
	var replayed bool
	who, err := s.caller(c)
	if err == nil {
		typed, err = s.readTypedBid(c)
	} else if form, unread := read.Form(c.Request()); unread == nil {
		typed.text = strings.TrimSpace(form.Get(fragments.FieldAmount)) // comes back after signing in
	}
	if err != nil {
		err = s.refusedBid(err)
	} else {
		bid, replayed, err = s.placeTyped(c, id, who, &typed)
	}
	if !read.AsksPage(c.Request()) {
		if err != nil {
			return err
		}
		return answerBid(c, bid, replayed)
	}
	return s.answerTyped(c, id, typed, bid, replayed, err)
}

// typedBid is what came with the form, kept as it was typed.
type typedBid struct {
	key uuid.UUID
	// text is the amount as a person wrote it, or exact digits where a button was pressed.
	text  string
	exact bool
	// confirmed are the questions that were answered before, for this amount.
	confirmed auction.Questions
	currency  money.Currency // of the lot
}

// The words with which FieldConfirm says what was asked.
const (
	confirmOwnLead  = "lead"
	confirmFarAbove = "far"
)

func (s *Server) readTypedBid(c echo.Context) (typedBid, error) {
	form, err := s.formOf(c)
	if err != nil && !errors.Is(err, errOtherViewer) {
		return typedBid{}, err
	}
	typed := typedBid{text: strings.TrimSpace(form.Get(fragments.FieldAmount))}
	if err != nil {
		return typed, err
	}
	if quick := form.Get(fragments.FieldQuick); quick != "" {
		typed.text, typed.exact = quick, true
	}
	if confirm := strings.Fields(form.Get(fragments.FieldConfirm)); len(confirm) > 0 {
		typed.text, typed.exact = confirm[0], true
		typed.confirmed.OwnLead = slices.Contains(confirm[1:], confirmOwnLead)
		typed.confirmed.FarAbove = slices.Contains(confirm[1:], confirmFarAbove)
	}
	// The pages' own forms carry the key as a field; a program that posts a form may send the header instead.
	field := form.Get(fragments.FieldKey)
	if field == "" {
		typed.key, err = read.Key(c.Request().Header)
		return typed, err
	}
	var ok bool
	if typed.key, ok = read.ParseKey(field); !ok {
		return typed, read.ErrKeyInvalid
	}
	return typed, nil
}

// amount reads what was typed, as people of the locale write it.
func (t typedBid) amount(locale string) (money.Amount, error) {
	if !t.exact {
		return money.ReadTyped(t.text, t.currency, words.NotationOf(locale))
	}
	decimal, err := money.Parse(t.text)
	if err != nil {
		return money.Amount{}, err
	}
	return decimal.In(t.currency)
}

func (s *Server) placeTyped(c echo.Context, id int64, who account.Identity, typed *typedBid) (auction.Bid, bool, error) {
	ctx := c.Request().Context()
	currency, err := s.Auctioneer.Currency(ctx, id)
	if err != nil {
		return auction.Bid{}, false, s.refusedBid(err)
	}
	typed.currency = currency
	amount, err := typed.amount(read.Locale(c.Request()))
	if err != nil {
		return auction.Bid{}, false, s.refusedBid(refusal.Of(fragments.FieldAmount, refusal.Typed{Currency: typed.currency, Cause: err}))
	}
	decimal, _ := money.Parse(amount.String())
	return s.place(ctx, auction.Request{
		AuctionID: id, BidderID: who.ID, Amount: decimal, Key: typed.key,
		Ask: auction.Questions{OwnLead: !typed.confirmed.OwnLead, FarAbove: !typed.confirmed.FarAbove},
	})
}

// answerTyped answers a person.
func (s *Server) answerTyped(c echo.Context, id int64, typed typedBid, bid auction.Bid, replayed bool, refused error) error {
	lot, view, err := s.aroundBid(c, id)
	switch {
	case err != nil && refused == nil:
		return s.acceptedAnyway(c, id, bid)
	case err != nil:
		return s.refusedAnyway(c, id, typed, refused, err)
	}
	status := http.StatusOK
	if refused == nil {
		view.Desk.Accepted = true
		view.Desk.Message = fragments.AcceptedMessage(view.Lot, bid, replayed)
	} else {
		status = s.noteProblem(c, refused).status
		view.Desk.ViewerID = view.ViewerID()
		refuse(&view.Desk, lot, typed, refused)
	}
	switch {
	case read.AsksFragment(c.Request()):
		return s.page(c, status, fragments.BidAnswer(view.Desk))
	case refused != nil:
		return s.page(c, status, pages.Auction(view))
	}
	err = s.flash(c, view.Desk.Message.Kind, view.Desk.Message.Text)
	if err == nil {
		err = s.seeOther(c, components.AuctionPath(id))
	}
	if err != nil {
		noteOf(c).fault = err
		return s.acceptedAnyway(c, id, bid)
	}
	return nil
}

// refuse puts a refusal on a desk, with what was typed. While the outcome is open the key stays, so that trying again
// cannot bid twice.
func refuse(desk *fragments.BidFormView, lot catalog.Auction, typed typedBid, refused error) {
	desk.Amount = typed.text
	if typed.exact {
		desk.Amount = "" // a button's amount was never in the field
	}
	if desk.Bidding == fragments.BiddingSignIn {
		desk.SignInURL = signInToBid(lot.ID, typed)
	}
	p := describe(refused)
	if p.status == http.StatusServiceUnavailable || p.status == http.StatusTooManyRequests || p.fault {
		desk.Key = typed.key.String()
	}
	language := words.In(desk.Lot.Locale)
	unreadable, isUnreadable := unreadableAmount(p)
	var unconfirmed *auction.UnconfirmedError
	switch {
	case errors.As(refused, &unconfirmed):
		desk.Message = fragments.UnconfirmedMessage(desk.Lot, unconfirmed)
		desk.Choices = []fragments.Choice{confirmation(language, unconfirmed)}
	case leads(desk) && (p.code == "bid_too_low" || isUnreadable && typed.text == ""):
		desk.Message = fragments.LeadingMessage(desk.Lot) // a press more than was meant
	default:
		if p.code == "bid_too_low" {
			amount, _ := typed.amount(desk.Lot.Locale) // it was read before it was refused
			p = p.with("amount", amount)
		}
		desk.Message = fragments.RefusedMessage(p.words(language).Bid)
		desk.Message.LinkURL, desk.Message.LinkText = wayOut(desk, p, language)
		desk.Choices = readings(language, unreadable)
	}
	desk.Wrong = (p.code == "bid_too_low" || isUnreadable) && !(leads(desk) && typed.text == "")
}

// unreadableAmount is why what was typed is not an amount of the lot's currency, if that is the problem.
func unreadableAmount(p problem) (refusal.Typed, bool) {
	if len(p.fields) == 0 {
		return refusal.Typed{}, false
	}
	typed, ok := p.fields[0].Reason.(refusal.Typed)
	return typed, ok
}

// wayOut is the link that leads out of a refusal, if there is one.
func wayOut(desk *fragments.BidFormView, p problem, language words.Language) (url, text string) {
	switch {
	case p.status == http.StatusUnauthorized:
		return desk.SignInURL, language.Say(words.LinkSignIn, nil)
	case p.says == "other_viewer":
		return components.AuctionPath(desk.Lot.ID), language.Say(words.LinkReload, nil)
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

// signInToBid leads to the sign-in page and back to the lot, with what was typed in its field again.
func signInToBid(id int64, typed typedBid) string {
	back := components.AuctionPath(id)
	if typed.text != "" {
		back += "?" + url.Values{fragments.FieldAmount: {typed.text}}.Encode()
	}
	return components.ReturnURL(components.PathSignIn, back)
}

// leads tells whether the form's person is the highest bidder.
func leads(desk *fragments.BidFormView) bool {
	return desk.ViewerID != 0 && desk.Lot.Status == auction.Open && desk.Lot.LeaderID == desk.ViewerID
}

// confirmation is the button that takes a bid which was asked about: exactly that amount, and those questions.
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

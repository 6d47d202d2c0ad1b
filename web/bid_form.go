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
	"martelo/templates/components"
	"martelo/templates/fragments"
	"martelo/templates/pages"
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
	} else if form, unread := readForm(c.Response(), c.Request()); unread == nil {
		typed.text = strings.TrimSpace(form.Get(fragments.FieldAmount)) // comes back after signing in
	}
	if err != nil {
		err = s.refusedBid(err)
	} else {
		bid, replayed, err = s.placeTyped(c, id, who, &typed)
	}
	if !asksPage(c.Request()) {
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
		typed.key, err = readKey(c.Request().Header)
		return typed, err
	}
	var ok bool
	if typed.key, ok = parseKey(field); !ok {
		return typed, errKeyInvalid
	}
	return typed, nil
}

// amount reads what was typed, as people of the locale write it.
func (t typedBid) amount(locale string) (money.Amount, error) {
	if !t.exact {
		return money.ReadTyped(t.text, t.currency, components.NotationOf(locale))
	}
	decimal, err := money.Parse(t.text)
	if err != nil {
		return money.Amount{}, err
	}
	return decimal.In(t.currency)
}

// unreadableError says why what was typed is not an amount of the lot's currency.
type unreadableError struct {
	currency money.Currency
	cause    error
}

func (e *unreadableError) Error() string { return "web: amount: " + e.cause.Error() }
func (e *unreadableError) Unwrap() error { return e.cause }

func (s *Server) placeTyped(c echo.Context, id int64, who account.Identity, typed *typedBid) (auction.Bid, bool, error) {
	ctx := c.Request().Context()
	currency, err := s.Auctioneer.Currency(ctx, id)
	if err != nil {
		return auction.Bid{}, false, s.refusedBid(err)
	}
	typed.currency = currency
	amount, err := typed.amount(localeOf(c.Request()))
	if err != nil {
		return auction.Bid{}, false, s.refusedBid(&unreadableError{currency: typed.currency, cause: err})
	}
	decimal, _ := money.Parse(amount.String())
	return s.place(ctx, auction.Request{
		AuctionID: id, BidderID: who.ID, Amount: decimal, Key: typed.key,
		Ask: auction.Questions{OwnLead: !typed.confirmed.OwnLead, FarAbove: !typed.confirmed.FarAbove},
	})
}

// answerTyped answers a person.
func (s *Server) answerTyped(c echo.Context, id int64, typed typedBid, bid auction.Bid, replayed bool, refusal error) error {
	lot, view, err := s.aroundBid(c, id)
	switch {
	case err != nil && refusal == nil:
		return s.acceptedAnyway(c, id, bid)
	case err != nil:
		return s.refusedAnyway(c, id, typed, refusal, err)
	}
	status := http.StatusOK
	if refusal == nil {
		view.Desk.Accepted = true
		view.Desk.Message = fragments.AcceptedMessage(view.Lot, bid)
		if replayed {
			view.Desk.Message = fragments.ReplayedMessage(view.Lot, bid)
		}
	} else {
		status = s.noteProblem(c, refusal).Status
		view.Desk.ViewerID = view.ViewerID()
		refuse(&view.Desk, lot, typed, refusal)
	}
	switch {
	case asksFragment(c.Request()):
		return s.page(c, status, fragments.BidAnswer(view.Desk))
	case refusal != nil:
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
func refuse(desk *fragments.BidFormView, lot catalog.Auction, typed typedBid, refusal error) {
	desk.Amount = typed.text
	if typed.exact {
		desk.Amount = "" // a button's amount was never in the field
	}
	if desk.Bidding == fragments.BiddingSignIn {
		desk.SignInURL = signInToBid(lot.ID, typed)
	}
	desk.Message, desk.Choices = bidRefusal(desk, lot, typed, refusal)
	var tooLow *auction.TooLowError
	var unreadable *unreadableError
	desk.Wrong = (errors.As(refusal, &tooLow) || errors.As(refusal, &unreadable)) && !(leads(desk) && typed.text == "")
	var limited *limitedError
	if errors.Is(refusal, auction.ErrUnavailable) || errors.As(refusal, &limited) {
		desk.Key = typed.key.String()
	}
}

// signInToBid leads to the sign-in page and back to the lot, with what was typed in its field again.
func signInToBid(id int64, typed typedBid) string {
	back := components.AuctionPath(id)
	if typed.text != "" {
		back += "?" + url.Values{fragments.FieldAmount: {typed.text}}.Encode()
	}
	return components.ReturnURL(components.PathSignIn, back)
}

// bidRefusal says in words why a bid was refused, and offers what may be answered to a question.
func bidRefusal(desk *fragments.BidFormView, lot catalog.Auction, typed typedBid, refusal error) (*components.Notice, []fragments.Choice) {
	var (
		unreadable  *unreadableError
		ambiguous   *money.AmbiguousError
		unconfirmed *auction.UnconfirmedError
		tooLow      *auction.TooLowError
		closed      *auction.ClosedError
		notStarted  *auction.NotStartedError
		field       *auction.FieldError
		limited     *limitedError
	)
	locale := desk.Lot.Locale
	switch {
	case errors.As(refusal, &unconfirmed):
		return fragments.UnconfirmedMessage(desk.Lot, unconfirmed), []fragments.Choice{confirmation(locale, unconfirmed)}
	case leads(desk) && (errors.As(refusal, &tooLow) || errors.As(refusal, &unreadable) && typed.text == ""):
		return fragments.LeadingMessage(desk.Lot), nil // a press more than was meant
	case errors.As(refusal, &unreadable):
		message := fragments.AmountMessage(components.AmountProblem(locale, unreadable.currency, unreadable.cause))
		var readings []fragments.Choice
		if errors.As(unreadable.cause, &ambiguous) {
			for _, reading := range ambiguous.Readings {
				readings = append(readings, fragments.Choice{
					Name: fragments.FieldQuick, Value: reading.String(), Label: "Bid " + reading.Format(locale),
				})
			}
		}
		return message, readings
	case errors.As(refusal, &tooLow):
		amount, _ := typed.amount(locale) // it was read before it was refused
		return fragments.TooLowMessage(desk.Lot, amount, tooLow.MinimumBid), nil
	case errors.As(refusal, &closed):
		return fragments.ClosedMessage(closed.EndAt, closed.DecidedAt), nil
	case errors.As(refusal, &notStarted):
		return fragments.NotStartedMessage(notStarted.StartAt), nil
	case errors.As(refusal, &field):
		return fragments.AmountMessage(field.Reason), nil
	case errors.As(refusal, &limited):
		return fragments.TooManyMessage(), nil
	case errors.Is(refusal, errOtherViewer):
		return fragments.OtherViewerMessage(components.AuctionPath(lot.ID)), nil
	}
	for _, plain := range []struct {
		err     error
		message func() *components.Notice
	}{
		{auction.ErrCancelled, fragments.CancelledMessage},
		{auction.ErrOwnAuction, fragments.OwnAuctionMessage},
		{auction.ErrKeyReused, fragments.KeyReusedMessage},
		{auction.ErrUnavailable, fragments.UnavailableMessage},
		{auction.ErrForbidden, fragments.ForbiddenMessage},
	} {
		if errors.Is(refusal, plain.err) {
			return plain.message(), nil
		}
	}
	if describe(refusal).Status == http.StatusUnauthorized {
		return fragments.SignInMessage(desk.SignInURL), nil
	}
	return fragments.MalformedMessage(), nil
}

// leads tells whether the form's person is the highest bidder.
func leads(desk *fragments.BidFormView) bool {
	return desk.ViewerID != 0 && desk.Lot.Status == auction.Open && desk.Lot.LeaderID == desk.ViewerID
}

// confirmation is the button that takes a bid which was asked about: exactly that amount, and those questions.
func confirmation(locale string, asked *auction.UnconfirmedError) fragments.Choice {
	value := asked.Amount.String()
	if asked.OwnLead {
		value += " " + confirmOwnLead
	}
	if asked.FarAbove {
		value += " " + confirmFarAbove
	}
	return fragments.Choice{Name: fragments.FieldConfirm, Value: value, Label: "Yes, bid " + asked.Amount.Format(locale)}
}

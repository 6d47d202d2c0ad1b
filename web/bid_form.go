package web

import (
	"errors"
	"net/http"
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
		typed, err = readTypedBid(c)
	}
	if err != nil {
		err = s.refusedBid(err)
	} else {
		bid, replayed, err = s.placeTyped(c, id, who, typed)
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
	key    uuid.UUID
	amount string
}

func readTypedBid(c echo.Context) (typedBid, error) {
	form, err := readForm(c.Response(), c.Request())
	if err != nil {
		return typedBid{}, err
	}
	typed := typedBid{amount: strings.TrimSpace(form.Get(fragments.FieldAmount))}
	if quick := form.Get(fragments.FieldQuick); quick != "" {
		typed.amount = quick
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

func (s *Server) placeTyped(c echo.Context, id int64, who account.Identity, typed typedBid) (auction.Bid, bool, error) {
	amount, wrong := parseDecimal("amount", typed.amount)
	if wrong != nil {
		return auction.Bid{}, false, s.refusedBid(wrong)
	}
	return s.place(c.Request().Context(), auction.Request{AuctionID: id, BidderID: who.ID, Amount: amount, Key: typed.key})
}

// answerTyped answers a person.
func (s *Server) answerTyped(c echo.Context, id int64, typed typedBid, bid auction.Bid, replayed bool, refusal error) error {
	lot, view, err := s.aroundBid(c, id)
	switch {
	case err != nil && refusal == nil:
		return s.acceptedAnyway(c, id, bid)
	case err != nil:
		return errors.Join(refusal, err)
	}
	status := http.StatusOK
	if refusal == nil {
		view.Desk.Message = fragments.AcceptedMessage(view.Lot, bid)
		if replayed {
			view.Desk.Message = fragments.ReplayedMessage(view.Lot, bid)
		}
	} else {
		status = s.noteProblem(c, refusal).Status
		refuse(&view.Desk, lot, typed, refusal)
	}
	switch {
	case asksFragment(c.Request()):
		return s.page(c, status, fragments.BidForm(view.Desk))
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

// refuse puts a refusal on a desk, with what was typed. While the outcome is open the key stays, so that trying again cannot bid twice.
func refuse(desk *fragments.BidFormView, lot catalog.Auction, typed typedBid, refusal error) {
	desk.Amount = typed.amount
	desk.Message = bidRefusal(desk, lot, typed, refusal)
	var tooLow *auction.TooLowError
	var field *auction.FieldError
	desk.Wrong = errors.As(refusal, &tooLow) || errors.As(refusal, &field)
	var limited *limitedError
	if errors.Is(refusal, auction.ErrUnavailable) || errors.As(refusal, &limited) {
		desk.Key = typed.key.String()
	}
}

// bidRefusal says in words why a bid was refused.
func bidRefusal(desk *fragments.BidFormView, lot catalog.Auction, typed typedBid, refusal error) *components.Notice {
	var (
		tooLow     *auction.TooLowError
		closed     *auction.ClosedError
		notStarted *auction.NotStartedError
		field      *auction.FieldError
		limited    *limitedError
	)
	switch {
	case errors.As(refusal, &tooLow):
		return fragments.TooLowMessage(desk.Lot, asked(typed, lot.Currency), tooLow.MinimumBid)
	case errors.As(refusal, &closed):
		return fragments.ClosedMessage(closed.EndAt, closed.DecidedAt)
	case errors.As(refusal, &notStarted):
		return fragments.NotStartedMessage(notStarted.StartAt)
	case errors.As(refusal, &field):
		return fragments.AmountMessage(field.Reason)
	case errors.As(refusal, &limited):
		return fragments.TooManyMessage()
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
			return plain.message()
		}
	}
	if describe(refusal).Status == http.StatusUnauthorized {
		return fragments.SignInMessage(desk.SignInURL)
	}
	return fragments.MalformedMessage()
}

// asked is the amount that was typed; it was read before it was refused for being too low.
func asked(typed typedBid, currency money.Currency) money.Amount {
	decimal, _ := money.Parse(typed.amount)
	amount, _ := decimal.In(currency)
	return amount
}

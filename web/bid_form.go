package web

import (
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"martelo/app/auction"
	"martelo/app/money"
	"martelo/app/refusal"
	"martelo/templates/fragments"
	"martelo/templates/words"
	"martelo/web/read"
)

// typedBid is what came with a form, kept as it was typed.
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

// readBidForm reads a bid that a person typed. What was typed is returned with an error too, to be
// shown again.
func (s *Server) readBidForm(c echo.Context, id int64) (request auction.Request, typed typedBid, err error) {
	who, err := s.caller(c)
	if err != nil {
		if form, unread := read.Form(c.Request()); unread == nil {
			typed.text = strings.TrimSpace(form.Get(fragments.FieldAmount)) // comes back after signing in
		}
		return request, typed, err
	}
	if typed, err = s.readTypedBid(c); err != nil {
		return request, typed, err
	}
	// What was typed has a meaning only in the auction's currency.
	if typed.currency, err = s.Auctioneer.Currency(c.Request().Context(), id); err != nil {
		return request, typed, err
	}
	amount, err := typed.amount(read.Locale(c.Request()))
	if err != nil {
		reason := refusal.Typed{Currency: typed.currency, Cause: err}
		return request, typed, refusal.Of(fragments.FieldAmount, reason)
	}
	decimal, _ := money.Parse(amount.String())
	return auction.Request{
		AuctionID: id, BidderID: who.ID, Amount: decimal, Key: typed.key,
		Ask: auction.Questions{OwnLead: !typed.confirmed.OwnLead, FarAbove: !typed.confirmed.FarAbove},
	}, typed, nil
}

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
	// The pages' own forms carry the key as a field; a program that posts a form may send the
	// header instead.
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

package web

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"martelo/app/auction"
	"martelo/app/money"
	"martelo/templates/components"
)

// currencyDefault is an auction's currency unless its seller says otherwise.
const currencyDefault = "USD"

// auctionCreate is POST /auctions.
func (s *Server) auctionCreate(c echo.Context) error {
	if mediaOf(c.Request()) == mediaForm {
		return s.auctionForm(c)
	}
	who, err := s.caller(c)
	if err != nil {
		return err
	}
	if !who.MaySell() {
		return errForbidden
	}
	key, err := readKey(c.Request().Header)
	if err != nil && !errors.Is(err, errKeyMissing) { // without one, sending the draft twice opens two auctions
		return err
	}
	body, err := readObject(c.Response(), c.Request())
	if err != nil {
		return err
	}
	draft, wrong := readDraft(body)
	if len(wrong) > 0 {
		return wrong
	}
	draft.SellerID, draft.Key = who.ID, key
	id, err := s.Auctioneer.Open(c.Request().Context(), draft)
	if err != nil {
		return err
	}
	noteOf(c).auctionID = id
	return s.answerOpened(c, id)
}

// answerOpened answers a program with the auction it opened.
func (s *Server) answerOpened(c echo.Context, id int64) error {
	opened, err := s.Catalog.One(c.Request().Context(), id)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Location", components.AuctionPath(id))
	return writeJSON(c, http.StatusCreated, mediaJSON, toAuctionJSON(opened))
}

// readDraft reads an auction to be opened, and says all that cannot be read in it. Whether what was read makes an auction is the rulebook's
// to say.
func readDraft(body object) (draft auction.Draft, wrong auction.FieldErrors) {
	note := func(refusal *auction.FieldError) {
		if refusal != nil {
			wrong = append(wrong, refusal)
		}
	}
	var refusal *auction.FieldError
	draft.Title, refusal = body.text("title")
	note(refusal)
	draft.Description, refusal = body.text("description")
	note(refusal)
	draft.Currency, refusal = readCurrency(body)
	note(refusal)
	draft.StartPrice, refusal = readAmount(body, "startPrice", draft.Currency)
	note(refusal)
	draft.MinIncrement, refusal = readAmount(body, "minIncrement", draft.Currency)
	note(refusal)
	draft.StartAt, refusal = body.time("startTime")
	note(refusal)
	draft.EndAt, refusal = body.time("endTime")
	if refusal == nil && draft.EndAt.IsZero() {
		refusal = &auction.FieldError{Field: "endTime", Reason: "Give an end time."}
	}
	note(refusal)
	draft.SoftClose, refusal = readSoftClose(body)
	note(refusal)
	lane, refusal := body.text("lane")
	note(refusal)
	draft.Lane = auction.Lane(lane)
	if lane == "" && !body.has("lane") {
		draft.Lane = auction.Standard
	}
	return draft, wrong
}

func readCurrency(body object) (money.Currency, *auction.FieldError) {
	code, refusal := body.text("currency")
	if refusal != nil {
		return money.Currency{}, refusal
	}
	if !body.has("currency") {
		code = currencyDefault
	}
	return parseCurrency(code)
}

func parseCurrency(code string) (money.Currency, *auction.FieldError) {
	currency, err := money.ParseCurrency(code)
	if err != nil {
		return currency, &auction.FieldError{Field: "currency", Reason: "Give the currency as an ISO 4217 code such as USD."}
	}
	return currency, nil
}

// readAmount reads an amount of a currency. Without a currency it only reads the number, since the currency is refused already.
func readAmount(body object, field string, currency money.Currency) (money.Amount, *auction.FieldError) {
	decimal, refusal := body.decimal(field)
	if refusal != nil || currency.Code() == "" {
		return money.Amount{}, refusal
	}
	return inCurrency(field, decimal, currency)
}

func inCurrency(field string, decimal money.Decimal, currency money.Currency) (money.Amount, *auction.FieldError) {
	amount, err := decimal.In(currency)
	if err != nil {
		return amount, &auction.FieldError{Field: field, Reason: auction.AmountReason(err, currency)}
	}
	return amount, nil
}

func readSoftClose(body object) (auction.SoftClose, *auction.FieldError) {
	soft := auction.DefaultSoftClose
	inner, refusal := body.object("softClose")
	if refusal != nil {
		return soft, refusal
	}
	for _, part := range []struct {
		field string
		into  *time.Duration
	}{{"windowSeconds", &soft.Window}, {"extendSeconds", &soft.Extend}} {
		if !inner.has(part.field) {
			continue
		}
		n, refusal := inner.integer(part.field)
		// Figures that a Duration cannot hold are as wrong as those that the rulebook refuses.
		if most := int64(auction.SoftCloseMax / time.Second); refusal != nil || n < 0 || n > most {
			return soft, &auction.FieldError{Field: "softClose", Reason: "Give the soft close in whole seconds, from 0 to " + strconv.FormatInt(most, 10) + "."}
		}
		*part.into = time.Duration(n) * time.Second
	}
	return soft, nil
}

// newKey makes the key that a form is drawn with.
func newKey() string { return uuid.NewString() }

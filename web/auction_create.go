package web

import (
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"martelo/app/auction"
	"martelo/app/money"
	"martelo/app/refusal"
	"martelo/templates/components"
	"martelo/web/read"
)

// currencyDefault is an auction's currency unless its seller says otherwise.
const currencyDefault = "USD"

// auctionCreate is POST /auctions.
func (s *Server) auctionCreate(c echo.Context) error {
	if read.Media(c.Request()) == read.MediaForm {
		return s.auctionSubmit(c)
	}
	who, err := s.caller(c)
	if err != nil {
		return err
	}
	if !who.MaySell() {
		return errForbidden
	}
	key, err := read.Key(c.Request().Header)
	if err != nil && !errors.Is(err, read.ErrKeyMissing) { // without one, sending the draft twice opens two auctions
		return err
	}
	body, err := read.ObjectOf(c.Request())
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
	logOf(c).auctionID = id
	return s.answerOpened(c, id)
}

// answerOpened answers a program with the auction it opened.
func (s *Server) answerOpened(c echo.Context, id int64) error {
	opened, err := s.Catalog.One(c.Request().Context(), id)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Location", components.AuctionPath(id))
	return writeJSON(c, http.StatusCreated, read.MediaJSON, toAuctionJSON(opened))
}

// readDraft reads an auction to be opened, and says all that cannot be read in it. Whether what was
// read makes an auction is the rulebook's to say.
func readDraft(body read.Object) (draft auction.Draft, wrong refusal.FieldErrors) {
	note := func(refused *refusal.FieldError) {
		if refused != nil {
			wrong = append(wrong, refused)
		}
	}
	var refused *refusal.FieldError
	draft.Title, refused = body.Text("title")
	note(refused)
	draft.Description, refused = body.Text("description")
	note(refused)
	draft.Currency, refused = readCurrency(body)
	note(refused)
	draft.StartPrice, refused = readAmount(body, "startPrice", draft.Currency)
	note(refused)
	draft.MinIncrement, refused = readAmount(body, "minIncrement", draft.Currency)
	note(refused)
	draft.StartAt, refused = body.Time("startTime")
	note(refused)
	draft.EndAt, refused = body.Time("endTime")
	if refused == nil && draft.EndAt.IsZero() {
		refused = refusal.Of("endTime", refusal.Missing)
	}
	note(refused)
	draft.SoftClose, refused = readSoftClose(body)
	note(refused)
	lane, refused := body.Text("lane")
	note(refused)
	draft.Lane = auction.Lane(lane)
	if lane == "" && !body.Has("lane") {
		draft.Lane = auction.Standard
	}
	for _, field := range termsNotOffered {
		if body.Has(field) {
			note(refusal.Of(field, refusal.NotOfferedYet))
		}
	}
	return draft, wrong
}

// termsNotOffered are terms of a sale that change what a seller gets, and that this release cannot keep.
var termsNotOffered = []string{"reservePrice", "buyNowPrice", "increments"}

func readCurrency(body read.Object) (money.Currency, *refusal.FieldError) {
	code, refused := body.Text("currency")
	if refused != nil {
		return money.Currency{}, refused
	}
	if !body.Has("currency") {
		code = currencyDefault
	}
	return parseCurrency(code)
}

func parseCurrency(code string) (money.Currency, *refusal.FieldError) {
	currency, err := money.ParseCurrency(code)
	if err != nil {
		return currency, refusal.Of("currency", refusal.NotCurrency)
	}
	return currency, nil
}

// readAmount reads an amount of a currency. Without a currency it only reads the number, since the
// currency is refused already.
func readAmount(body read.Object, field string, currency money.Currency) (money.Amount, *refusal.FieldError) {
	decimal, refused := body.Decimal(field)
	if refused != nil || currency.Code() == "" {
		return money.Amount{}, refused
	}
	return inCurrency(field, decimal, currency)
}

func inCurrency(field string, decimal money.Decimal, currency money.Currency) (money.Amount, *refusal.FieldError) {
	amount, err := decimal.In(currency)
	if err != nil {
		return amount, refusal.Of(field, refusal.Amount(err, currency))
	}
	return amount, nil
}

func readSoftClose(body read.Object) (auction.SoftClose, *refusal.FieldError) {
	soft := auction.DefaultSoftClose
	inner, refused := body.Object("softClose")
	if refused != nil {
		return soft, refused
	}
	for _, part := range []struct {
		field string
		into  *time.Duration
	}{{"windowSeconds", &soft.Window}, {"extendSeconds", &soft.Extend}} {
		if !inner.Has(part.field) {
			continue
		}
		n, refused := inner.Integer(part.field)
		// Figures that a Duration cannot hold are as wrong as those that the rulebook refuses.
		if most := int64(auction.SoftCloseMax / time.Second); refused != nil || n < 0 || n > most {
			return soft, refusal.Of("softClose", refusal.OutOfRange{Max: most})
		}
		*part.into = time.Duration(n) * time.Second
	}
	return soft, nil
}

// newKey makes the key that a form is drawn with.
func newKey() string { return uuid.NewString() }

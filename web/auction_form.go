package web

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"martelo/app/auction"
	"martelo/app/money"
	"martelo/templates/components"
	"martelo/templates/pages"
)

// auctionNew is GET /auctions/new: the empty form.
func (s *Server) auctionNew(c echo.Context) error {
	who, err := s.caller(c)
	if err != nil {
		return err
	}
	if !who.MaySell() {
		return errForbidden
	}
	return s.createPage(c, http.StatusOK, pages.NewCreateForm(newKey(), ""), nil)
}

// auctionForm is POST /auctions from the form: it shows the review, the form again, or publishes, as the button says.
func (s *Server) auctionForm(c echo.Context) error {
	who, err := s.caller(c)
	if err != nil {
		return err
	}
	if !who.MaySell() {
		return errForbidden
	}
	values, err := s.formOf(c)
	if err != nil {
		return err
	}
	form, step := readCreateForm(values), values.Get(pages.FieldStep)
	if step == pages.StepEdit && asksPage(c.Request()) {
		return s.createPage(c, http.StatusOK, form, nil)
	}
	draft, zone, wrong := draftOf(form)
	draft.SellerID = who.ID
	var opened auction.State
	if len(wrong) == 0 {
		opened, err = draft.Open(s.Hub.Clock().Now())
	} else {
		err = wrong
	}
	if err == nil && (step == pages.StepPublish || !asksPage(c.Request())) {
		return s.publish(c, form, draft)
	}
	if err != nil {
		return s.createRefused(c, form, err)
	}
	return s.reviewPage(c, form, opened, zone)
}

func (s *Server) publish(c echo.Context, form pages.CreateForm, draft auction.Draft) error {
	id, err := s.Open(c.Request().Context(), draft)
	if err != nil {
		return s.createRefused(c, form, err)
	}
	noteOf(c).auctionID = id
	if !asksPage(c.Request()) {
		return s.answerOpened(c, id)
	}
	if err := s.flash(c, components.NoticeGood, "Lot "+components.Number(id)+" is published."); err != nil {
		return err
	}
	return s.seeOther(c, components.AuctionPath(id))
}

// createRefused draws the form again with what is wrong in it.
func (s *Server) createRefused(c echo.Context, form pages.CreateForm, err error) error {
	list, ok := problems(err)
	if !ok || !asksPage(c.Request()) {
		return err
	}
	return s.createPage(c, s.noteProblem(c, err).Status, form, list)
}

func (s *Server) createPage(c echo.Context, status int, form pages.CreateForm, wrong components.Problems) error {
	frame, err := s.frame(c, "Put a lot up for sale", components.PathNewAuction)
	if err != nil {
		return err
	}
	return s.page(c, status, pages.Create(pages.CreateView{
		PageView: frame, Form: form, Problems: wrong, OffersHot: s.OffersHot(c.Request().Context()),
	}))
}

func (s *Server) reviewPage(c echo.Context, form pages.CreateForm, opened auction.State, zone *time.Location) error {
	frame, err := s.frame(c, "Review", components.PathNewAuction)
	if err != nil {
		return err
	}
	return s.page(c, http.StatusOK, pages.Review(pages.ReviewView{
		PageView: frame, Form: form, State: opened, StartsNow: form.StartTime == "", Zone: zone,
	}))
}

func readCreateForm(values url.Values) pages.CreateForm {
	typed := func(field string) string { return strings.TrimSpace(values.Get(field)) }
	form := pages.CreateForm{
		Key: typed(pages.FieldKey), Title: typed(pages.FieldTitle), Description: values.Get(pages.FieldDescription),
		Currency: typed(pages.FieldCurrency), StartPrice: typed(pages.FieldStartPrice), MinIncrement: typed(pages.FieldMinIncrement),
		StartTime: typed(pages.FieldStartTime), EndTime: typed(pages.FieldEndTime), Zone: typed(pages.FieldZone),
		SoftClose: values.Get(pages.FieldSoftClose) != "", WindowMinutes: typed(pages.FieldWindowMinutes), ExtendMinutes: typed(pages.FieldExtendMinutes),
		Lane: typed(pages.FieldLane),
	}
	if _, ok := parseKey(form.Key); !ok {
		form.Key = newKey() // a form that is not one of ours any more opens an auction of its own
	}
	return form
}

// draftOf reads what was typed into the form, and says all that cannot be read in it.
func draftOf(form pages.CreateForm) (draft auction.Draft, zone *time.Location, wrong auction.FieldErrors) {
	note := func(refusal *auction.FieldError) {
		if refusal != nil {
			wrong = append(wrong, refusal)
		}
	}
	draft.Title, draft.Description, draft.Lane = form.Title, form.Description, auction.Lane(form.Lane)
	if form.Lane == "" { // a form without the choice
		draft.Lane = auction.Standard
	}
	draft.Key, _ = parseKey(form.Key)
	var refusal *auction.FieldError
	draft.Currency, refusal = parseCurrency(form.Currency)
	note(refusal)
	draft.StartPrice, refusal = typedAmount(pages.FieldStartPrice, form.StartPrice, draft.Currency)
	note(refusal)
	draft.MinIncrement, refusal = typedAmount(pages.FieldMinIncrement, form.MinIncrement, draft.Currency)
	note(refusal)
	zone, refusal = readZone(form.Zone)
	note(refusal)
	if zone != nil {
		draft.EndAt, refusal = localTime(pages.FieldEndTime, form.EndTime, zone)
		note(refusal)
		if form.StartTime != "" {
			draft.StartAt, refusal = localTime(pages.FieldStartTime, form.StartTime, zone)
			note(refusal)
		}
	}
	if form.SoftClose {
		draft.SoftClose.Window, refusal = typedMinutes(pages.FieldWindowMinutes, form.WindowMinutes)
		note(refusal)
		draft.SoftClose.Extend, refusal = typedMinutes(pages.FieldExtendMinutes, form.ExtendMinutes)
		note(refusal)
	}
	return draft, zone, wrong
}

func typedAmount(field, text string, currency money.Currency) (money.Amount, *auction.FieldError) {
	decimal, refusal := parseDecimal(field, text)
	if refusal != nil || currency.Code() == "" {
		return money.Amount{}, refusal
	}
	return inCurrency(field, decimal, currency)
}

func typedMinutes(field, text string) (time.Duration, *auction.FieldError) {
	most := int64(auction.SoftCloseMax / time.Minute)
	n, ok := parseInteger(text)
	if !ok || n < 0 || n > most {
		return 0, &auction.FieldError{Field: field, Reason: "Write whole minutes from 0 to " + strconv.FormatInt(most, 10) + "."}
	}
	return time.Duration(n) * time.Minute, nil
}

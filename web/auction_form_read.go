package web

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"martelo/app/auction"
	"martelo/app/money"
	"martelo/app/refusal"
	"martelo/templates/components"
	"martelo/templates/pages"
	"martelo/templates/words"
	"martelo/web/read"
)

func readCreateForm(values url.Values) pages.CreateForm {
	typed := func(field string) string { return strings.TrimSpace(values.Get(field)) }
	form := pages.CreateForm{
		Key: typed(pages.FieldKey), Title: typed(pages.FieldTitle), Description: values.Get(pages.FieldDescription),
		Currency: typed(pages.FieldCurrency), StartPrice: typed(pages.FieldStartPrice),
		MinIncrement: typed(pages.FieldMinIncrement),
		StartTime:    typed(pages.FieldStartTime), StartOffset: typed(pages.FieldStartOffset),
		EndTime: typed(pages.FieldEndTime), EndOffset: typed(pages.FieldEndOffset), Zone: typed(pages.FieldZone),
		SoftClose: values.Get(pages.FieldSoftClose) != "", WindowMinutes: typed(pages.FieldWindowMinutes),
		ExtendMinutes: typed(pages.FieldExtendMinutes), Lane: typed(pages.FieldLane),
	}
	if _, ok := read.ParseKey(form.Key); !ok {
		form.Key = newKey() // a form that is not one of ours any more opens an auction of its own
	}
	choose(&form, values.Get(components.FieldChoice))
	return form
}

// choose puts the answer to a question into the form, if one of the buttons for that was pressed.
func choose(form *pages.CreateForm, choice string) {
	field, value, _ := strings.Cut(choice, "=")
	switch field {
	case pages.FieldStartPrice:
		form.StartPrice = value
	case pages.FieldMinIncrement:
		form.MinIncrement = value
	case pages.FieldStartOffset:
		form.StartOffset = value
	case pages.FieldEndOffset:
		form.EndOffset = value
	}
}

// lotForm is a seller's form as the house understands it: the auction, what cannot be read, and
// what has to be asked.
type lotForm struct {
	language words.Language
	draft    auction.Draft
	zone     *time.Location
	wrong    refusal.FieldErrors
	choices  map[string][]components.Choice // by field
}

// readLot reads what was typed into the form, by the notation of the page's locale.
func readLot(form pages.CreateForm, locale string) *lotForm {
	l := &lotForm{language: words.In(locale), choices: map[string][]components.Choice{}}
	l.draft.Title, l.draft.Description, l.draft.Lane = form.Title, form.Description, auction.Lane(form.Lane)
	if form.Lane == "" { // a form without the choice
		l.draft.Lane = auction.Standard
	}
	l.draft.Key, _ = read.ParseKey(form.Key)
	var err error
	if l.draft.Currency, err = money.ParseCurrency(form.Currency); err != nil {
		l.refuse(pages.FieldCurrency, refusal.Unknown)
	}
	l.draft.StartPrice = l.amount(pages.FieldStartPrice, form.StartPrice, locale)
	l.draft.MinIncrement = l.amount(pages.FieldMinIncrement, form.MinIncrement, locale)
	l.readTimes(form)
	if form.SoftClose {
		l.draft.SoftClose.Window = l.minutes(pages.FieldWindowMinutes, form.WindowMinutes)
		l.draft.SoftClose.Extend = l.minutes(pages.FieldExtendMinutes, form.ExtendMinutes)
	}
	return l
}

func (l *lotForm) readTimes(form pages.CreateForm) {
	zone, refused := read.Zone(form.Zone)
	if refused != nil {
		l.wrong = append(l.wrong, refused)
		return
	}
	l.zone = zone
	l.draft.EndAt = l.moment(pages.FieldEndTime, form.EndTime, pages.FieldEndOffset, form.EndOffset)
	if form.StartTime != "" {
		l.draft.StartAt = l.moment(pages.FieldStartTime, form.StartTime, pages.FieldStartOffset, form.StartOffset)
	}
}

func (l *lotForm) refuse(field string, reason refusal.Reason) {
	l.wrong = append(l.wrong, refusal.Of(field, reason))
}

// refused tells whether something is wrong with one of the fields already.
func (l *lotForm) refused(fields ...string) bool {
	return slices.ContainsFunc(l.wrong, func(e *refusal.FieldError) bool { return slices.Contains(fields, e.Field) })
}

// amount reads an amount of the auction's currency. Without one there is nothing to read it by.
func (l *lotForm) amount(field, text, locale string) money.Amount {
	c := l.draft.Currency
	if c.Code() == "" {
		return money.Amount{}
	}
	amount, err := money.ReadTyped(text, c, words.NotationOf(locale))
	if err != nil {
		reason := refusal.Typed{Currency: c, Cause: err}
		l.refuse(field, reason)
		l.choices[field] = components.AmountChoices(locale, field, reason.Readings())
	}
	return amount
}

func (l *lotForm) moment(field, text, offsetField, offset string) time.Time {
	moment, both, refused := read.LocalTime(field, text, offset, l.zone)
	if refused != nil {
		l.wrong = append(l.wrong, refused)
	}
	for i, either := range both {
		shown := refusal.Figures{"time": either.Format("15:04"), "offset": either.Format(read.OffsetLayout)}
		l.choices[field] = append(l.choices[field], components.Choice{
			Label: l.language.Say([]words.Key{words.ChoiceFirstTime, words.ChoiceSecondTime}[i], shown),
			Value: offsetField + "=" + either.Format(read.OffsetLayout),
		})
	}
	return moment
}

func (l *lotForm) minutes(field, text string) time.Duration {
	most := int64(auction.SoftCloseMax / time.Minute)
	n, ok := read.Integer(text)
	if !ok || n < 0 || n > most {
		l.refuse(field, refusal.OutOfRange{Max: most})
		return 0
	}
	return time.Duration(n) * time.Minute
}

// open is the auction as it would open now. It returns refusal.FieldErrors with all that is wrong
// in the form: what could not be read, and what the rulebook says about the rest.
func (l *lotForm) open(now time.Time) (auction.State, error) {
	opened, err := l.readable().Open(now)
	var rules refusal.FieldErrors
	if err != nil && !errors.As(err, &rules) {
		return opened, err
	}
	for _, rule := range rules {
		if !l.refused(rule.Field) && !(rule.Field == pages.FieldEndTime && l.refused(pages.FieldZone)) {
			l.wrong = append(l.wrong, rule)
		}
	}
	if len(l.wrong) == 0 {
		return opened, nil
	}
	slices.SortStableFunc(l.wrong, func(a, b *refusal.FieldError) int {
		return cmp.Compare(slices.Index(pages.CreateFields, a.Field), slices.Index(pages.CreateFields, b.Field))
	})
	return opened, l.wrong
}

// readable is the draft with something harmless in place of amounts that could not be read, so that
// the rulebook can judge the other fields.
func (l *lotForm) readable() auction.Draft {
	d := l.draft
	if d.Currency.Code() == "" {
		d.Currency = money.MustCurrency(currencyDefault)
	}
	if d.StartPrice.Currency() != d.Currency {
		d.StartPrice = money.FromMinor(0, d.Currency)
	}
	if d.MinIncrement.Currency() != d.Currency {
		d.MinIncrement = money.FromMinor(1, d.Currency)
	}
	return d
}

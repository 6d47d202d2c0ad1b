package refusal

import (
	"errors"

	"martelo/app/money"
)

// Amount is why package money refused an amount that a program sent: a plain decimal. Without a
// currency it was only read.
func Amount(err error, c money.Currency) Reason {
	switch {
	case errors.Is(err, money.ErrTooLarge):
		return AmountTooLarge{Digits: money.IntegerDigitsMax}
	case errors.Is(err, money.ErrTooPrecise):
		return TooPrecise{Currency: c}
	}
	return NotAmount
}

// AmountTooLarge refuses an amount with more than Digits digits before the point.
type AmountTooLarge struct{ Digits int }

// Code is amount_too_large.
func (AmountTooLarge) Code() Code { return "amount_too_large" }

// Figures are digits.
func (r AmountTooLarge) Figures() Figures { return Figures{"digits": int64(r.Digits)} }

// SumTooLarge refuses amounts that together have more than Digits digits before the point.
type SumTooLarge struct{ Digits int }

// Code is sum_too_large.
func (SumTooLarge) Code() Code { return "sum_too_large" }

// Figures are digits.
func (r SumTooLarge) Figures() Figures { return Figures{"digits": int64(r.Digits)} }

// TooPrecise refuses an amount with more decimals than its currency has. Without a currency it has
// more than any.
type TooPrecise struct{ Currency money.Currency }

// Code says whether there is a currency, and whether it has decimals.
func (r TooPrecise) Code() Code {
	switch {
	case r.Currency.Code() == "":
		return "too_precise_for_any"
	case r.Currency.Digits() == 0:
		return "has_decimals"
	}
	return "too_precise"
}

// Figures are currency.
func (r TooPrecise) Figures() Figures { return Figures{"currency": r.Currency} }

// Typed is why [money.ReadTyped] refused an amount that a person typed. The sentences about it are
// others than those about a program's amounts, since people write amounts in their own way.
type Typed struct {
	Currency money.Currency
	Cause    error
}

// Code is that of the cause.
func (r Typed) Code() Code {
	var ambiguous *money.AmbiguousError
	switch {
	case errors.As(r.Cause, &ambiguous):
		return "typed_ambiguous"
	case errors.Is(r.Cause, money.ErrTooLarge):
		return "typed_too_large"
	case errors.Is(r.Cause, money.ErrTooPrecise) && r.Currency.Digits() == 0:
		return "typed_has_decimals"
	case errors.Is(r.Cause, money.ErrTooPrecise):
		return "typed_too_precise"
	}
	return "typed_unreadable"
}

// Figures are currency, digits, and the readings of what may mean more than one amount.
func (r Typed) Figures() Figures {
	return Figures{"currency": r.Currency, "digits": int64(money.IntegerDigitsMax), "readings": r.Readings()}
}

// Readings are the amounts that may be meant, none of what cannot be read.
func (r Typed) Readings() []money.Amount {
	var ambiguous *money.AmbiguousError
	if !errors.As(r.Cause, &ambiguous) {
		return nil
	}
	return ambiguous.Readings
}

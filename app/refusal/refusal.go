// Package refusal says what is wrong with an input: the field, a code, and the figures that a
// sentence about it needs. It has no sentences: templates/words has them, in each language.
package refusal

// Code names a reason. The key of each sentence about it is made of the code.
type Code string

// Figures are what a sentence may name, by the names of their places in it. A figure is a number, a
// text, a [Count], a time.Time, a money.Amount, a money.Currency or a []money.Amount.
type Figures map[string]any

// Count is a number that is told, as in "10,000 characters", and not one that is typed.
type Count int64

// Reason is what is wrong with a field.
type Reason interface {
	Code() Code
	Figures() Figures
}

// FieldError refuses one field of an input. Field is the contract's JSON name or a form's.
type FieldError struct {
	Field  string
	Reason Reason
}

// Error names the field and the code, for logs.
func (e *FieldError) Error() string { return "refusal: " + e.Field + ": " + string(e.Reason.Code()) }

// FieldErrors are all the fields that an input has wrong, in the order of the form.
type FieldErrors []*FieldError

// Error is that of the first field.
func (e FieldErrors) Error() string { return e[0].Error() }

// Of refuses a field.
func Of(field string, reason Reason) *FieldError { return &FieldError{Field: field, Reason: reason} }

// Package components holds the small parts that pages and fragments share: times, the mark of the
// house, notices and form fields.
package components

import (
	"github.com/a-h/templ"

	"martelo/app/money"
	"martelo/templates/words"
)

// Problem is one thing that is wrong with one field of a form. Text is a sentence that says what to
// do. Label is the field's, for the list above the form.
type Problem struct {
	Field, Label, Text string
	// Choices are what may have been meant. Each is a button that puts it into the field.
	Choices []Choice
}

// Choice is a button that answers a question about a field. Its value is sent as FieldChoice.
type Choice struct{ Label, Value string }

// FieldChoice is the name of the buttons that Choices draws.
const FieldChoice = "choice"

// AmountChoices are the buttons for what a typed amount may mean. The value of each is name=amount,
// the amount as words.EditAmount writes it.
func AmountChoices(locale, name string, readings []money.Amount) []Choice {
	choices := make([]Choice, len(readings))
	for i, reading := range readings {
		choices[i] = Choice{Label: reading.Format(locale), Value: name + "=" + words.EditAmount(locale, reading)}
	}
	return choices
}

// Problems are what is wrong with a form, in the order of its fields. A Problem without a Field
// concerns the whole form.
type Problems []Problem

// For gives the sentence about one field, or "".
func (p Problems) For(field string) string {
	for _, problem := range p {
		if problem.Field == field {
			return problem.Text
		}
	}
	return ""
}

// ChoicesFor gives the choices of one field.
func (p Problems) ChoicesFor(field string) []Choice {
	for _, problem := range p {
		if problem.Field == field {
			return problem.Choices
		}
	}
	return nil
}

// Field describes one input of a form. Kind is the HTML input type; "textarea" makes a text area.
type Field struct {
	Name, Label, Hint, Kind, Value string
	Problem                        string
	Autocomplete, InputMode        string
	MaxLength                      int64
	Optional                       bool
	Plain                          bool // not required, but not marked as optional either
	Choices                        []Choice
}

// FieldID is the id of the element that holds a field's value, which summaries of problems link to.
func FieldID(name string) string { return "field-" + name }

// describedBy names the elements that explain a field, the problem first.
func describedBy(name, hint, problem string) string {
	ids := ""
	if problem != "" {
		ids = FieldID(name) + "-problem"
	}
	if hint != "" {
		if ids != "" {
			ids += " "
		}
		ids += FieldID(name) + "-hint"
	}
	return ids
}

// FieldAttributes are those that inputs, text areas and selects have in common.
func FieldAttributes(name, hint, problem string, optional bool) templ.Attributes {
	attributes := templ.Attributes{"id": FieldID(name), "name": name, "required": !optional}
	if described := describedBy(name, hint, problem); described != "" {
		attributes["aria-describedby"] = described
	}
	if problem != "" {
		attributes["aria-invalid"] = "true"
	}
	return attributes
}

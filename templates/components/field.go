package components

import "github.com/a-h/templ"

// Problem is one thing that is wrong with one field of a form. Text is a sentence that says what to do.
type Problem struct {
	Field, Text string
}

// Problems are what is wrong with a form, in the order of its fields. A Problem without a Field concerns the
// whole form.
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

// Field describes one input of a form. Kind is the HTML input type; "textarea" makes a text area.
type Field struct {
	Name, Label, Hint, Kind, Value string
	Problem                        string
	Autocomplete, InputMode        string
	MaxLength                      int64
	Optional                       bool
	Plain                          bool // not required, but not marked as optional either
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

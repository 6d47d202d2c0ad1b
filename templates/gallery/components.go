package gallery

import (
	"github.com/a-h/templ"

	"martelo/templates/components"
)

// Components are the components that have states of their own, by name.
func Components() map[string]templ.Component {
	field := components.Field{Name: "title", Label: "Title", Hint: "What it is, in a few words.", Kind: "text"}
	optional := components.Field{Name: "description", Label: "Description", Kind: "textarea", Optional: true}
	wrong := components.Field{
		Name: "startPrice", Label: "Start price", Kind: "text", Value: "1.500",
		Problem: "Did you mean $1.50 or $1,500.00?",
		Choices: []components.Choice{
			{Label: "$1.50", Value: "startPrice=1.50"}, {Label: "$1,500.00", Value: "startPrice=1500.00"},
		},
	}
	problems := components.Problems{
		{Text: "Too many tries from here."}, {Field: wrong.Name, Label: wrong.Label, Text: wrong.Problem},
	}
	notice := func(kind components.NoticeKind, text string) templ.Component {
		return components.NoticeBox(components.Notice{
			Kind: kind, Text: text, LinkURL: components.PathHelp, LinkText: "A way out",
		})
	}
	return map[string]templ.Component{
		"field": components.Input(field), "field_optional": components.Input(optional),
		"field_wrong": components.Input(wrong),
		"problems":    components.ProblemSummary(problems), "mark": components.Mark(),
		"live_state":  components.LiveState(),
		"notice_good": notice(components.NoticeGood, "What was asked has happened."),
		"notice_info": notice(components.NoticeInfo, "Something that is neither good nor bad."),
		"notice_bad":  notice(components.NoticeBad, HostileText),
	}
}

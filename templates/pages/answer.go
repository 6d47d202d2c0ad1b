package pages

import "martelo/templates/layouts"

// AnswerView is a page with one sentence on it.
type AnswerView struct {
	layouts.PageView
	Text string
}

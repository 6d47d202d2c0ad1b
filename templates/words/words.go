// Package words holds what the house says to people: the sentences of each language in one table,
// and how amounts, times and numbers are written in them. The labels of pages stand in the markup.
package words

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"martelo/app/money"
	"martelo/app/refusal"
)

// Key names a sentence.
type Key string

// Problem is what is said of a request that was refused, or that failed.
type Problem struct {
	// Title and Detail are the API's. A page shows them where the words for its status do not help.
	Title, Detail string
	// Bid stands at the form for a bid, and Form at any other; where they are "" Detail does.
	Bid, Form string
}

// Status is what a page says of a request that had no success, by its HTTP status.
type Status struct{ Headline, Advice string }

// table is one language. Places in braces are filled with figures: {max}, or {endTime:clock} where
// a figure can be written in several ways.
type table struct {
	// or stands between two amounts of which one is meant.
	or string
	// reasons are the sentences about refused fields, by refusal code. Those whose key begins with
	// a field's name and a point are for that field alone.
	reasons map[string]string
	// problems are those of the codes that web/problem.go lists.
	problems  map[string]Problem
	statuses  map[int]Status
	sentences map[Key]string
}

// Language writes sentences in one language, with amounts as a locale writes them.
type Language struct {
	table  *table
	locale string
	exact  bool
}

// In is the language of a locale (BCP 47, such as "pt-BR").
func In(locale string) Language { return Language{table: &english, locale: locale} }

// API is the language of programs: amounts and times are written as the contract does.
var API = Language{table: &english, locale: "en-US", exact: true}

// Say writes a sentence.
func (l Language) Say(key Key, figures refusal.Figures) string {
	return l.fill(l.table.sentences[key], figures)
}

// Reason says what is wrong with a field.
func (l Language) Reason(e *refusal.FieldError) string {
	code := string(e.Reason.Code())
	sentence, own := l.table.reasons[e.Field+"."+code]
	if !own {
		sentence = l.table.reasons[code]
	}
	return l.fill(sentence, e.Reason.Figures())
}

// Problem says why a request was refused. Its key is one that web/problem.go lists, or the code of
// a reason that concerns no field.
func (l Language) Problem(key string, figures refusal.Figures) Problem {
	p := l.table.problems[key]
	p.Title, p.Detail = l.fill(p.Title, figures), l.fill(p.Detail, figures)
	p.Bid, p.Form = l.fill(p.Bid, figures), l.fill(p.Form, figures)
	if p.Bid == "" {
		p.Bid = p.Detail
	}
	if p.Form == "" {
		p.Form = p.Detail
	}
	return p
}

// Status says what an HTTP status means to who reads a page.
func (l Language) Status(status int) Status {
	if words, ok := l.table.statuses[status]; ok {
		return words
	}
	return l.table.statuses[status/100*100]
}

// fill writes figures into the places of a sentence.
func (l Language) fill(sentence string, figures refusal.Figures) string {
	if len(figures) == 0 || !strings.Contains(sentence, "{") {
		return sentence
	}
	var filled strings.Builder
	for {
		before, rest, found := strings.Cut(sentence, "{")
		filled.WriteString(before)
		if !found {
			return filled.String()
		}
		place, after, _ := strings.Cut(rest, "}")
		name, style, _ := strings.Cut(place, ":")
		filled.WriteString(l.figure(figures[name], style))
		sentence = after
	}
}

// figure writes one figure, in a style where it can be written in several.
func (l Language) figure(figure any, style string) string {
	switch f := figure.(type) {
	case string:
		return f
	case refusal.Count:
		return grouped(l.locale, int64(f))
	case money.Amount:
		if l.exact {
			return f.String()
		}
		return f.Format(l.locale)
	case []money.Amount:
		formatted := make([]string, len(f))
		for i, amount := range f {
			formatted[i] = amount.Format(l.locale)
		}
		return strings.Join(formatted, l.table.or)
	case money.Currency:
		return l.currency(f, style)
	case time.Time:
		if l.exact {
			return ExactTime(f)
		}
		return FormatTime(f, TimeStyle(style))
	case time.Duration:
		return Span(f)
	}
	return fmt.Sprint(figure)
}

// currency writes a currency's code, its number of digits, or an amount as an example.
func (l Language) currency(c money.Currency, style string) string {
	switch style {
	case "digits":
		return strconv.Itoa(c.Digits())
	case "example":
		return ExampleAmount(l.locale, c)
	}
	return c.Code()
}

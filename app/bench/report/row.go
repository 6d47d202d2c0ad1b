package report

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"martelo/app/bench/load"
)

// Row is one load. Times are in milliseconds, from the moment a request was meant for until its
// answer was there.
type Row struct {
	What     string  `json:"what"`
	Offered  int     `json:"offeredPerSecond,omitempty"`
	Answered float64 `json:"answeredPerSecond,omitempty"`
	Accepted float64 `json:"acceptedPerSecond,omitempty"` // bids
	P50      float64 `json:"p50,omitempty"`
	P90      float64 `json:"p90,omitempty"`
	P99      float64 `json:"p99,omitempty"`
	P999     float64 `json:"p999,omitempty"`
	Max      float64 `json:"max,omitempty"`

	Statuses   map[int]int        `json:"statuses,omitempty"`
	Unanswered int                `json:"unanswered,omitempty"`
	Broken     int                `json:"brokenConnections,omitempty"`
	Again      int                `json:"askedToComeAgain,omitempty"`
	Figures    map[string]float64 `json:"figures,omitempty"`
	Verdict    string             `json:"verdict,omitempty"`
}

// Of is the row of one phase of a load.
func Of(what string, rate int, o *load.Outcome) Row {
	row := Row{
		What: what, Offered: rate, Answered: float64(o.Answered()) / o.Span.Seconds(),
		Statuses: o.Statuses, Unanswered: o.Unanswered, Broken: o.Broken, Again: o.Again, Figures: map[string]float64{},
	}
	row.Take(o.Times)
	return row
}

// Take reads the row's times from a distribution.
func (r *Row) Take(times *load.Times) {
	at := func(percent float64) float64 { return milliseconds(times.At(percent)) }
	r.P50, r.P90, r.P99, r.P999, r.Max = at(50), at(90), at(99), at(99.9), milliseconds(times.Max())
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// Median is one row of several rounds of the same load: the median of each figure by itself, and
// the least and the most of those that are compared. Counts are those of all rounds together.
func Median(rounds []Row) Row {
	if len(rounds) == 1 {
		return rounds[0]
	}
	of := func(figure func(Row) float64) (least, median, most float64) {
		all := make([]float64, len(rounds))
		for i, row := range rounds {
			all[i] = figure(row)
		}
		slices.Sort(all)
		return all[0], (all[(len(all)-1)/2] + all[len(all)/2]) / 2, all[len(all)-1]
	}
	row := Row{
		What: rounds[0].What, Offered: rounds[0].Offered, Statuses: map[int]int{}, Figures: map[string]float64{},
		Verdict: fmt.Sprintf("median of %d rounds", len(rounds)),
	}
	for _, figure := range []struct {
		name string // where the least and the most are told too
		into *float64
		of   func(Row) float64
	}{
		{"", &row.Answered, func(r Row) float64 { return r.Answered }},
		{"accepted/s", &row.Accepted, func(r Row) float64 { return r.Accepted }},
		{"p50", &row.P50, func(r Row) float64 { return r.P50 }},
		{"", &row.P90, func(r Row) float64 { return r.P90 }},
		{"p99", &row.P99, func(r Row) float64 { return r.P99 }},
		{"", &row.P999, func(r Row) float64 { return r.P999 }},
		{"", &row.Max, func(r Row) float64 { return r.Max }},
	} {
		least, median, most := of(figure.of)
		*figure.into = median
		if figure.name != "" {
			row.Figures["least "+figure.name], row.Figures["most "+figure.name] = least, most
		}
	}
	for _, round := range rounds {
		row.Unanswered += round.Unanswered
		row.Broken += round.Broken
		row.Again += round.Again
		for status, count := range round.Statuses {
			row.Statuses[status] += count
		}
	}
	for name := range maps.Keys(rounds[0].Figures) {
		_, row.Figures[name], _ = of(func(r Row) float64 { return r.Figures[name] })
	}
	return row
}

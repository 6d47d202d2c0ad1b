// Package load is the load generator: it sends requests to nodes at the moments they are meant for,
// whatever became of those before ("open loop"), and measures how long each waits for its answer.
//
// A request that finds no connection free waits for one, and the wait is part of its time, which
// is counted from the moment it was meant for. So a house that stalls is charged for everybody who
// would have come meanwhile.
package load

import (
	"time"
)

const (
	// answerWithinOr is how long after its last request an offer's answers are waited for, unless
	// told otherwise.
	answerWithinOr = 5 * time.Second
	// againAfter is when a request whose answer was not final is sent again: what the house's
	// Retry-After asks for.
	againAfter = time.Second
)

// Offer is a load: Rate requests a second, each at its own moment. Several may run at once, each on
// connections of its own, so that none waits for a connection that another keeps busy.
type Offer struct {
	Targets     []string // nodes as host:port; connections are spread over them
	Rate        int      // requests a second
	Connections int
	// Phases are how long the parts of the load take. Each has an outcome of its own. The first
	// warms up and may be zero.
	Phases []time.Duration
	// AnswerWithin is how long after the last request answers are waited for; zero is five seconds.
	AnswerWithin time.Duration
	// Write appends request i, counted from 0, to a buffer. Requests are first written in order.
	Write func(to []byte, i int) []byte
	// Read is told of each answer, whose body is there only for the time of the call.
	Read func(i int, a Answer)
	// Final says whether an answer settles its request. A request without a final answer is sent
	// again as it was, and its time goes on. Without Final each answer is.
	Final func(a Answer) bool
}

// Span is how long the whole load takes.
func (o Offer) Span() (span time.Duration) {
	for _, phase := range o.Phases {
		span += phase
	}
	return span
}

// Requests is how many the load has.
func (o Offer) Requests() int { return int(float64(o.Rate) * o.Span().Seconds()) }

// moment is when request i is meant to be sent, from the beginning of the load on.
func (o Offer) moment(i int) time.Duration {
	return time.Duration(float64(i) / float64(o.Rate) * float64(time.Second))
}

// end is when the offer gives up waiting, from the beginning of the load on.
func (o Offer) end() time.Duration {
	within := o.AnswerWithin
	if within == 0 {
		within = answerWithinOr
	}
	return o.moment(o.Requests()) + within
}

// phase is the part of the load that a moment falls into.
func (o Offer) phase(moment time.Duration) int {
	for i, phase := range o.Phases {
		if moment < phase || i == len(o.Phases)-1 {
			return i
		}
		moment -= phase
	}
	return 0
}

// Outcome is what became of the requests that were meant for one phase of an offer.
type Outcome struct {
	Span     time.Duration
	Times    *Times
	Statuses map[int]int // of final answers
	// Unanswered requests were not sent, or not answered until the offer gave up. They count in
	// Times for as long as they were waited for.
	Unanswered int
	Broken     int // connections that broke
	Again      int // answers that were not final
}

func (o Offer) outcomes() (outcomes []*Outcome) {
	for _, phase := range o.Phases {
		outcomes = append(outcomes, &Outcome{Span: phase, Times: NewTimes(), Statuses: map[int]int{}})
	}
	return outcomes
}

// Answered is how many final answers came.
func (o *Outcome) Answered() int {
	n := 0
	for _, count := range o.Statuses {
		n += count
	}
	return n
}

package bench

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	// latencyMax is the longest time the histogram tells apart; whatever takes longer counts as that.
	latencyMax = 60 * time.Second
	// latencyDigits are the significant figures it keeps.
	latencyDigits = 3
	// answerWithin is how long after the last request of a load its answers are waited for.
	answerWithin = 5 * time.Second
)

// offer is a load: a request at each of its moments, rate of them a second, whatever became of those before ("open loop"). A request that
// finds no connection free waits for one, and the wait is part of its time: that is counted from the moment it was meant for.
type offer struct {
	targets     []string // nodes as host:port; connections are spread over them
	rate        int      // requests a second
	warm, span  time.Duration
	connections int
	// write appends request i, counted from 0, to a buffer. Requests are written in order.
	write func(to []byte, i int) []byte
	// read is told of each answer, its body only for the time of the call.
	read func(i int, a answer)
}

func (o offer) requests() int { return int(float64(o.rate) * (o.warm + o.span).Seconds()) }

// moment is when request i is meant to be sent, from the beginning of the load on.
func (o offer) moment(i int) time.Duration {
	return time.Duration(float64(i) / float64(o.rate) * float64(time.Second))
}

// outcome is what became of a load after its warm-up. It is a load of its own if not everything that was sent was answered.
type outcome struct {
	times      *hdrhistogram.Histogram // microseconds
	statuses   map[int]int
	unanswered int           // not sent or not answered within answerWithin of the end; they count in times as long as they were waited for
	broken     int           // connections that broke
	span       time.Duration // of what was measured
	own        time.Duration // processor time this program took
}

func newOutcome() *outcome {
	return &outcome{times: newTimes(), statuses: map[int]int{}}
}

func newTimes() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, latencyMax.Microseconds(), latencyDigits)
}

// record adds one time to a histogram.
func record(times *hdrhistogram.Histogram, took time.Duration) {
	_ = times.RecordValue(min(max(1, took.Microseconds()), latencyMax.Microseconds())) // cannot fail inside its range
}

// answered is how many answers came.
func (o *outcome) answered() int {
	n := 0
	for _, count := range o.statuses {
		n += count
	}
	return n
}

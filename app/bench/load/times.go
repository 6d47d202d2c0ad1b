package load

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	// latencyMax is the longest time that is told apart; whatever takes longer counts as that.
	latencyMax = 60 * time.Second
	// latencyDigits are the significant figures that are kept.
	latencyDigits = 3
)

// Times is a distribution of times.
type Times struct{ microseconds *hdrhistogram.Histogram }

// NewTimes makes an empty distribution.
func NewTimes() *Times {
	return &Times{hdrhistogram.New(1, latencyMax.Microseconds(), latencyDigits)}
}

// Record adds one time.
func (t *Times) Record(took time.Duration) {
	// It cannot fail inside its range.
	_ = t.microseconds.RecordValue(min(max(1, took.Microseconds()), latencyMax.Microseconds()))
}

// Merge adds all times of another distribution.
func (t *Times) Merge(other *Times) { t.microseconds.Merge(other.microseconds) }

// Count is how many times there are.
func (t *Times) Count() int { return int(t.microseconds.TotalCount()) }

// At is the time that so many of a hundred do not exceed.
func (t *Times) At(percent float64) time.Duration {
	return time.Duration(t.microseconds.ValueAtQuantile(percent)) * time.Microsecond
}

// Max is the longest time.
func (t *Times) Max() time.Duration { return time.Duration(t.microseconds.Max()) * time.Microsecond }

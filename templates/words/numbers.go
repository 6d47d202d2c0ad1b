package words

import (
	"fmt"
	"strconv"
	"time"
)

// TimeStyle says how much of a moment is written. The page's script writes the same amount in the
// reader's own zone.
type TimeStyle string

const (
	// TimeFull is date, time to the second and zone: for the end of an auction, where seconds
	// count.
	TimeFull TimeStyle = "full"
	// TimeShort is date and time to the minute and zone.
	TimeShort TimeStyle = "short"
	// TimeBid is day, time to the second and zone: for bids, whose year goes without saying.
	TimeBid TimeStyle = "bid"
	// TimeClock is the time of day to the second and zone.
	TimeClock TimeStyle = "clock"
)

var timeLayouts = map[TimeStyle]string{
	TimeFull:  "2 Jan 2006, 15:04:05 UTC",
	TimeShort: "2 Jan 2006, 15:04 UTC",
	TimeBid:   "2 Jan, 15:04:05 UTC",
	TimeClock: "15:04:05 UTC",
}

// FormatTime writes a moment in UTC, as a page without script shows it.
func FormatTime(t time.Time, style TimeStyle) string { return t.UTC().Format(timeLayouts[style]) }

// MachineTime is the form for datetime attributes: exact to the millisecond, so that a countdown is
// too.
func MachineTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Left writes how long something still takes, coarser the longer it is. The page's script (function
// left) writes the same words: "2 d 4 h", "4 h 05 min", "12 min 07 s", "42 s", and "0 s" for the
// past.
func Left(d time.Duration) string {
	seconds := int64((d + time.Second - 1) / time.Second)
	if seconds < 0 {
		seconds = 0
	}
	minutes, hours, days := seconds/60, seconds/3600, seconds/86400
	switch {
	case days > 0:
		return fmt.Sprintf("%d d %d h", days, hours%24)
	case hours > 0:
		return fmt.Sprintf("%d h %02d min", hours, minutes%60)
	case minutes > 0:
		return fmt.Sprintf("%d min %02d s", minutes, seconds%60)
	}
	return fmt.Sprintf("%d s", seconds)
}

// Count writes a number with its noun: "1 bid", "3 bids", "no bids".
func Count(n int64, one, many string) string {
	switch n {
	case 0:
		return "no " + many
	case 1:
		return "1 " + one
	}
	return strconv.FormatInt(n, 10) + " " + many
}

// Span writes a duration in words for a sentence: "2 minutes", "90 seconds", "1 hour".
func Span(d time.Duration) string {
	switch {
	case d >= time.Hour && d%time.Hour == 0:
		return plural(int64(d/time.Hour), "hour")
	case d >= time.Minute && d%time.Minute == 0:
		return plural(int64(d/time.Minute), "minute")
	}
	return plural(int64(d/time.Second), "second")
}

func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.FormatInt(n, 10) + " " + noun + "s"
}

// Bidder is how a person is shown in bid lists: by the paddle number of this auction, never by
// name.
func Bidder(paddle int) string { return "Bidder " + strconv.Itoa(paddle) }

// ExactTime writes a moment as the contract does: RFC 3339 in UTC, to the microsecond that the
// house decides by.
func ExactTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

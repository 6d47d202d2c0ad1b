package words

import (
	"testing"
	"time"
)

func TestLeftIsCoarserTheLongerItTakes(t *testing.T) {
	t.Parallel()
	cases := map[time.Duration]string{
		-time.Second:                        "0 s",
		0:                                   "0 s",
		time.Millisecond:                    "1 s",
		42 * time.Second:                    "42 s",
		59*time.Second + time.Nanosecond:    "1 min 00 s",
		12*time.Minute + 7*time.Second:      "12 min 07 s",
		4*time.Hour + 5*time.Minute:         "4 h 05 min",
		52*time.Hour + 59*time.Minute:       "2 d 4 h",
		24*time.Hour - 500*time.Millisecond: "1 d 0 h",
		365 * 24 * time.Hour:                "365 d 0 h",
	}
	for left, want := range cases {
		if got := Left(left); got != want {
			t.Errorf("Left(%v) = %q, want %q", left, got, want)
		}
	}
}

func TestSpanSaysWholeUnits(t *testing.T) {
	t.Parallel()
	cases := map[time.Duration]string{
		time.Second: "1 second", 90 * time.Second: "90 seconds", 2 * time.Minute: "2 minutes", time.Hour: "1 hour",
		90 * time.Minute: "90 minutes",
	}
	for span, want := range cases {
		if got := Span(span); got != want {
			t.Errorf("Span(%v) = %q, want %q", span, got, want)
		}
	}
}

func TestFormatTimeAlwaysNamesTheZone(t *testing.T) {
	t.Parallel()
	moment := time.Date(2026, time.November, 30, 17, 14, 7, 0, time.FixedZone("", -3*60*60))
	cases := map[TimeStyle]string{
		TimeFull: "30 Nov 2026, 20:14:07 UTC", TimeShort: "30 Nov 2026, 20:14 UTC", TimeBid: "30 Nov, 20:14:07 UTC",
		TimeClock: "20:14:07 UTC",
	}
	for style, want := range cases {
		if got := FormatTime(moment, style); got != want {
			t.Errorf("FormatTime(%s) = %q, want %q", style, got, want)
		}
	}
}

package read

import (
	"slices"
	"strings"
	"time"

	"martelo/app/refusal"
	"martelo/templates/pages"
)

// localLayouts are how browsers send a local time, without and with seconds.
var localLayouts = []string{"2006-01-02T15:04", "2006-01-02T15:04:05"}

// Zone reads the name of a time zone.
func Zone(name string) (*time.Location, *refusal.FieldError) {
	// Go gives these names meanings of its own, and reads paths.
	if name == "" || name == "Local" || strings.Contains(name, "..") || strings.HasPrefix(name, "/") {
		return nil, unknownZone()
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, unknownZone()
	}
	return zone, nil
}

func unknownZone() *refusal.FieldError {
	return refusal.Of(pages.FieldZone, refusal.Unknown)
}

// LocalTime reads what clocks in a zone show as a moment, with the offset of that day and not of
// today. A time that the clocks skip is refused. Of a time that they show twice the offset says
// which is meant, and without it both are returned to choose from.
func LocalTime(field, text, offset string, zone *time.Location) (time.Time, []time.Time, *refusal.FieldError) {
	shown, layout, ok := parseLocal(text)
	if !ok {
		return time.Time{}, nil, refusal.Of(field, refusal.NotLocalTime)
	}
	var moments []time.Time
	// Around a change of clocks there are two offsets; the moment is right if clocks in the zone
	// show the text at it.
	for _, around := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		_, seconds := shown.Add(around).In(zone).Zone()
		moment := shown.Add(-time.Duration(seconds) * time.Second).In(zone)
		if moment.Format(layout) == text && !slices.ContainsFunc(moments, moment.Equal) {
			moments = append(moments, moment)
		}
	}
	switch len(moments) {
	case 0:
		return time.Time{}, nil, refusal.Of(field, refusal.Skipped{Zone: zone.String()})
	case 1:
		return moments[0], nil, nil
	}
	for _, moment := range moments {
		if moment.Format(OffsetLayout) == offset {
			return moment, nil, nil
		}
	}
	slices.SortFunc(moments, time.Time.Compare)
	return time.Time{}, moments, refusal.Of(field, refusal.ShownTwice{Zone: zone.String()})
}

// OffsetLayout writes how far a zone's clocks are from UTC, "+02:00".
const OffsetLayout = "-07:00"

// parseLocal reads the text as if clocks showed UTC.
func parseLocal(text string) (shown time.Time, layout string, ok bool) {
	for _, layout := range localLayouts {
		if shown, err := time.Parse(layout, text); err == nil && shown.Format(layout) == text {
			return shown, layout, true
		}
	}
	return time.Time{}, "", false
}

package web

import (
	"strings"
	"time"

	"martelo/app/auction"
	"martelo/templates/pages"
)

// localLayouts are how browsers send a local time, without and with seconds.
var localLayouts = []string{"2006-01-02T15:04", "2006-01-02T15:04:05"}

// readZone reads the name of a time zone.
func readZone(name string) (*time.Location, *auction.FieldError) {
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

func unknownZone() *auction.FieldError {
	return &auction.FieldError{Field: pages.FieldZone, Reason: "Choose a time zone from the list."}
}

// localTime reads what clocks in a zone show as a moment, with the offset of that day and not of today. A time that the clocks skip is
// refused. Of a time that they show twice the earlier is taken: the review names its offset.
func localTime(field, text string, zone *time.Location) (time.Time, *auction.FieldError) {
	shown, layout, ok := parseLocal(text)
	if !ok {
		return time.Time{}, &auction.FieldError{Field: field, Reason: "Give a date and a time."}
	}
	var earliest time.Time
	// Around a change of clocks there are two offsets; the moment is right if clocks in the zone show the text at it.
	for _, around := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		_, offset := shown.Add(around).In(zone).Zone()
		moment := shown.Add(-time.Duration(offset) * time.Second)
		if moment.In(zone).Format(layout) == text && (earliest.IsZero() || moment.Before(earliest)) {
			earliest = moment
		}
	}
	if earliest.IsZero() {
		return time.Time{}, &auction.FieldError{Field: field, Reason: "Clocks in " + zone.String() + " are put forward then and never show this time. Choose another."}
	}
	return earliest, nil
}

// parseLocal reads the text as if clocks showed UTC.
func parseLocal(text string) (shown time.Time, layout string, ok bool) {
	for _, layout := range localLayouts {
		if shown, err := time.Parse(layout, text); err == nil && shown.Format(layout) == text {
			return shown, layout, true
		}
	}
	return time.Time{}, "", false
}

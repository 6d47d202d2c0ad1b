package stream

import (
	"bytes"
	"net/http"
	"strconv"

	"martelo/app/auction"
	"martelo/app/live"
)

// PageStates answers what PageStream would begin with, and ends: for pages that a stream does not
// reach, because something between them and the house holds it back. It leaves out the states that
// the page has. The events are the stream's own, so that a page reads both alike.
func (s *Streams) PageStates(w http.ResponseWriter, r *http.Request, asked []live.Asked, view, locale string) error {
	as, err := s.pages.as(view, locale)
	if err != nil {
		return err
	}
	frames, missing, err := s.hub.Ask(r.Context(), asked, as)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return auction.ErrNotFound
	}
	body := bytes.Join(frames, nil)
	streamHeader(w.Header())
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // how it ended is of no use to anybody: the answer has begun
	}
	return nil
}

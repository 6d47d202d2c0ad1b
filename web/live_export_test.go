package web

import "time"

// Event is how the streams encode an event.
var Event = event

// Hurry shortens how long a client may keep the house waiting: for a body, and for the next sign of life of a WebSocket.
func (s *Server) Hurry(within time.Duration) {
	s.readBodyWithin, s.streams.pingEvery, s.streams.pongWithin = within, within, within
}

package web

import "time"

// Hurry shortens how long a client may keep the house waiting: for a body, and for the next sign of
// life of a WebSocket.
func (s *Server) Hurry(within time.Duration) {
	s.readBodyWithin, s.streams.PingEvery, s.streams.PongWithin = within, within, within
}

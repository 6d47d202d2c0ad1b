package web

// Event is how the streams encode an event.
var Event = event

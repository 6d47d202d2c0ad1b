package stream

import (
	"bytes"
	"strconv"
	"time"
)

// lineBreaks are what ends a line in a stream of server-sent events; a lone CR does too. A longer
// one goes before its parts.
var lineBreaks = [][]byte{[]byte("\r\n"), []byte("\r"), []byte("\n")}

// event encodes a server-sent event. Whatever breaks there are in data begin a new data line, so
// that no data can forge a field or another event. The name is one of ours and holds none; empty,
// the event is an unnamed message.
func event(name string, data []byte) []byte {
	for _, broken := range lineBreaks {
		data = bytes.ReplaceAll(data, broken, []byte("\n"))
	}
	frame := make(
		[]byte, 0, len("event: \ndata: \n\n")+len(name)+len(data)+len("data: ")*bytes.Count(data, []byte("\n")),
	)
	if name != "" {
		frame = append(append(append(frame, "event: "...), name...), '\n')
	}
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		frame = append(append(append(frame, "data: "...), line...), '\n')
	}
	return append(frame, '\n')
}

// retry tells a client after how long to come back when the connection has ended.
func retry(after time.Duration) []byte {
	return append(strconv.AppendInt([]byte("retry: "), after.Milliseconds(), 10), '\n')
}

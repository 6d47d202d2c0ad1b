package stream

import (
	"bytes"
	"strings"
	"testing"

	"github.com/r3labs/sse/v2"
	"pgregory.net/rapid"
)

// Whatever is in the data, it is one event with that data.
func TestDataForgesNoEvent(t *testing.T) {
	t.Parallel()
	texts := rapid.StringOf(rapid.SampledFrom([]rune("ab:\r\n\r\n ü{}<data:event:id:retry:")))
	rapid.Check(t, func(t *rapid.T) {
		data := texts.Draw(t, "data")
		frame := event("price", []byte(data))
		reader := sse.NewEventStreamReader(bytes.NewReader(append(frame, event("end", []byte("x"))...)), 1<<20)
		want := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(data)
		for _, expected := range [][2]string{{"price", want}, {"end", "x"}} {
			block, err := reader.ReadEvent()
			if err != nil {
				t.Fatal(err)
			}
			if name, got := fields(block); name != expected[0] || got != expected[1] {
				t.Fatalf("%q was read as %q with %q", data, name, got)
			}
			if bytes.ContainsRune(block, '\r') || bytes.Contains(block, []byte("\nid")) ||
				bytes.Contains(block, []byte("\nretry")) {
				t.Fatalf("%q became %q", data, block)
			}
		}
	})
}

// fields reads an event's name and data by the letter of the HTML standard.
func fields(block []byte) (name, data string) {
	var lines []string
	name = "message"
	for line := range strings.Lines(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(block)) + "\n") {
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			name = value
		case "data":
			lines = append(lines, value)
		}
	}
	return name, strings.Join(lines, "\n")
}

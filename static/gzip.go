package static

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// pack compresses a file once, at the start, as small as it gets; nil where that saves nothing.
func pack(content []byte) []byte {
	var packed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		panic("static: " + err.Error())
	}
	if _, err := writer.Write(content); err != nil {
		panic("static: " + err.Error())
	}
	if err := writer.Close(); err != nil {
		panic("static: " + err.Error())
	}
	if packed.Len() >= len(content) {
		return nil
	}
	return packed.Bytes()
}

// AcceptsGzip tells whether a client takes gzip (RFC 9110, 12.5.3). "gzip" decides where it is
// named, else "*".
func AcceptsGzip(header http.Header) bool {
	any := false
	for _, line := range header.Values("Accept-Encoding") {
		for part := range strings.SplitSeq(line, ",") {
			coding, weight, _ := strings.Cut(part, ";")
			switch coding = strings.ToLower(strings.TrimSpace(coding)); coding {
			case "gzip", "x-gzip":
				return weighs(weight)
			case "*":
				any = weighs(weight)
			}
		}
	}
	return any
}

// weighs tells whether a q parameter is above 0; without one it is 1.
func weighs(parameter string) bool {
	name, value, given := strings.Cut(strings.TrimSpace(parameter), "=")
	if !given || !strings.EqualFold(strings.TrimSpace(name), "q") {
		return true
	}
	q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	return err == nil && q > 0
}

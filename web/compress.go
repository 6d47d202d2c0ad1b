package web

import (
	"bytes"
	"net/http"
	"strconv"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/labstack/echo/v4"

	"martelo/static"
)

const (
	// packFrom is the least answer, in bytes, that is compressed. What fits one packet arrives no
	// sooner for being smaller.
	packFrom = 1400
	// packLevel is how hard is tried: a page in a quarter of its size for some thirty microseconds.
	// Higher levels cost up to three times that for a twentieth less.
	packLevel = gzip.BestSpeed
)

var packers = sync.Pool{New: func() any {
	writer, err := gzip.NewWriterLevel(nil, packLevel)
	if err != nil {
		panic("web: " + err.Error())
	}
	return writer
}}

// content is what an answer says, compressed at most once for however many it is sent to. It is not
// changed.
type content struct {
	plain  []byte
	once   sync.Once
	packed []byte
}

func (b *content) gzip() []byte {
	b.once.Do(func() {
		var packed bytes.Buffer
		writer := packers.Get().(*gzip.Writer)
		defer packers.Put(writer)
		writer.Reset(&packed)
		// A buffer takes everything.
		_, _ = writer.Write(b.plain)
		_ = writer.Close()
		b.packed = packed.Bytes()
	})
	return b.packed
}

// send answers with a whole body, compressed for who takes that. Only what is read is: the answer
// to a POST holds what somebody has sent beside what is meant for nobody else, and its length must
// not tell of either. Live streams do not come here.
func send(c echo.Context, status int, media string, b *content) error {
	header, method := c.Response().Header(), c.Request().Method
	whole := b.plain
	if len(whole) >= packFrom && (method == http.MethodGet || method == http.MethodHead) {
		// The headers' values are shared by all answers: replaced, never appended to.
		header.Set("Vary", header.Get("Vary")+", Accept-Encoding")
		if static.AcceptsGzip(c.Request().Header) {
			header.Set("Content-Encoding", "gzip")
			whole = b.gzip()
		}
	}
	header.Set("Content-Length", strconv.Itoa(len(whole))) // or it would be sent in chunks
	return c.Blob(status, media, whole)
}

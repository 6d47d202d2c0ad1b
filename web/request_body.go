package web

import (
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

const (
	// readBodyWithin bounds a client that announces a body and dawdles, whatever becomes of the
	// request.
	readBodyWithin = 10 * time.Second
	// leftoverWithin is how long the rest of a body is still taken once the answer is known: long
	// enough for one that is under way, so that its connection can be kept, and short enough that
	// nobody holds a connection with it.
	leftoverWithin = time.Second
)

// boundBody gives a request that announces a body a deadline to send it. net/http has none for
// this: its own would end live streams as well, and it waits for the rest of a body that no handler
// reads before it sends the answer. The deadline goes once the whole body is there, so that it does
// not end a request that takes long to answer. A body that has not come by then closes the
// connection.
//
// The handler gets a copy of the request: net/http looks at its own for what became of the body.
func (s *Server) boundBody(c echo.Context) {
	r := c.Request()
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	body := &boundedBody{ReadCloser: r.Body, control: http.NewResponseController(c.Response())}
	body.endBy(time.Now().Add(s.readBodyWithin))
	read := *r
	read.Body = body
	c.SetRequest(&read)
	c.Response().Before(func() {
		if !body.whole {
			body.endBy(time.Now().Add(leftoverWithin))
		}
	})
}

// boundedBody is a body that knows whether it has come whole. It is read by one goroutine at a
// time.
type boundedBody struct {
	io.ReadCloser
	control *http.ResponseController
	whole   bool
}

func (b *boundedBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if err == io.EOF && !b.whole {
		b.whole = true
		b.endBy(time.Time{})
	}
	return n, err
}

// endBy ends reading at a moment, or never at the zero time. Not every writer has deadlines; a
// test's recorder reads from memory.
func (b *boundedBody) endBy(moment time.Time) { _ = b.control.SetReadDeadline(moment) }

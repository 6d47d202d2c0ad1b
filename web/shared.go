package web

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"martelo/web/read"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"
)

// sharedPages lets visitors who ask for the same page at the same time share one drawing of it, as
// bids share a commit: those who come while it is being drawn wait for the next drawing. A drawing
// thus begins after everybody who gets it has asked, so nobody is shown anything older than what
// they would have drawn alone; nothing is kept, and there is nothing to invalidate. A lone visitor
// waits for nobody. The zero value is ready.
//
// While many come, a page is drawn at most once in drawEvery.
type sharedPages struct {
	mu    sync.Mutex
	pages map[string]*sharedPage // that are being drawn: at most as many as there are requests
}

type sharedPage struct {
	now  *sharedDrawing // has begun: too late to join
	next *sharedDrawing // begins after that; nil when nobody waits
}

// drawEvery is how far apart the drawings of one page begin at least while visitors wait for the
// next. It costs them a wait that nobody notices, and leaves the processor to those who bid.
const drawEvery = 10 * time.Millisecond

// sharedDrawing is a page drawn once for several. What it holds is not changed once done is closed.
type sharedDrawing struct {
	done   chan struct{}
	began  time.Time // by this process's own clock, which measures a span here
	status int
	html   *content
	err    error
}

// errUndrawn is what the others get when whoever drew for them did not come to an end.
var errUndrawn = errors.New("web: the shared drawing broke off")

// draw returns what the function draws, called here or by somebody who asked for the same key.
func (s *sharedPages) draw(key string, draw func() (int, *content, error)) (int, *content, error) {
	d, before, mine := s.join(key)
	if !mine {
		<-d.done
		return d.status, d.html, d.err
	}
	if before != nil {
		<-before.done
		time.Sleep(drawEvery - time.Since(before.began))
		s.begin(key, d)
	}
	d.err = errUndrawn // a panic leaves it
	defer s.leave(key, d)
	d.status, d.html, d.err = draw()
	return d.status, d.html, d.err
}

// join finds the drawing to wait for, or says that it is the caller's to make, after the one
// before.
func (s *sharedPages) join(key string) (d, before *sharedDrawing, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pages[key]
	switch {
	case p == nil:
		if s.pages == nil {
			s.pages = map[string]*sharedPage{}
		}
		d = newDrawing()
		s.pages[key] = &sharedPage{now: d}
		return d, nil, true
	case p.next == nil:
		p.next = newDrawing()
		return p.next, p.now, true
	}
	return p.next, nil, false
}

func newDrawing() *sharedDrawing { return &sharedDrawing{done: make(chan struct{}), began: time.Now()} }

// begin closes a drawing to those who come from now on.
func (s *sharedPages) begin(key string, d *sharedDrawing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pages[key]
	p.now, p.next = d, nil
	d.began = time.Now()
}

// leave hands a finished drawing out.
func (s *sharedPages) leave(key string, d *sharedDrawing) {
	s.mu.Lock()
	if s.pages[key].next == nil {
		delete(s.pages, key)
	}
	s.mu.Unlock()
	close(d.done)
}

// drawing makes what an answer shows, and its status.
type drawing func() (status int, drawn templ.Component, err error)

// sharedPage answers with a page that is the same for every visitor who asks for the same address
// in the same locale. Visitors share its drawing; whoever may be somebody gets one of their own.
func (s *Server) sharedPage(c echo.Context, draw drawing) error {
	return s.shareDrawing(c, "page", draw)
}

// sharedFragment is the same for the fragment that a page's script asks for.
func (s *Server) sharedFragment(c echo.Context, draw drawing) error {
	return s.shareDrawing(c, "fragment", draw)
}

func (s *Server) shareDrawing(c echo.Context, kind string, draw drawing) error {
	if !plainVisitor(c.Request(), s.sessions.Cookie.Name) {
		status, drawn, err := draw()
		if err != nil {
			return err
		}
		return s.page(c, status, drawn)
	}
	key := kind + " " + read.Locale(c.Request()) + " " + c.Request().URL.RequestURI()
	status, html, err := s.shared.draw(key, func() (int, *content, error) {
		// The others wait for this one, also if the client that it is for goes away.
		c.SetRequest(c.Request().WithContext(context.WithoutCancel(c.Request().Context())))
		status, drawn, err := draw()
		if err != nil {
			return 0, nil, err
		}
		var body bytes.Buffer
		err = drawn.Render(c.Request().Context(), &body)
		return status, &content{plain: body.Bytes()}, err
	})
	if err != nil {
		return err
	}
	return answerPage(c, status, html)
}

// plainVisitor tells whether a request to read comes from nobody in particular.
func plainVisitor(r *http.Request, cookie string) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead || len(r.Header["Authorization"]) > 0 {
		return false
	}
	_, err := r.Cookie(cookie)
	return err != nil
}

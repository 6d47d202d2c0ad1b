// Package stream sends live updates: server-sent events of JSON and of HTML, and WebSockets. What
// it sends comes from app/live, once for all viewers.
package stream

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"time"

	"martelo/app/limits"
	"martelo/app/live"
)

const (
	// retrySoonest and retryLatest are between which a client is told to come back after a
	// connection broke: soon enough that it has the latest price within two seconds, spread enough
	// that ten thousand do not come at once.
	retrySoonest = 300 * time.Millisecond
	retryLatest  = 1300 * time.Millisecond
	// streamWriteWithin bounds a write to a viewer that the hub cannot write to itself.
	streamWriteWithin = 10 * time.Second
	// webSocketPlaces is how many viewers a WebSocket counts as: with its goroutines and buffers it
	// costs some 40 KiB, about as many times what a viewer of server-sent events does.
	webSocketPlaces = 4
)

// Streams serves live updates. Its methods expect what the caller has checked: that the auctions
// exist (Hub.Known) and that each is named once. They return an error only while nothing has been
// written: a *live.Refusal (503 with its RetryAfter), or a read.MalformedError.
//
// Nothing may wrap the writer that buffers, compresses or limits the time of an answer.
type Streams struct {
	hub      *live.Hub
	pages    pageEvents
	events   *live.Representation
	messages *live.Representation
	address  func(*http.Request) string

	// How often a WebSocket is asked whether it is there, and how long it has to answer: what tests
	// shorten.
	PingEvery, PongWithin time.Duration
}

// New makes the streams of a hub. Address tells who is asking, behind whatever proxies there are.
func New(hub *live.Hub, render PageRenderer, address func(*http.Request) string) *Streams {
	return &Streams{
		hub: hub, pages: pageEvents{render: render}, events: jsonEvents(), messages: jsonMessages(), address: address,
		PingEvery: pingEvery, PongWithin: pongWithin,
	}
}

// AuctionEvents streams one auction's updates as JSON (GET /auctions/{id}/events).
func (s *Streams) AuctionEvents(w http.ResponseWriter, r *http.Request, id int64) error {
	return s.stream(w, r, s.events, []int64{id})
}

// ManyEvents streams the updates of several auctions as JSON (GET /events?auctions=…).
func (s *Streams) ManyEvents(w http.ResponseWriter, r *http.Request, ids []int64) error {
	return s.stream(w, r, s.events, ids)
}

// PageStream streams HTML for pages: a view of each auction, with money as the locale writes it.
func (s *Streams) PageStream(w http.ResponseWriter, r *http.Request, ids []int64, view, locale string) error {
	as, err := s.pages.as(view, locale)
	if err != nil {
		return err
	}
	return s.stream(w, r, as, ids)
}

func (s *Streams) stream(w http.ResponseWriter, r *http.Request, as *live.Representation, ids []int64) error {
	if r.Method == http.MethodHead {
		streamHeader(w.Header())
		return nil
	}
	viewer, err := s.hub.Admit(s.viewing(r, as, ids))
	if err != nil {
		return err
	}
	streamHeader(w.Header())
	first := retry(retrySoonest + rand.N(retryLatest-retrySoonest))
	if r.ProtoMajor == 1 && r.TLS == nil {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			viewer.TakeOver(conn, append(headOf(w.Header()), first...))
			return nil
		}
		if !errors.Is(err, http.ErrNotSupported) {
			viewer.Leave()
			return err
		}
	}
	return s.serve(w, r, viewer, first)
}

func streamHeader(header http.Header) {
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store, no-transform")
	header.Set("X-Accel-Buffering", "no") // nginx: pass on at once
}

// headOf is the head of an answer that lasts until the connection ends, so that the same bytes go
// to every viewer without being cut into chunks.
func headOf(header http.Header) []byte {
	var head bytes.Buffer
	head.WriteString("HTTP/1.1 200 OK\r\n")
	header.Set("Connection", "close")
	// The head's own business: nothing is counted down by it.
	header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	_ = header.WriteSubset(&head, map[string]bool{"Content-Length": true, "Transfer-Encoding": true})
	head.WriteString("\r\n")
	return head.Bytes()
}

// serve is for HTTP/2 and TLS, whose connections only net/http can write to: it takes a goroutine.
func (s *Streams) serve(w http.ResponseWriter, r *http.Request, viewer *live.Viewer, first []byte) error {
	control := http.NewResponseController(w)
	write := func(frames [][]byte) error {
		if err := control.SetWriteDeadline(time.Now().Add(streamWriteWithin)); err != nil &&
			!errors.Is(err, http.ErrNotSupported) {
			return err
		}
		for _, frame := range frames {
			if _, err := w.Write(frame); err != nil {
				return err
			}
		}
		return control.Flush()
	}
	w.WriteHeader(http.StatusOK)
	begun := false
	// How it ended is of no use to anybody: the answer has begun.
	_ = viewer.Serve(r.Context(), func(frames [][]byte) error {
		if !begun {
			begun = true
			frames = append([][]byte{first}, frames...)
		}
		return write(frames)
	})
	return nil
}

func (s *Streams) viewing(r *http.Request, as *live.Representation, ids []int64) live.Viewing {
	return live.Viewing{Auctions: ids, As: as, Address: s.household(r)}
}

// household is whose limit a request counts against: an IPv4 address, or the part of an IPv6
// address that one household has. What comes from this machine itself is a proxy that names nobody,
// or a tool, and counts against no limit.
func (s *Streams) household(r *http.Request) string {
	address := s.address(r)
	if parsed, err := netip.ParseAddr(address); err == nil && parsed.Unmap().IsLoopback() {
		return ""
	}
	return limits.Household(address)
}

package live

import (
	"net"
	"sync"
	"time"
)

// pens are what writing takes, kept so that it allocates nothing.
var pens = sync.Pool{New: func() any { return newPen() }}

// deliver sends what is new with writes that do not block. Only when the socket is full does a
// goroutine wait for it, so that nobody else does. The caller owns the viewer.
func (v *Viewer) deliver() {
	p := pens.Get().(*pen)
	defer func() {
		p.forget()
		pens.Put(p)
		if value := recover(); value != nil {
			v.hub.panicked(value)
			v.drop()
		}
	}()
	for {
		if v.wants.Load()&wantClock != 0 && !v.socket.alive() {
			v.hub.metrics.cuts.WithLabelValues("left").Inc()
			v.drop()
			return
		}
		frames, end := v.collect(p.frames[:0])
		p.frames = frames
		if len(frames) > 0 {
			rest, err := p.write(v.socket)
			if err != nil {
				v.hub.metrics.cuts.WithLabelValues("left").Inc()
				v.drop()
				return
			}
			v.hub.metrics.writes.Inc()
			if len(rest) > 0 {
				v.hub.metrics.spills.Inc()
				v.hub.inBackground(func() { v.spill(rest, end) })
				return
			}
		}
		if end != nil {
			v.drop()
			return
		}
		if v.rest() {
			return
		}
	}
}

// spill waits, for a bounded time, until a full socket has taken what is left, and then goes on
// with what is newest.
func (v *Viewer) spill(rest net.Buffers, end *ending) {
	_ = v.conn.SetWriteDeadline(time.Now().Add(v.hub.timing.writeWithin)) // when it fails so does the write
	if _, err := rest.WriteTo(v.conn); err != nil {
		v.hub.metrics.cuts.WithLabelValues("stalled").Inc()
		v.drop()
		return
	}
	_ = v.conn.SetWriteDeadline(time.Time{})
	if end != nil {
		v.drop()
		return
	}
	v.deliver()
}

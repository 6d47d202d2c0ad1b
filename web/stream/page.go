package stream

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	"martelo/app/auction"
	"martelo/app/live"
)

// PageRenderer draws an update as the out-of-band elements of a view ("panel", "card"), with money
// as the locale writes it. It is asked once for all viewers: nothing in it may depend on who looks.
// Nothing drawn is nothing sent. Now is about the database's time.
type PageRenderer func(view, locale string, u auction.Update, now time.Time) []byte

// pagesMax bounds the representations, which stay for good: the views times the locales of the
// house, several times over.
const pagesMax = 256

// pageEvents are the representations of the pages' own stream, one for each view and locale that
// was asked for: an unnamed message holds elements that htmx swaps in out of band, clock is the
// heartbeat and bye the end for good.
type pageEvents struct {
	render PageRenderer

	mu  sync.Mutex
	all map[[2]string]*live.Representation
}

func (p *pageEvents) as(view, locale string) (*live.Representation, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := [2]string{view, locale}
	if as := p.all[key]; as != nil {
		return as, nil
	}
	if len(p.all) >= pagesMax {
		return nil, fmt.Errorf("stream: more than %d live views, last %q in %q", pagesMax, view, locale)
	}
	draw := func(u auction.Update, now time.Time) []byte {
		if drawn := p.render(view, locale, u, now); len(drawn) > 0 {
			return event("", drawn)
		}
		return nil
	}
	as := &live.Representation{
		Name: view + "/" + locale, Price: draw, Closed: draw, Clock: pageClock, ClockFirst: true,
		Retry: comeBack, Bye: event("bye", []byte("closed")),
	}
	if p.all == nil {
		p.all = map[[2]string]*live.Representation{}
	}
	p.all[key] = as
	return as, nil
}

// pageClock is what the page's script counts down by: the database's time in milliseconds since
// 1970, and whether the house itself learns of changes only every second or so.
func pageClock(now time.Time, slow bool) []byte {
	data := strconv.AppendInt(nil, now.UnixMilli(), 10)
	if slow {
		data = append(data, " slow"...)
	}
	return event("clock", data)
}

// comeBack is the last word to a viewer that another node is to serve.
func comeBack(after time.Duration) []byte { return append(retry(after), '\n') }

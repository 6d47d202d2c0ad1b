package main_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
)

// askedWithin is how long a page that asks may be behind. Two seconds are promised; here a busy
// machine and the browser's own slowness are in it.
const askedWithin = 8 * time.Second

// holder is a proxy that buffers: of a stream it lets the beginning through, or nothing, and holds
// the rest until it is released.
type holder struct {
	*httptest.Server
	beginning bool
	once      sync.Once
	released  chan struct{}
}

func (f *fair) holding(at *node, beginning bool) (*node, *holder) {
	f.Helper()
	target, err := url.Parse(at.url)
	if err != nil {
		f.Fatal(err)
	}
	h := &holder{beginning: beginning, released: make(chan struct{})}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
		},
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		ModifyResponse: func(r *http.Response) error {
			if r.Header.Get("Content-Type") == "text/event-stream" && r.ContentLength < 0 {
				r.Body = &heldBody{ReadCloser: r.Body, holder: h, gone: r.Request.Context().Done()}
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	h.Server = httptest.NewServer(proxy)
	f.Cleanup(func() {
		h.release()
		h.CloseClientConnections()
		h.Close()
	})
	return &node{town: f.town, url: h.URL}, h
}

// release ends what is held, and lets through what comes.
func (h *holder) release() { h.once.Do(func() { close(h.released) }) }

// heldBody is a stream's body in such a proxy.
type heldBody struct {
	io.ReadCloser
	holder *holder
	gone   <-chan struct{}
	begun  bool
	held   bool
}

func (b *heldBody) Read(p []byte) (int, error) {
	select {
	case <-b.holder.released:
		if b.held {
			return 0, io.ErrUnexpectedEOF
		}
		return b.ReadCloser.Read(p)
	default:
	}
	if b.holder.beginning && !b.begun {
		b.begun = true
		return b.ReadCloser.Read(p)
	}
	b.held = true
	select {
	case <-b.holder.released:
		return 0, io.ErrUnexpectedEOF
	case <-b.gone:
		return 0, errors.New("the browser has left")
	}
}

// asks waits until a page says that it asks.
func (b *tab) asks() *tab {
	b.Helper()
	b.reads("[data-live-state]", "Checking every few seconds")
	return b
}

// Behind a proxy that holds the stream back, pages say that they ask, and show what was bid; a lot
// that opens can be bid on. They are live when the proxy lets the stream through.
func (f *fair) heldBack() {
	lot := f.lot(map[string]any{"title": "Held back"})
	f.outbids(lot, f.ann, 1010)
	begins, proxy := f.holding(f.here, true)
	silent, _ := f.holding(f.there, false)
	own := f.ann.visit(f.T, begins, lotPath(lot))
	starts := time.Now().Add(4 * time.Second)
	opening := f.lot(map[string]any{"title": "Held back too", "startTime": starts.UTC().Format(time.RFC3339Nano)})
	soon := f.ben.visit(f.T, silent, lotPath(opening))
	list := f.ben.visit(f.T, begins, "/auctions?q=held+back")
	mine := f.ann.visit(f.T, silent, "/me/bids")
	pages := []*tab{own, soon, list, mine}
	for _, b := range pages {
		b.asks()
	}

	began := time.Now()
	f.outbids(lot, f.ben, 1100)
	own.reads(".panel .price--large", "$1,100.00")
	if behind := time.Since(began); behind > askedWithin {
		f.Errorf("the page was %s behind", behind)
	}
	own.reads(".standing", "You have been outbid.")
	list.reads(fmt.Sprintf("#lot-price-%d", lot.ID), "$1,100.00")
	mine.reads(fmt.Sprintf("#standing-%d", lot.ID), "You have been outbid.")

	if now := time.Now(); starts.Before(now) {
		starts = now
	}
	soon.shows(fmt.Sprintf("#bid-form-%d", opening.ID))
	if late := time.Since(starts); late > askedWithin {
		f.Errorf("the form came %s after the opening", late)
	}
	soon.holds(`seen.said.some(words => words.includes('Bidding is open.'))`)
	for _, b := range pages {
		if said := run[string](b, `[...seen.connections].join(' | ')`); strings.Contains(said, "Live") {
			f.Errorf("a page that is held back said: %s", said)
		}
	}
	proxy.release()
	own.live()
	asked := own.asked("have=")
	f.outbids(lot, f.ann, 1200)
	own.reads(".panel .price--large", "$1,200.00")
	if more := own.asked("have=") - asked; more > 0 {
		f.Errorf("a live page asked %d times", more)
	}
}

// hides makes the page believe that its tab is in the background, or that it is not.
func (b *tab) hides(hidden bool) {
	b.Helper()
	run[bool](b, fmt.Sprintf(`(() => {
		Object.defineProperty(document, 'hidden', { configurable: true, get: () => %t });
		document.dispatchEvent(new Event('visibilitychange'));
		return true;
	})()`, hidden))
}

// before opens a page in which a script runs before the page's own.
func (p *person) before(t *testing.T, script, url string) *tab {
	t.Helper()
	b := p.open(t, wide)
	b.do(send(page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script}))
	b.goes(url)
	return b
}

// restsSoon has a page in the background rest after a moment instead of twenty seconds.
const restsSoon = `{
	const later = setTimeout;
	window.setTimeout = (react, ms, ...more) => later(react, ms === 20000 ? 20 : ms, ...more);
}`

// A tab in the background says in its title that its viewer was outbid and what was won. It goes on
// watching what the viewer has bid on, and rests otherwise.
func (f *fair) background() {
	lot := f.lot(map[string]any{"title": "Carriage clock"})
	f.outbids(lot, f.ann, 1010)
	ann := f.ann.before(f.T, restsSoon, f.here.url+lotPath(lot)).live()
	cool := f.ben.before(f.T, restsSoon, f.there.url+lotPath(f.lot(nil))).live()
	ann.hides(true)
	cool.hides(true)
	cool.reads("[data-live-state]", "Reconnecting")

	f.outbids(lot, f.ben, 1020)
	ann.holds(`document.title.startsWith('● Outbid · ')`)
	f.outbids(lot, f.ann, 1030)
	ann.holds(`document.title.startsWith('Carriage clock')`)
	f.outbids(lot, f.ben, 1040)
	ann.holds(`document.title.startsWith('● Outbid · Carriage clock')`)
	if n := ann.asked("/live?"); n != 1 {
		f.Errorf("%d streams of a lot that was bid on", n)
	}
	// Streams in the background leave connections to pages and bids.
	more := []*tab{ann}
	for range 2 {
		b := f.ann.before(f.T, restsSoon, f.here.url+lotPath(lot)).live()
		b.hides(true)
		more = append(more, b)
	}
	more[2].reads("[data-live-state]", "Checking every few seconds")
	for _, b := range more[:2] {
		b.reads("[data-live-state]", "Live")
	}
	more[1].close()
	more[2].close()
	ann.hides(false)
	ann.holds(`document.title.startsWith('Carriage clock')`)
	ann.live()
	cool.hides(false)
	cool.live()

	// The own bids tell of each of their lots, and the own figure follows a bid from elsewhere.
	ending := f.lot(map[string]any{"title": "Ending", "endTime": ends(5 * time.Second)})
	f.outbids(ending, f.ann, 1010)
	mine := f.ann.visit(f.T, f.there, "/me/bids").live()
	f.outbids(lot, f.ann, 1500)
	mine.reads(fmt.Sprintf(`[data-own-highest="%d"]`, lot.ID), "$1,500.00")
	mine.hides(true)
	mine.holds(`document.title.startsWith('● Won · My bids')`)
	f.outbids(lot, f.ben, 1600)
	mine.holds(`document.title.startsWith('● Outbid · My bids')`)
	if own := mine.text(fmt.Sprintf(`[data-own-highest="%d"]`, lot.ID)); own != "$1,500.00" {
		f.Errorf("the own highest bid is %s", own)
	}
	mine.hides(false)
	mine.holds(`document.title.startsWith('My bids')`)
}

// asksSoon has a list ask for its news after a moment instead of half a minute.
const asksSoon = `{
	const later = setTimeout;
	window.setTimeout = (react, ms, ...more) => later(react, ms > 19000 && ms < 31000 ? 300 : ms, ...more);
}`

// A list says that new lots have come, and that it has changed, in a place that is kept free:
// nothing moves. On demand it is shown anew.
func (f *fair) listNews() {
	where := func(b *tab) string {
		return run[string](b, `JSON.stringify(
			[...document.querySelectorAll('main a:not([data-list-news]), main button, main input')]
				.map(el => el.getBoundingClientRect().y))`)
	}
	path := fmt.Sprintf("/auctions?seller=%d", f.lot(nil).SellerID)
	newest := f.ben.before(f.T, asksSoon, f.there.url+path+"&sort=newest").live()
	before := where(newest)
	f.lot(map[string]any{"title": "Just come"})
	newest.reads("[data-list-news]", "1 new lot: show it")
	ending := f.lot(map[string]any{"title": "Soon over", "endTime": ends(6 * time.Second)})
	newest.reads("[data-list-news]", "2 new lots: show them")
	if after := where(newest); after != before {
		f.Errorf("the page moved from %s to %s", before, after)
	}
	newest.leads("[data-list-news]", http.StatusOK)
	newest.reads(".catalogue li:first-child h2", "Soon over")
	newest.live()
	if newest.has("[data-list-news]") {
		f.Error("a new list has news")
	}
	newest.reads(fmt.Sprintf("#lot-price-%d", ending.ID), "Ended")
	newest.reads("[data-list-news]", "This list has changed: show it anew")
	newest.leads("[data-list-news]", http.StatusOK)
	newest.reads(".catalogue li:first-child h2", "Just come")
}

// Without a network the page says so at once; and a bid's "no answer" goes when the page is live
// again.
func (f *fair) offline() {
	lot := f.lot(nil)
	ann := f.ann.visit(f.T, f.here, lotPath(lot)).live()
	ann.forgives("htmx:")
	ann.offline(true)
	ann.reads("[data-live-state]", "Offline: figures may be old")
	ann.bids(lot, "1010")
	ann.shows("[data-trouble]")
	ann.offline(false)
	ann.live()
	ann.holds(`!document.querySelector('[data-trouble]').checkVisibility()`)
}

func (b *tab) offline(is bool) {
	b.Helper()
	b.do(
		send(network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
			MatchedNetworkConditions: []*network.Conditions{
				{Offline: is, DownloadThroughput: -1, UploadThroughput: -1},
			},
		}),
		send(network.OverrideNetworkState, network.OverrideNetworkStateParams{
			Offline: is, DownloadThroughput: -1, UploadThroughput: -1,
		}),
	)
}

// A page whose own clock stood still, as in a machine that slept, asks the house before it counts
// on.
func (f *fair) waking() {
	const clock = `{
		const now = performance.now.bind(performance);
		window.stood = 0;
		performance.now = () => now() - window.stood;
	}`
	lot := f.lot(map[string]any{"endTime": ends(20 * time.Minute)})
	ann := f.ann.before(f.T, clock, f.here.url+lotPath(lot)).live()
	run[bool](ann, `(seen.countdowns.clear(), window.stood = 300000, true)`)
	ann.holds(`seen.countdowns.has('…')`)
	ann.reads(".panel .countdown", "19 min")
	if shown := run[string](ann, `[...seen.countdowns].join(' | ')`); strings.Contains(shown, "24 min") {
		f.Errorf("a page that slept showed %s", shown)
	}
}

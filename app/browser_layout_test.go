package main_test

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/google/uuid"

	"martelo/templates/components"
)

// look is how another machine draws the same page: the window's width, and rules for its typeface.
type look struct {
	width int64
	rules string
}

const (
	dejaVu     = `:root { --sans: "DejaVu Sans"; --serif: "DejaVu Serif" }`
	liberation = `:root { --sans: "Liberation Sans"; --serif: "Liberation Serif" }`
	// spaced makes text a quarter wider also where no wide typeface is installed.
	spaced = `* { letter-spacing: 0.12em !important }`
	large  = `html { font-size: 20px }`
	// doubled is what people set who enlarge only the text.
	doubled = `html { font-size: 200% }`
)

// looks are phones, one at 400 % zoom among them, a tablet and desktops, in narrow, wide and large type.
var looks = []look{
	{320, dejaVu}, {320, spaced}, {320, large}, {390, liberation}, {390, dejaVu}, {390, spaced}, {390, large},
	{768, spaced}, {1024, dejaVu}, {1280, liberation}, {1280, dejaVu}, {1280, spaced}, {1280, large},
}

// tightest are those in which a page is most likely to be too wide for its window.
var tightest = []look{{320, dejaVu}, {320, spaced}, {320, large}, {390, dejaVu}, {1280, large}}

// wears shows the page in a look. The rules come from outside of the page, as a browser's own settings do.
func (b *tab) wears(as look) {
	b.Helper()
	b.do(chromedp.EmulateViewport(as.width, high))
	run[bool](b, fmt.Sprintf(`(() => {
		const sheet = new CSSStyleSheet();
		sheet.replaceSync(%s);
		document.adoptedStyleSheets = [sheet];
		return true;
	})()`, quote(as.rules)))
}

// fits fails the test for each of the tightest looks in which the page is wider than its window.
func (b *tab) fits(what string) {
	b.Helper()
	for _, as := range tightest {
		b.wears(as)
		if over := run[int](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
			b.Errorf("%s, %d wide with %s: wider than the window by %d", what, as.width, as.rules, over)
		}
	}
	b.wears(look{narrow, ""})
}

// places are where everything on a lot's page that can be operated stands, but for the quick steps and what is below them, and the lines
// of the price panel: in the page, or in the window for the bar at its foot. A figure that is broken over two lines or does not fit its place
// is named as well.
const places = `(() => {
  const places = {};
  for (const el of document.querySelectorAll('a, button, input, select, summary, .panel, .panel__lines > div, .lot-bar')) {
    if (!el.checkVisibility() || el.closest('.skip, .quick-steps, .sale__about')) continue;
    const r = el.getBoundingClientRect(), y = el.closest('.lot-bar') ? r.y : r.y + scrollY;
    const name = el.id || el.getAttribute('href') || el.className || el.textContent.trim();
    places[name] = [r.x, y, r.width, r.height].map(n => Math.round(n * 10) / 10).join(' ');
  }
  for (const el of document.querySelectorAll('.panel :is(.price, .countdown, time), .lot-bar .price, .history td:nth-child(3)')) {
    const text = document.createRange();
    text.selectNodeContents(el);
    const at = text.getBoundingClientRect(), room = el.closest('.panel, .lot-bar, .history').getBoundingClientRect();
    if (text.getClientRects().length > 1) places['broken: ' + el.textContent] = '';
    if (at.left < room.left - 0.5 || at.right > room.right + 0.5) {
      places['beyond its place: ' + el.textContent] = [el.tagName, el.className, at.left, at.right, room.left, room.right].join(' ');
    }
  }
  return places;
})()`

// waits are words that the time left may have.
var waits = []string{"364 d 23 h", "23 h 59 min", "59 min 59 s", "59 s", "closing …"}

// While a lot is open nothing that can be operated beside its price moves by a pixel, and the panel keeps its height: through the first bid,
// another leader, an extension, longer and longer prices, and every word of the time left; in any typeface, at any width.
func (f *fair) nothingMoves() {
	for _, sale := range []struct {
		currency, start string
		bids            []string
	}{
		{"USD", "900.00", []string{"999.00", "1000.00", "1000000.00", "999999999900.00"}},
		{"KWD", "0.000", []string{"10.000", "999999999900.999"}},
	} {
		lot := f.lot(map[string]any{
			"currency": sale.currency, "startPrice": sale.start, "minIncrement": "1", "endTime": ends(20 * time.Hour),
			"softClose": map[string]int{"windowSeconds": 86400, "extendSeconds": 86400},
		})
		b := f.ann.visit(f.T, f.here, lotPath(lot)).live()
		before := map[look]map[string]string{}
		for n, amount := range append([]string{""}, sale.bids...) {
			if amount != "" {
				must[bidReply](f, f.there.do(f.Context(), "POST", components.BidsPath(lot.ID), f.service,
					map[string]any{"bidderId": []int64{f.ben.id, f.cy.id}[n%2], "amount": amount}, "Idempotency-Key", uuid.NewString()), http.StatusCreated)
				b.holds(fmt.Sprintf(`document.querySelector('.panel').dataset.price === %q`, amount))
			}
			for _, as := range looks {
				b.wears(as)
				now := run[map[string]string](b, places)
				if before[as] == nil {
					before[as] = now
				}
				b.compare(fmt.Sprintf("at %s %s, %d wide with %s", amount, sale.currency, as.width, as.rules), before[as], now)
			}
		}
		b.reads(".panel__end", "Extended to")
		for _, as := range looks {
			b.wears(as)
			for _, words := range waits {
				now := run[map[string]string](b, fmt.Sprintf(`(() => {
					for (const el of document.querySelectorAll('[data-countdown]')) el.textContent = %s;
					return %s;
				})()`, quote(words), places))
				b.compare(fmt.Sprintf("with %q left, %d wide with %s", words, as.width, as.rules), before[as], now)
			}
		}
		b.close()
	}
}

func (b *tab) compare(when string, before, now map[string]string) {
	b.Helper()
	for name, place := range now {
		if was, known := before[name]; !known || was != place || strings.Contains(name, ": ") {
			b.Errorf("%s: %s is at %s and was at %s", when, name, place, was)
		}
	}
	for name := range before {
		if _, there := now[name]; !there {
			b.Errorf("%s: %s is gone", when, name)
		}
	}
}

// What has the focus is never under the bar at the foot of a phone's window; the bar keeps its place and leads to the form.
func (f *fair) barCoversNoFocus() {
	lot := f.lot(map[string]any{"description": strings.Repeat("A long story.\n\n", 60)})
	b := f.ann.visit(f.T, f.here, lotPath(lot)).live()
	b.wears(look{narrow, ""})
	if covered := run[string](b, `(() => {
		const bar = document.querySelector('.lot-bar');
		return [...document.querySelectorAll('a, button, input, summary')].filter(el => {
			if (!el.checkVisibility() || bar.contains(el)) return false;
			scrollTo(0, el.getBoundingClientRect().top + scrollY - innerHeight + 30);
			el.focus();
			return el.getBoundingClientRect().bottom > bar.getBoundingClientRect().top;
		}).map(el => el.outerHTML.slice(0, 100)).join('\n');
	})()`); covered != "" {
		f.Errorf("under the bar:\n%s", covered)
	}
	run[bool](b, `(() => { scrollTo(0, document.body.scrollHeight / 2); return true })()`)
	b.holds(`getComputedStyle(document.querySelector('.lot-bar')).visibility === 'visible'`)
	b.holds(`Math.round(document.querySelector('.lot-bar').getBoundingClientRect().bottom) === innerHeight`)
	f.outbids(lot, f.ben, 1010)
	b.reads(".lot-bar", "$1,010.00")
	b.click(".lot-bar a")
	b.holds(fmt.Sprintf(`(r => r.top >= 0 && r.bottom <= innerHeight)(document.querySelector('#place-bid-%d').getBoundingClientRect())`, lot.ID))
}

// Parts find their places in any typeface: the search is one row, a heading and its button are one row, enlarged text puts the desk below
// the title instead of squeezing it, and the desk stays in sight only where all of it fits.
func (f *fair) partsFindTheirPlaces() {
	lot := f.lot(nil)
	b := f.sam.visit(f.T, f.here, "/auctions")
	inOneRow := func(what, one, other string) {
		f.Helper()
		if apart := run[float64](b, fmt.Sprintf(`Math.abs((r => r.y + r.height / 2)(document.querySelector(%s).getBoundingClientRect())
			- (r => r.y + r.height / 2)(document.querySelector(%s).getBoundingClientRect()))`, quote(one), quote(other))); apart > 4 {
			f.Errorf("%s are %.0f pixels apart", what, apart)
		}
	}
	for _, as := range []look{{768, dejaVu}, {900, spaced}, {1024, liberation}, {1280, dejaVu}, {1280, spaced}, {1920, liberation}} {
		b.goes(f.here.url + "/auctions")
		b.wears(as)
		inOneRow("words and button of the search", ".search__words", ".search .button")
		inOneRow("the sections", ".sections li:first-child", ".sections li:last-child")
		b.goes(f.here.url + "/me/auctions")
		b.wears(as)
		inOneRow("heading and button", "h1", ".list-head__act")
	}
	b.goes(f.here.url + lotPath(lot))
	b.wears(look{wide, doubled})
	if width := run[float64](b, `document.querySelector('h1').getBoundingClientRect().width`); width < wide/2 {
		f.Errorf("with text enlarged the title is %.0f wide", width)
	}
	for height, want := range map[int64]string{600: "static", 900: "sticky"} {
		b.wears(look{wide, ""})
		b.do(chromedp.EmulateViewport(wide, height))
		if got := run[string](b, `getComputedStyle(document.querySelector('.sale__desk')).position`); got != want {
			f.Errorf("in a window %d high the desk is %s", height, got)
		}
	}
}

// What people write keeps its own direction and stays in its place, and what must not be translated says so.
func (f *fair) wordsKeepTheirPlace() {
	marks := strings.Repeat("\u0301", 40)
	lot := f.lot(map[string]any{"title": "ساعة Omega 1965!" + marks, "description": "ساعة جميلة.\n\nA second paragraph." + marks})
	b := f.ann.visit(f.T, f.here, lotPath(lot))
	if got := run[string](b, `[...document.querySelectorAll('h1, .sale__text p')].map(el => getComputedStyle(el).direction).join(' ')`); got != "rtl rtl ltr" {
		f.Errorf("the directions are %s", got)
	}
	for _, cut := range []string{"h1", ".sale__text", ".sale__seller bdi"} {
		if got := run[string](b, fmt.Sprintf(`getComputedStyle(document.querySelector(%s)).overflowY`, quote(cut))); got != "clip" {
			f.Errorf("%s does not cut off what is beyond it: %s", cut, got)
		}
	}
	f.outbids(lot, f.ben, 1010)
	b.holds(`document.querySelectorAll('.history td[data-bidder]').length === 1`)
	if loose := run[string](b, `[...document.querySelectorAll('.price, [data-bidder], .history td:nth-child(3)')]
		.filter(el => el.translate).map(el => el.outerHTML).join('\n')`); loose != "" {
		f.Errorf("a translator would change:\n%s", loose)
	}
	b.goes(f.here.url + "/auctions?sort=newest")
	if got := run[string](b, fmt.Sprintf(`getComputedStyle(document.querySelector('.lot__title a[href="%s"]')).direction`, lotPath(lot))); got != "rtl" {
		f.Errorf("in the list the title is %s", got)
	}
}

// On paper there is nothing to press, and no dark ground.
func (f *fair) onPaper() {
	lot := f.lot(nil)
	b := f.ann.open(f.T, wide)
	paper := func(scheme string) {
		b.do(send(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Media: "print", Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		}))
	}
	for _, path := range []string{lotPath(lot), "/auctions", "/me"} {
		b.goes(f.here.url + path)
		paper("dark")
		if left := run[string](b, `[...document.querySelectorAll('button, input, select, nav')].filter(el => el.checkVisibility())
			.map(el => el.outerHTML.slice(0, 80)).join('\n')`); left != "" {
			f.Errorf("%s on paper still has\n%s", path, left)
		}
		if ground := run[string](b, `getComputedStyle(document.body).backgroundColor`); ground != "rgb(255, 255, 255)" {
			f.Errorf("%s is printed on %s", path, ground)
		}
	}
	b.goes(f.here.url + lotPath(lot))
	b.shows(".panel__figure")
}

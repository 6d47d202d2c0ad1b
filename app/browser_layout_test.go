package main_test

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/google/uuid"

	"martelo/templates/components"
)

// look is how another machine draws the same page: the window's width, rules for its typeface, the
// size of text in pixels that its owner has chosen (0 is the usual one), and the scheme.
type look struct {
	width int64
	rules string
	base  int64
	dark  bool
}

func (l look) String() string {
	return fmt.Sprintf("%d wide with text of %d pixels, dark %t, %s", l.width, cmp.Or(l.base, usual), l.dark, l.rules)
}

const (
	dejaVu     = `:root { --sans: "DejaVu Sans"; --serif: "DejaVu Serif" }`
	liberation = `:root { --sans: "Liberation Sans"; --serif: "Liberation Serif" }`
	// spaced makes text a quarter wider also where no wide typeface is installed.
	spaced = `* { letter-spacing: 0.12em !important }`
	// doubled is what people set who enlarge only the text.
	doubled = `html { font-size: 200% }`
)

// usual is the size of text that browsers have at first, and large is one that people choose.
const usual, large = 16, 20

// looks are phones, one at 400 % zoom among them, a tablet and desktops, in narrow, wide and large
// type.
var looks = []look{
	{width: 320, rules: dejaVu}, {width: 320, rules: spaced}, {width: 320, base: large},
	{width: 390, rules: liberation}, {width: 390, rules: dejaVu}, {width: 390, rules: spaced},
	{width: 390, base: large},
	{width: 768, rules: spaced}, {width: 1024, rules: dejaVu},
	{width: 1280, rules: liberation}, {width: 1280, rules: dejaVu}, {width: 1280, rules: spaced},
	{width: 1280, base: large},
}

// tightest are those in which a page is most likely to be too wide for its window, or a text for
// its place.
var tightest = []look{
	{width: 320, rules: dejaVu}, {width: 320, rules: spaced, dark: true}, {width: 320, rules: dejaVu, base: large},
	{width: 390, rules: dejaVu, dark: true}, {width: 390, base: large}, {width: 390, dark: true}, {width: 390},
	{width: 1280, rules: dejaVu}, {width: 1280, base: large, dark: true},
}

// wears shows the page in a look. The rules come from outside of the page, as a browser's own
// settings do.
func (b *tab) wears(as look) {
	b.Helper()
	scheme := map[bool]string{false: "light", true: "dark"}[as.dark]
	b.do(
		chromedp.EmulateViewport(as.width, high),
		send(page.SetFontSizes, page.SetFontSizesParams{FontSizes: &page.FontSizes{Standard: cmp.Or(as.base, usual)}}),
		send(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		}),
	)
	run[bool](b, fmt.Sprintf(`(() => {
		const sheet = new CSSStyleSheet();
		sheet.replaceSync(%s);
		document.adoptedStyleSheets = [sheet];
		return true;
	})()`, quote(as.rules)))
}

// fits fails the test for each of the tightest looks in which the page is wider than its window, or
// a text is cut.
func (b *tab) fits(what string) {
	b.Helper()
	for _, as := range tightest {
		b.wears(as)
		if found := run[[]string](b, beyond); len(found) > 0 {
			b.Errorf("%s, %s:\n%s", what, as, strings.Join(found, "\n"))
		}
	}
	b.wears(look{width: narrow})
}

// beyond lists what does not fit: a page wider than its window, a line of text that leaves the
// window or a box that it stands in, what is cut off or has to be scrolled in its box, an amount
// longer than its field, a choice longer than its place.
const beyond = `(() => {
  const found = [], width = document.documentElement.clientWidth;
  const name = el => el.id || el.className || el.tagName;
  const say = (what, el, words) => found.push(what + ': ' + name(el) + ': ' + words.trim().slice(0, 40));
  const over = document.documentElement.scrollWidth - width;
  if (over > 0) found.push('the page is wider than the window by ' + over);
  const unseen = el => !el.checkVisibility() || el.closest('.visually-hidden, .skip, option, textarea') ||
    getComputedStyle(el.closest('thead') ?? el).clipPath !== 'none';
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode, el = text.parentElement;
    if (!text.data.trim() || unseen(el)) continue;
    const range = document.createRange();
    range.selectNodeContents(text);
    const spare = 0.3 * parseFloat(getComputedStyle(el).fontSize); // a line is higher than its letters
    for (const line of range.getClientRects()) {
      if (line.left < -1 || line.right > width + 1) say('beyond the window', el, text.data);
      for (let box = el; box !== document.body; box = box.parentElement) {
        const style = getComputedStyle(box), room = box.getBoundingClientRect();
        if (style.display === 'inline' || style.display === 'contents') continue;
        if (line.left < room.left - 1.5 || line.right > room.right + 1.5) say('wider than ' + name(box), el, text.data);
        const higher = line.top < room.top - spare || line.bottom > room.bottom + spare;
        if (higher && !['visible', 'auto'].includes(style.overflowY)) say('higher than ' + name(box), el, text.data);
      }
    }
  }
  for (const el of document.querySelectorAll('body *')) {
    const style = getComputedStyle(el);
    if (unseen(el) || el.matches('svg, svg *, textarea, [type=checkbox]')) continue;
    const wide = el.scrollWidth > el.clientWidth + 1, high = el.scrollHeight > el.clientHeight + 1;
    if (el.matches('[inputmode]') && wide) say('an amount longer than its field', el, el.value);
    const cut = !['visible', 'clip'].includes(style.overflowX) && wide;
    if (cut || style.overflowY === 'auto' && high) say('it scrolls', el, el.textContent);
    if (el.matches('select')) {
      const pen = document.createElement('canvas').getContext('2d'), words = el.selectedOptions[0].text;
      pen.font = style.font;
      pen.letterSpacing = style.letterSpacing;
      const padding = parseFloat(style.paddingLeft) + parseFloat(style.paddingRight), arrow = 16;
      const room = el.clientWidth - padding - arrow;
      if (pen.measureText(words).width > room + 1) say('a choice longer than its place', el, words);
    }
  }
  return [...new Set(found)];
})()`

// places are where everything on a lot's page that can be operated stands, but for the quick steps
// and what is below them, and the lines of the price panel: in the page, or in the window for the
// bar at its foot. A figure that is broken over two lines or does not fit its place is named as
// well.
const places = `(() => {
  const places = {};
  for (const el of document.querySelectorAll('a, button, input, select, summary, .panel, .panel__lines > div, ' +
    '.lot-bar')) {
    if (!el.checkVisibility() || el.closest('.skip, .quick-steps, .sale__about')) continue;
    const r = el.getBoundingClientRect(), y = el.closest('.lot-bar') ? r.y : r.y + scrollY;
    const name = el.id || el.getAttribute('href') || el.className || el.textContent.trim();
    places[name] = [r.x, y, r.width, r.height].map(n => Math.round(n * 10) / 10).join(' ');
  }
  for (const el of document.querySelectorAll('.panel :is(.price, .countdown, time), .lot-bar .price, ' +
    '.history td:nth-child(3)')) {
    const text = document.createRange();
    text.selectNodeContents(el);
    const at = text.getBoundingClientRect(), room = el.closest('.panel, .lot-bar, .history').getBoundingClientRect();
    if (text.getClientRects().length > 1) places['broken: ' + el.textContent] = '';
    if (at.left < room.left - 0.5 || at.right > room.right + 0.5) {
      places['beyond its place: ' + el.textContent] = [el.tagName, el.className, at.left, at.right, room.left,
        room.right].join(' ');
    }
  }
  return places;
})()`

// waits are words that the time left may have.
var waits = []string{"364 d 23 h", "23 h 59 min", "59 min 59 s", "59 s", "closing …"}

// While a lot is open nothing that can be operated beside its price moves by a pixel, and the panel
// keeps its height: through the first bid, another leader, an extension, longer and longer prices,
// and every word of the time left; in any typeface, at any width.
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
					map[string]any{"bidderId": []int64{f.ben.id, f.cy.id}[n%2], "amount": amount},
					"Idempotency-Key", uuid.NewString()), http.StatusCreated)
				b.holds(fmt.Sprintf(`document.querySelector('.panel').dataset.price === %q`, amount))
			}
			for _, as := range looks {
				b.wears(as)
				now := run[map[string]string](b, places)
				if before[as] == nil {
					before[as] = now
				}
				b.compare(fmt.Sprintf("at %s %s, %s", amount, sale.currency, as), before[as], now)
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
				b.compare(fmt.Sprintf("with %q left, %s", words, as), before[as], now)
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

// What has the focus is never under the bar at the foot of a phone's window; the bar keeps its
// place and leads to the form.
func (f *fair) barCoversNoFocus() {
	lot := f.lot(map[string]any{"description": strings.Repeat("A long story.\n\n", 60)})
	b := f.ann.visit(f.T, f.here, lotPath(lot)).live()
	b.wears(look{width: narrow})
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
	b.holds(
		fmt.Sprintf(
			`(r => r.top >= 0 && r.bottom <= `+
				`innerHeight)(document.querySelector('#place-bid-%d').getBoundingClientRect())`,
			lot.ID,
		),
	)
}

// Parts find their places in any typeface: the search is one row, a heading and its button are one
// row, enlarged text puts the bid panel below the title instead of squeezing it, and the bid panel
// stays in sight only where all of it fits.
func (f *fair) partsFindTheirPlaces() {
	lot := f.lot(nil)
	b := f.sam.visit(f.T, f.here, "/auctions")
	inOneRow := func(what, one, other string) {
		f.Helper()
		if apart := run[float64](b, fmt.Sprintf(`Math.abs((r => r.y + r.height / 2)(
			document.querySelector(%s).getBoundingClientRect())
			- (r => r.y + r.height / 2)(
				document.querySelector(%s).getBoundingClientRect()))`, quote(one), quote(other))); apart > 4 {
			f.Errorf("%s are %.0f pixels apart", what, apart)
		}
	}
	for _, as := range []look{
		{width: 768, rules: dejaVu}, {width: 900, rules: spaced}, {width: 1024, rules: liberation},
		{width: 1280, rules: dejaVu}, {width: 1280, rules: spaced}, {width: 1920, rules: liberation},
	} {
		b.goes(f.here.url + "/auctions")
		b.wears(as)
		inOneRow("words and button of the search", ".search__words", ".search .button")
		inOneRow("the sections", ".sections li:first-child", ".sections li:last-child")
		b.goes(f.here.url + "/me/auctions")
		b.wears(as)
		inOneRow("heading and button", "h1", ".list-head__act")
	}
	b.goes(f.here.url + lotPath(lot))
	b.wears(look{width: wide, rules: doubled})
	if width := run[float64](b, `document.querySelector('h1').getBoundingClientRect().width`); width < wide/2 {
		f.Errorf("with text enlarged the title is %.0f wide", width)
	}
	for height, want := range map[int64]string{600: "static", 900: "sticky"} {
		b.wears(look{width: wide})
		b.do(chromedp.EmulateViewport(wide, height))
		if got := run[string](b, `getComputedStyle(document.querySelector('.sale__bidding')).position`); got != want {
			f.Errorf("in a window %d high the bid panel is %s", height, got)
		}
	}
}

// What people write keeps its own direction and stays in its place, and what must not be translated
// says so.
func (f *fair) wordsKeepTheirPlace() {
	marks := strings.Repeat("\u0301", 40)
	lot := f.lot(
		map[string]any{
			"title": "ساعة Omega 1965!" + marks, "description": "ساعة جميلة.\n\nA second paragraph." + marks,
		},
	)
	b := f.ann.visit(f.T, f.here, lotPath(lot))
	if got := run[string](
		b, `[...document.querySelectorAll('h1, .sale__text p')].map(el => getComputedStyle(el).direction).join(' ')`,
	); got != "rtl rtl ltr" {
		f.Errorf("the directions are %s", got)
	}
	for _, cut := range []string{"h1", ".sale__text", ".sale__seller bdi"} {
		if got := run[string](
			b, fmt.Sprintf(`getComputedStyle(document.querySelector(%s)).overflowY`, quote(cut)),
		); got != "clip" {
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
	if got := run[string](
		b, fmt.Sprintf(`getComputedStyle(document.querySelector('.lot__title a[href="%s"]')).direction`, lotPath(lot)),
	); got != "rtl" {
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
		if left := run[string](b, `[...document.querySelectorAll('button, input, select, nav')]
			.filter(el => el.checkVisibility())
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

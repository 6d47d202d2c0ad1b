package main_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/css"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"martelo/templates/components"
)

// letters are what the languages of Europe and Vietnamese need beside ASCII, and the signs of
// currencies.
const letters = "ÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞßàáâãäåæçèéêëìíîïðñòóôõöøùúûüýþÿ¡¿«»„“”‚‘’–—…·€£¥$Ā" +
	"āĄąĆćČčĎďĒēĖėĘęĚěĞğĠġĢģĦħĪīĮįİıĶķĹĺĻļĽľŁłŃńŅņŇňŐőŒœŔŕŘřŚśŞşŠšŢţŤťŪūŮůŰűŲųŴŵŶŷŸŹź" +
	"ŻżŽžȘșȚțẞẀẁẂẃẄẅỲỳ₴₺₽₩₱₹₦ĂăĐđĨĩŨũƠơƯưẠạẢảẤấẦầẨẩẪẫẬậẮắẰằẲẳẴẵẶặẸẹẺẻẼẽẾếỀềỂểỄễỆệỈỉỊị" +
	"ỌọỎỏỐốỒồỔổỖỗỘộỚớỜờỞởỠỡỢợỤụỦủỨứỪừỬửỮữỰựỲỳỴỵỶỷỸỹ₫"

// typefaceStates are what has become of each file of the house's typefaces that the page has
// wanted.
const typefaceStates = `[...document.fonts].filter(face => face.family.includes('Martelo'))
	.map(face => face.status).filter(status => status !== 'unloaded')`

// drawnIn names the typefaces that an element's text is drawn in, "web" before those that came from
// the house.
func (b *tab) drawnIn(selector string) string {
	b.Helper()
	var used []*css.PlatformFontUsage
	var fault error
	ask := chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		root, err := cdp.Call(ctx, t, dom.GetDocument, dom.GetDocumentParams{})
		if err != nil {
			return err
		}
		wanted := dom.QuerySelectorParams{NodeID: root.Root.NodeID, Selector: selector}
		element, err := cdp.Call(ctx, t, dom.QuerySelector, wanted)
		if err != nil {
			return err
		}
		node := css.GetPlatformFontsForNodeParams{NodeID: element.NodeID}
		fonts, err := cdp.Call(ctx, t, css.GetPlatformFontsForNode, node)
		used = fonts.Fonts
		return err
	})
	b.do(send(css.Enable, cdp.Empty{}))
	// The browser numbers a document anew whenever somebody asks for it, as chromedp itself does
	// after a load.
	b.awaits(func() bool {
		ctx, cancel := context.WithTimeout(b.ctx, actWithin)
		defer cancel()
		fault = chromedp.Do(ctx, ask)
		return fault == nil
	}, func() string { return fmt.Sprintf("the typefaces of %s: %v", selector, fault) })
	var names []string
	for _, font := range used {
		name := font.FamilyName
		if font.IsCustomFont && strings.HasPrefix(name, "Martelo") {
			name = "web " + name
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// Every letter of Europe and of Vietnamese is drawn in the house's own typefaces, and every figure
// is as wide as any other, so that a price that changes does not jump.
func (f *fair) ownTypefaces() {
	lot := f.lot(map[string]any{
		"title": "Žlutý kůň, łódź, Đồ gốm", "currency": "PLN",
		"softClose": map[string]int{"windowSeconds": 60, "extendSeconds": 60},
	})
	b := f.ann.open(f.T, wide)
	for selector, typeface := range map[string]string{
		"h1": "Martelo Serif", ".sale__soft-close": "Martelo Sans", ".panel .price": "Martelo Sans",
	} {
		var drawn string
		// A file that comes too late for one page is there for the next.
		b.awaits(func() bool {
			b.goes(f.here.url + lotPath(lot))
			run[bool](b, fmt.Sprintf(`(() => {
				const el = document.querySelector(%s);
				el.append(%s);
				return el.offsetHeight > 0; // laid out, so that what is missing is asked for
			})()`, quote(selector), quote(letters)))
			b.holds(typefaceStates + `.every(is => is !== 'loading')`)
			drawn = b.drawnIn(selector)
			return drawn == "web "+typeface
		}, func() string { return selector + " is drawn in " + drawn })
	}
	for _, selector := range []string{".panel__figure .price", ".panel__end dd", "h1"} {
		widths := run[[]float64](b, fmt.Sprintf(`[...'0123456789'].map(figure => {
			const el = document.querySelector(%s), line = document.createRange();
			el.textContent = figure.repeat(10);
			line.selectNodeContents(el);
			return line.getBoundingClientRect().width;
		})`, quote(selector)))
		if slices.Max(widths)-slices.Min(widths) > 0.1 {
			f.Errorf("figures of %s have the widths %v", selector, widths)
		}
	}
}

// hold keeps the typefaces from a tab, which asks for them anew on every page, until they are let
// go.
func (b *tab) hold() {
	b.Helper()
	b.do(send(network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true}),
		send(fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: "*.woff2"}}}))
}

func (b *tab) holding() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.held)
}

// letGo lets the typefaces come that are held.
func (b *tab) letGo() {
	b.Helper()
	b.mu.Lock()
	held := b.held
	b.held = nil
	b.mu.Unlock()
	for _, request := range held {
		b.do(send(fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: request}))
	}
}

// Nothing that has been seen moves by a pixel when typefaces come late.
func (f *fair) lateTypefaces() {
	lot := f.lot(map[string]any{"title": strings.Repeat("A title that breaks over lines. ", 6)})
	b := f.ann.open(f.T, wide)
	b.hold()
	for _, path := range []string{lotPath(lot), "/auctions?sort=newest", "/me", "/help"} {
		for _, width := range []int64{narrow, wide} {
			url := f.here.url + path
			b.do(chromedp.EmulateViewport(width, high), send(page.Navigate, page.NavigateParams{URL: url}))
			b.holds(fmt.Sprintf(`location.href === %s && document.readyState !== 'loading'`, quote(url)))
			b.awaits(func() bool {
				wanted := run[[]string](b, typefaceStates)
				return len(wanted) >= 2 && len(wanted) == b.holding()
			}, func() string { return fmt.Sprintf("%s waits for %d files", path, b.holding()) })
			// Until then the browser waits for typefaces, and nothing is on the screen.
			b.holds(`performance.getEntriesByName('first-contentful-paint').length === 1`)
			before := run[map[string]string](b, places)
			b.letGo()
			b.holds(typefaceStates + `.every(is => is === 'loaded')`)
			when := fmt.Sprintf("%s, %d wide, when the typefaces come", path, width)
			b.compare(when, before, run[map[string]string](b, places))
		}
	}
}

// A page is whole without the house's typefaces.
func (f *fair) withoutTypefaces() {
	odd, extended := f.oddLot(), f.lot(map[string]any{
		"endTime": ends(time.Minute), "softClose": map[string]int{"windowSeconds": 86400, "extendSeconds": 86400},
	})
	f.outbids(extended, f.ann, 1010)
	f.outbids(extended, f.ben, 1030)
	for who, paths := range map[*person][]string{
		f.ann: {
			"/", "/auctions?sort=newest", lotPath(odd), lotPath(extended), components.BidsPath(odd.ID),
			"/me", "/me/bids", "/help",
		},
		f.sam: {lotPath(odd), "/me/auctions", "/auctions/new"},
	} {
		b := who.open(f.T, narrow)
		b.do(send(network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true}),
			send(network.SetBlockedURLs, network.SetBlockedURLsParams{URLPatterns: []*network.BlockPattern{
				{URLPattern: "*://*:*/*.woff2", Block: true},
			}}))
		for _, path := range paths {
			b.goes(f.here.url + path)
			b.holds(typefaceStates + `.every(is => is === 'error')`)
			if drawn := b.drawnIn("h1"); strings.Contains(drawn, "web") {
				f.Errorf("%s is drawn in %s", path, drawn)
			}
			b.fits(path + " without typefaces")
			switch {
			case who == f.ann && path == lotPath(odd):
				b.live().fill(".bid-form__amount", "999999999990.999")
				b.reads("[data-hint]", "is below the minimum bid")
				b.fits(path + " with a bid that is too low")
			case who == f.ann && path == lotPath(extended):
				b.live().fill(".bid-form__amount", "999999999999.99")
				b.fits(path + " with a long amount")
			}
		}
		b.close()
	}
}

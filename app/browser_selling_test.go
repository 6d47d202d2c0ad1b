package main_test

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// What a seller has entered survives a reload (with script), the way back, a question and the end
// of the session, with and without script, and nothing is published but by the button for it.
func (f *fair) aLotIsNeverLost() {
	end := time.Now().UTC().AddDate(0, 0, 3).Format("2006-01-02T15:04")
	for _, scriptless := range []bool{false, true} {
		seller := &person{email: f.sam.email, scriptless: scriptless}
		f.profile(seller)
		b := seller.visit(f.T, f.here, "/auctions/new")
		f.entersALot(b, end)
		before := b.asked("POST " + f.here.url + "/auctions")

		if !scriptless { // browsers empty a form at a reload
			b.follows("reload", send(page.Reload, page.ReloadParams{}))
			f.isEntered(b, "after a reload", end, "1.500")
			// A page with such a listener is loaded again on the way back.
			run[bool](b, `(() => { addEventListener('unload', () => {}); return true })()`)
		}
		b.leads(".masthead__nav a", http.StatusOK)
		run[bool](b, `(() => { history.back(); return true })()`)
		b.reads("h1", "Put a lot up for sale")
		f.isEntered(b, "after the way back", end, "1.500")

		// The Enter key answers no question.
		for range 2 {
			run[bool](b, `(() => { document.querySelector('#field-title').focus(); return true })()`)
			if status := b.follows("Enter", chromedp.KeyEvent("\r")); status != http.StatusUnprocessableEntity {
				f.Fatalf("Enter led to %d", status)
			}
			b.reads(".problems", "Start price: Did you mean $1.50 or $1,500.00?")
		}
		b.sound("a form that asks")
		f.isEntered(b, "beside a question", end, "1.500")
		b.leads(".choices .button:nth-child(2)", http.StatusOK)
		b.reads(".review", "$1,500.00")
		if sent := b.asked("POST "+f.here.url+"/auctions") - before; sent != 3 {
			f.Errorf("the form was sent %d times, not 3", sent)
		}

		// The review has an address of its own, which survives a reload.
		b.follows("reload", send(page.Reload, page.ReloadParams{}))
		b.reads(".review", "$1,500.00")
		b.do(send(network.ClearBrowserCookies, cdp.Empty{}))
		b.leads(".review__steps .button", http.StatusUnauthorized)
		b.reads(".notice", "your lot comes back as you entered it")
		b.fill("#field-email", seller.email)
		b.fill("#field-password", password)
		b.leads(".account-form button", http.StatusOK)
		b.reads("h1", "Put a lot up for sale")
		f.isEntered(b, "after signing in", end, "1500.00")

		b.leads(".form > .button", http.StatusOK)
		b.leads(".review__steps .button", http.StatusOK)
		b.reads(".main > .notice", "is published.")
		published := run[string](b, `location.pathname`)
		run[bool](b, `(() => { history.back(); return true })()`)
		b.holds(
			fmt.Sprintf(
				`location.pathname === %s || document.querySelector('.review__steps') !== null`, quote(published),
			),
		)
		if strings.Contains(run[string](b, `location.pathname`), "review") {
			// The browser's own copy of the review leads to the same lot.
			b.leads(".review__steps .button", http.StatusOK)
		}
		if again := run[string](b, `location.pathname`); again != published {
			f.Errorf("going back after publishing leads to %s, not %s", again, published)
		}
		b.close()
	}
}

func (f *fair) entersALot(b *tab, end string) {
	f.Helper()
	b.fill("#field-title", "Bracket clock")
	b.fill("#field-description", "Walnut.\n\nRuns.")
	b.fill("#field-startPrice", "1.500")
	b.fill("#field-minIncrement", "12,50")
	b.set("#field-zone", "UTC")
	b.set("#field-endTime", end)
}

func (f *fair) isEntered(b *tab, when, end, startPrice string) {
	f.Helper()
	want := strings.Join([]string{"Bracket clock", "Walnut.\n\nRuns.", startPrice, "12,50", "UTC", end}, "|")
	entered := func() string {
		return run[string](b, `['title', 'description', 'startPrice', 'minIncrement', 'zone', 'endTime']
			.map(name => document.querySelector('#field-' + name)?.value).join('|')`)
	}
	b.awaits(func() bool { return entered() == want }, func() string {
		return fmt.Sprintf("%s the form holds %q", when, entered())
	})
}

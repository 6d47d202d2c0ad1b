package main_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"martelo/templates/components"
)

// seesWithin is the promise for another browser on another node. The median of several bids is held
// to it, since the machine may be busy for a moment.
const seesWithin = 2 * time.Second

// comesBackWithin is how long a page may take to find its node again, after however long an outage.
// The promise is two seconds from when the node is reachable; here its start under load and the
// browser's own slowness are in it.
const comesBackWithin = 6 * time.Second

func lotPath(lot auctionReply) string { return components.AuctionPath(lot.ID) }

// quickStep is the button for so many steps above the least bid.
func quickStep(lot auctionReply, steps int) string { return fmt.Sprintf("#quick-%d-%d", lot.ID, steps) }

// bids types an amount and presses the button.
func (b *tab) bids(lot auctionReply, amount string) {
	b.Helper()
	b.fill(amountField(lot), amount)
	b.presses(placeBid(lot))
}

// amountField and placeBid are the form's.
func amountField(lot auctionReply) string { return fmt.Sprintf("#amount-%d", lot.ID) }
func placeBid(lot auctionReply) string    { return fmt.Sprintf("#place-bid-%d", lot.ID) }

// presses clicks on what bids, as somebody does who has looked at it: when nothing there has
// changed for a while, since the page takes no other press.
func (b *tab) presses(selector string) {
	b.Helper()
	b.holds(`Date.now() - seen.movedAt > 900`)
	b.click(selector)
}

// outbids is a bid by somebody without a browser.
func (f *fair) outbids(lot auctionReply, by *person, amount int64) {
	f.Helper()
	must[bidReply](f, f.there.bid(f.Context(), lot.ID, by.id, amount, uuid.New()), http.StatusCreated)
}

// took is the time from a click in one browser to a sight in another. Both are on one machine and
// have its clock.
func took(from, to *tab, sight string) time.Duration {
	from.Helper()
	clicked := run[int64](from, `seen.clicked`)
	return time.Duration(run[int64](to, sight)-clicked) * time.Millisecond
}

// Two browsers on two nodes see each other's bids, at once and without being asked: price, count,
// leader, history, the least bid, the quick steps; and who is outbid is told so once for each time.
func (f *fair) twoBrowsers() {
	lot := f.lot(nil)
	ann, ben := f.ann.visit(f.T, f.here, lotPath(lot)).live(), f.ben.visit(f.T, f.there, lotPath(lot)).live()
	ann.reads(".panel__who", "No bids yet")
	ann.reads(".history", "The first bid is at least $1,010.00")
	pages, names := []*tab{ann, ben}, []string{"Bidder 1", "Bidder 2"}
	var delays, notices []time.Duration
	for round := range 6 {
		actor, other := pages[round%2], pages[(round+1)%2]
		price := 1010 + 10*round
		exact, shown, next := fmt.Sprintf("%d.00", price), fmt.Sprintf(
			"$1,0%02d.00", price-1000,
		), fmt.Sprintf("%d.00", price+10)
		count := fmt.Sprintf("Current bid · %d bid", round+1)
		actor.presses(placeBid(lot))
		actor.reads(".standing", "You are the highest bidder.")
		actor.reads(".bid-panel .notice--good", "Your bid of "+shown+" was accepted: you are the highest bidder.")
		actor.reads(".panel__who", "Highest bidder: you")
		actor.reads(".history__own td:nth-child(2)", "You")
		for _, page := range pages {
			page.reads(".panel .price--large", shown)
			page.holds(fmt.Sprintf(`document.querySelectorAll('.history tbody tr').length === %d`, round+1))
			page.reads(".history tbody tr:first-child td:nth-child(3)", shown)
			page.holds(fmt.Sprintf(`document.querySelector('%s').value === "%d.00"`, quickStep(lot, 1), price+20))
			page.holds(fmt.Sprintf(`document.querySelector('%s').value === "%d.00"`, quickStep(lot, 5), price+60))
		}
		other.holds(fmt.Sprintf(`document.querySelector('%s').value === %q`, amountField(lot), next))
		// Who leads need not bid.
		actor.holds(fmt.Sprintf(`document.querySelector('%s').value === ''`, amountField(lot)))
		other.reads(".panel__who", "Highest bidder: "+names[round%2])
		other.reads(".panel__label", count)
		other.reads(".history tbody tr:first-child td:nth-child(2)", names[round%2])
		delays = append(delays, took(actor, other, fmt.Sprintf("seen.prices[%q]", exact)))
		if round > 0 {
			other.reads(".standing", "You have been outbid.")
			notices = append(
				notices, took(actor, other, fmt.Sprintf("seen.standings['You have been outbid. %s']", exact)),
			)
			if other.has(".bid-panel .notice--good") {
				f.Error("who was outbid is still told to lead")
			}
		}
	}
	f.Logf("from the click to the other browser's sight: %v; to its notice: %v", delays, notices)
	if median(delays) > seesWithin || median(notices) > seesWithin {
		f.Errorf("the other browser saw nothing within %s", seesWithin)
	}
	ann.holds(`seen.said.filter(words => words.includes('outbid')).length === 3`)
	if said := run[string](
		ann, `seen.said.join(' | ')`,
	); said != "You have been outbid. The least bid is now $1,030.00. | You have been outbid. The least bid is "+
		"now $1,050.00. | "+
		"You have been outbid. The least bid is now $1,070.00." {
		f.Errorf("a screen reader was told: %s", said)
	}
	f.nobodyIsNamed(lot)
}

// nobodyIsNamed looks at a lot's page and list of bids as a visitor gets them: people are there by
// their paddles only.
func (f *fair) nobodyIsNamed(lot auctionReply) {
	f.Helper()
	for _, path := range []string{lotPath(lot), components.BidsPath(lot.ID)} {
		r := f.here.do(f.Context(), "GET", path, "", nil, "Accept", "text/html", "Content-Type", "")
		if page := string(r.body); r.status != http.StatusOK || !strings.Contains(page, "Bidder 2") ||
			strings.Contains(page, "Ann") ||
			strings.Contains(page, "ben@house.example") {
			f.Errorf("%s: %d, a bidder is named or missing", path, r.status)
		}
	}
}

// A bid inside the last minutes moves the end, and with it every countdown.
func (f *fair) softClose() {
	lot := f.lot(
		map[string]any{
			"endTime": ends(90 * time.Second), "softClose": map[string]int{"windowSeconds": 120, "extendSeconds": 120},
		},
	)
	ann, ben := f.ann.visit(f.T, f.here, lotPath(lot)).live(), f.ben.visit(f.T, f.there, lotPath(lot)).live()
	ann.reads(".panel__lines", "Ends")
	ann.reads(".sale__soft-close", "A bid in the last 2 minutes moves the end to 2 minutes after that bid")
	ann.reads(".panel .countdown", "1 min")
	ann.presses(quickStep(lot, 1))
	for _, b := range []*tab{ann, ben} {
		b.reads(".panel__lines", "Extended to")
		b.holds(
			fmt.Sprintf(`Number(document.querySelector('.panel').dataset.ends) > %d + 25000`, lot.EndTime.UnixMilli()),
		)
		b.holds(`seen.said.some(words => words.includes('Extended to '))`) // perhaps in one breath with other news
		left := b.text(".panel .countdown")
		if !strings.HasPrefix(left, "1 min") && !strings.HasPrefix(left, "2 min 00") {
			f.Errorf("after the extension %q is left", left)
		}
	}
	moved := run[float64](ann, `Number(document.querySelector('.panel').dataset.ends)`)
	if other := run[float64](ben, `Number(document.querySelector('.panel').dataset.ends)`); other != moved {
		f.Errorf("the browsers count down to %.0f and %.0f", moved, other)
	}
	if shown, told := ann.text("[data-end-text] time"), run[string](
		ann, `seen.said.map(words => words.match(/Extended to [^.]*[.]/)?.[0]).find(Boolean)`,
	); !strings.Contains(shown, strings.TrimSuffix(strings.TrimPrefix(told, "Extended to "), ".")) {
		f.Errorf("shown %q, read out %q", shown, told)
	}
}

// At the end the page says "closing …" until the house has closed, then who won; nobody can bid any
// more, and a form that was opened before the end says why it comes too late.
func (f *fair) close() {
	ann, ben, cy := f.ann.visit(f.T, f.here, "/"), f.ben.visit(f.T, f.there, "/"), f.cy.visit(f.T, f.here, "/")
	open := func(lot auctionReply) {
		ann.goes(f.here.url + lotPath(lot))
		ben.goes(f.there.url + lotPath(lot))
		cy.goes(f.here.url + lotPath(lot))
	}
	// The lot runs for long enough to open its page three times and bid twice, however busy the
	// machine is.
	rehearsal := f.lot(nil)
	begin := time.Now()
	open(rehearsal)
	lot := f.lot(map[string]any{"endTime": ends(4*time.Second + 3*time.Since(begin))})
	open(lot)
	f.outbids(lot, f.ann, 1010)
	f.outbids(lot, f.ben, 1050)
	ann.reads(".standing", "You have been outbid.")
	ben.reads(".standing", "You are the highest bidder.")

	release := f.holdClosing(lot)
	eventually(
		f, time.Until(lot.EndTime)+seenWithin, "the end has come", func() bool { return time.Now().After(lot.EndTime) },
	)
	for _, b := range []*tab{ann, ben} {
		b.reads(".panel .countdown", "closing …")
	}
	release()
	for _, b := range []*tab{ann, ben} {
		b.reads(".panel__label", "Sold for")
		b.reads(".panel .price--large", "$1,050.00")
		b.holds(`document.querySelector('.panel .countdown') === null`)
		b.reads("[data-live-state]", "Final")
		b.holds(fmt.Sprintf(`!document.querySelector('#bid-form-%d').checkVisibility()`, lot.ID))
		b.holds(`document.querySelectorAll('.quick-steps__step').length === 0`)
		b.holds(`seen.said.some(words => words.includes('Closed. Sold for $1,050.00'))`)
	}
	ben.reads(".standing", "You won this lot.")
	ben.reads(".panel__who", "to you · 2 bids")
	ann.reads(".standing", "You did not win this lot.")
	ann.reads(".panel__who", "to Bidder 2 · 2 bids")

	// Cy's page cannot know of the end: it is as it was when he opened it.
	cy.fill(fmt.Sprintf("#amount-%d", lot.ID), "1100.00")
	cy.leads(fmt.Sprintf("#place-bid-%d", lot.ID), http.StatusConflict)
	cy.reads(".bid-panel .notice--bad", "Too late: bidding ended at")
	cy.reads(".panel__who", "to Bidder 2 · 2 bids")
	if cy.has(".bid-form") {
		f.Error("a closed lot has a form")
	}
	if final := f.here.auction(lot.ID); final.BidCount != 2 || final.Status != "CLOSED" {
		f.Errorf("%+v", final)
	}
}

// holdClosing keeps the house from closing a lot, by holding its row, until it is let go.
func (f *fair) holdClosing(lot auctionReply) (release func()) {
	f.Helper()
	connection, err := pgx.Connect(f.Context(), f.database)
	if err != nil {
		f.Fatal(err)
	}
	held, err := connection.Begin(f.Context())
	if err == nil {
		_, err = held.Exec(f.Context(), "SELECT FROM auctions WHERE id = $1 AND status = 'OPEN' FOR UPDATE", lot.ID)
	}
	if err != nil {
		f.Fatal(err)
	}
	return func() {
		if err := connection.Close(f.Context()); err != nil {
			f.Fatal(err)
		}
	}
}

// A node is killed and comes back: the page says that it is not live, finds the node again by
// itself, shows what was bid meanwhile; and a bid that met the dead node is placed once.
func (f *fair) restart() {
	address := freeAddress(f.T)
	doomed := f.start("LISTEN_ADDR=" + address)
	lot := f.lot(nil)
	ann := f.ann.visit(f.T, doomed, lotPath(lot)).live()
	ann.presses(placeBid(lot))
	// The answer, and with it a fresh form; the stream may tell sooner.
	ann.reads(".bid-panel .notice--good", "you are the highest bidder")
	ann.reads(".standing", "You are the highest bidder.")
	run[bool](ann, `window.sameDocument = true`)

	ann.forgives("htmx:") // which writes on the console that an answer did not come
	doomed.kill()
	ann.reads("[data-live-state]", "Reconnecting")
	ann.bids(lot, "1500")
	ann.shows("[data-trouble]")
	f.outbids(lot, f.ben, 1100)
	// After so many tries a page that doubled its pauses would let its readers wait for long.
	eventually(f, seenWithin, "the page goes on trying", func() bool { return ann.asked("/live?") >= 5 })

	f.start("LISTEN_ADDR=" + address)
	begin := time.Now()
	ann.reads(".panel .price--large", "$1,100.00")
	back := time.Since(begin)
	f.Logf("the page was up to date %s after the node", back)
	if back > comesBackWithin {
		f.Errorf("the page took %s", back)
	}
	ann.live().reads(".standing", "You have been outbid.")
	ann.presses(placeBid(lot))
	ann.reads(".bid-panel .notice--good", "Your bid of $1,500.00 was accepted: you are the highest bidder.")
	if !run[bool](ann, `window.sameDocument === true`) {
		f.Error("the page was loaded again")
	}
	if log := f.here.bidLog(lot.ID); len(log) != 3 {
		f.Errorf("%d bids", len(log))
	}
}

func freeAddress(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// Somebody else bids while an amount is being typed: what was typed stays, a hint says that it has
// become too low, the bid is refused with the new least bid, and the form goes on.
func (f *fair) outbidWhileTyping() {
	lot := f.lot(nil)
	field := fmt.Sprintf("#amount-%d", lot.ID)
	ann := f.ann.visit(f.T, f.here, lotPath(lot)).live()
	ann.fill(field, "1015")
	f.outbids(lot, f.ben, 1100)
	ann.reads(".bid-form__hint", "1015 is below the minimum bid, now $1,110.00.")
	if typed := ann.value(field); typed != "1015" ||
		run[string](ann, `document.activeElement.id`) != strings.TrimPrefix(field, "#") {
		f.Errorf("the field was taken from who types in it: %q", typed)
	}
	ann.holds(`Date.now() - seen.movedAt > 900`)
	ann.do(chromedp.KeyEvent("\r"))
	ann.reads(".bid-panel .notice--bad", "$1,015.00 is too low. Bid at least $1,110.00.")
	if typed := ann.value(field); typed != "1015" {
		f.Errorf("what was typed is now %q", typed)
	}
	for _, wrong := range []struct{ typed, words string }{
		{"1e9", "Enter an amount in USD"}, {"1200.0010", "at most 2 decimals"}, {"1.500", "Did you mean"},
	} {
		ann.bids(lot, wrong.typed)
		ann.reads(".bid-panel .notice--bad", wrong.words)
	}
	ann.bids(lot, "1110")
	ann.reads(".bid-panel .notice--good", "Your bid of $1,110.00 was accepted: you are the highest bidder.")
	ann.reads(".standing", "You are the highest bidder.")
}

// A list has one stream for all its lots, and each moves by itself.
func (f *fair) list() {
	first, second := f.lot(map[string]any{"title": "First of two"}), f.lot(
		map[string]any{"title": "Second of two", "currency": "JPY", "startPrice": 1000},
	)
	ann := f.ann.visit(f.T, f.here, "/auctions?q=of+two").live()
	if n := run[int](ann, `document.querySelectorAll('.lot').length`); n != 2 {
		f.Fatalf("%d lots", n)
	}
	f.outbids(first, f.ben, 1010)
	f.outbids(second, f.ben, 2500)
	ann.reads(fmt.Sprintf("#lot-price-%d", first.ID), "$1,010.00")
	ann.reads(fmt.Sprintf("#lot-price-%d", second.ID), "¥2,500")
	ann.reads(fmt.Sprintf("#lot-price-%d", second.ID), "Current bid · 1 bid")
	if n := ann.asked("/live?") - ann.asked("have="); n != 1 {
		f.Errorf("%d streams", n)
	}
	// The lead is lost and won while the own bids are looked at.
	f.outbids(first, f.ann, 1020)
	mine := f.ann.visit(f.T, f.here, "/me/bids").live()
	standing := fmt.Sprintf("#standing-%d", first.ID)
	mine.reads(standing, "You are the highest bidder.")
	f.outbids(first, f.ben, 1030)
	mine.reads(standing, "You have been outbid.")
	mine.holds(`seen.said.some(words => words.includes('First of two: You have been outbid.'))`)
	f.outbids(first, f.ann, 1040)
	mine.reads(standing, "You are the highest bidder.")
}

// Who leaves a page and comes back finds it live and up to date, from the browser's own store or
// anew.
func (f *fair) backAndForth() {
	lot := f.lot(nil)
	ann := f.ann.visit(f.T, f.here, lotPath(lot)).live()
	ann.leads(".masthead__nav a", http.StatusOK)
	ann.reads("h1", "Open for bidding")
	f.outbids(lot, f.ben, 1010)
	ann.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := chromedp.Evaluate[chromedp.Void](`history.back()`)(ctx, t)
		return err
	}))
	ann.reads("h1", "Vintage watch")
	ann.reads(".panel .price--large", "$1,010.00")
	ann.live()
	f.outbids(lot, f.ben, 1020)
	ann.reads(".panel .price--large", "$1,020.00")
}

func median(spans []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(spans))[len(spans)/2]
}

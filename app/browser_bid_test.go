package main_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/google/uuid"

	"martelo/templates/components"
)

// restsFor is longer than the form takes no gesture after an answer, and than a change keeps a
// press from counting.
const restsFor = `Date.now() - seen.movedAt > 900`

// latencies are those of a good line, of an ordinary one, and of a poor one.
var latencies = []time.Duration{20 * time.Millisecond, 150 * time.Millisecond, 2 * time.Second}

// slow makes the way to the house as long as that.
func (b *tab) slow(latency time.Duration) {
	b.Helper()
	b.do(
		send(network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
			MatchedNetworkConditions: []*network.Conditions{{
				Latency: float64(latency.Milliseconds()), DownloadThroughput: -1, UploadThroughput: -1,
			}},
		}))
}

// key presses a key down, lets it repeat, and lets it up again if it is to go up.
func (b *tab) key(name string, repeats int, up bool) {
	b.Helper()
	code, text := map[string]int64{"Enter": 13, " ": 32}[name], map[string]string{"Enter": "\r", " ": " "}[name]
	press := input.DispatchKeyEventParams{
		Type: input.DispatchKeyEventTypeKeyDown, Key: name,
		Code: map[string]string{"Enter": "Enter", " ": "Space"}[name],
		Text: text, WindowsVirtualKeyCode: code, NativeVirtualKeyCode: code,
	}
	b.do(send(input.DispatchKeyEvent, press))
	again := true
	press.AutoRepeat = &again
	for range repeats {
		b.do(send(input.DispatchKeyEvent, press))
	}
	if up {
		b.keyUp(name)
	}
}

func (b *tab) keyUp(name string) {
	b.Helper()
	b.do(send(input.DispatchKeyEvent, input.DispatchKeyEventParams{
		Type: input.DispatchKeyEventTypeKeyUp, Key: name, Code: map[string]string{"Enter": "Enter", " ": "Space"}[name],
	}))
}

// mouse presses or releases the button in the middle of an element.
func (b *tab) mouse(selector string, kind input.DispatchMouseEventType) {
	b.Helper()
	at := run[[]float64](b, fmt.Sprintf(`(() => {
		const box = document.querySelector(%s).getBoundingClientRect();
		return [box.x + box.width / 2, box.y + box.height / 2];
	})()`, quote(selector)))
	b.do(send(input.DispatchMouseEvent, input.DispatchMouseEventParams{
		Type: kind, X: at[0], Y: at[1], Button: input.MouseButtonLeft, ClickCount: 1,
	}))
}

func (b *tab) rests() { b.Helper(); b.holds(restsFor) }

// amounts are the bids of a lot, in order.
func (f *fair) amounts(lot auctionReply) []string {
	f.Helper()
	var amounts []string
	for _, bid := range f.here.bidLog(lot.ID) {
		amounts = append(amounts, bid.Amount)
	}
	return amounts
}

// handled waits until the form has had its answer, whatever it was.
func (b *tab) handled(lot auctionReply) {
	b.Helper()
	b.holds(fmt.Sprintf(`!document.querySelector('#bid-form-%d').hasAttribute('data-busy')`, lot.ID))
}

// Whatever a hand does twice by itself, holding Enter or the second half of a double click, is one
// bid.
func (f *fair) oneGestureOneBid() {
	ann := f.ann.visit(f.T, f.here, "/")
	for _, latency := range latencies {
		lot := f.lot(nil)
		ann.goes(f.here.url + lotPath(lot))
		ann.live().slow(latency)
		gestures := []struct {
			what string
			do   func()
		}{
			{"Enter held", func() {
				run[bool](ann, fmt.Sprintf(`(document.querySelector('%s').focus(), true)`, amountField(lot)))
				ann.rests()
				ann.key("Enter", 28, true)
			}},
			{"Enter twice", func() {
				run[bool](ann, fmt.Sprintf(`(document.querySelector('%s').focus(), true)`, placeBid(lot)))
				ann.rests()
				ann.key("Enter", 0, true)
				ann.key("Enter", 0, true)
			}},
			{"a double click", func() {
				ann.rests()
				for range 2 {
					ann.mouse(placeBid(lot), input.DispatchMouseEventTypeMousePressed)
					ann.mouse(placeBid(lot), input.DispatchMouseEventTypeMouseReleased)
				}
			}},
			{"a double click on a quick step", func() {
				ann.rests()
				for range 2 {
					ann.mouse(quickStep(lot, 1), input.DispatchMouseEventTypeMousePressed)
					ann.mouse(quickStep(lot, 1), input.DispatchMouseEventTypeMouseReleased)
				}
			}},
		}
		if latency >= time.Second {
			gestures = gestures[:1] // the others are dropped in the same way while the answer is awaited
		}
		for _, gesture := range gestures {
			before := f.here.auction(lot.ID)
			run[bool](ann, `(document.activeElement.blur(), true)`)
			ann.holds(fmt.Sprintf(`document.querySelector('%s').value !== ''`, amountField(lot)))
			gesture.do()
			ann.reads(".answer .notice--good", "accepted")
			ann.handled(lot)
			after := f.here.auction(lot.ID)
			if after.BidCount != before.BidCount+1 {
				f.Errorf(
					"at %s, %s: %d bids: %v", latency, gesture.what, after.BidCount-before.BidCount, f.amounts(lot),
				)
			}
			f.outbidsLeader(ann, after)
		}
		ann.slow(0)
	}
}

// outbidsLeader has Ben bid a step more, and waits until the page knows.
func (f *fair) outbidsLeader(b *tab, lot auctionReply) {
	f.Helper()
	r := f.there.do(f.Context(), "POST", components.BidsPath(lot.ID), f.service,
		map[string]any{"bidderId": f.ben.id, "amount": lot.MinimumBid}, "Idempotency-Key", uuid.NewString())
	must[bidReply](f, r, http.StatusCreated)
	b.reads(".standing", "You have been outbid.")
}

// What a gesture sends is what stood there when it began, and a press just after a change is not
// taken for a bid.
func (f *fair) underAMovingHand() {
	for _, latency := range latencies {
		f.typedUnderRivals("USD", latency)
	}
	f.typedUnderRivals("JPY", latencies[1])
	lot := f.lot(nil)
	ann := f.ann.visit(f.T, f.here, lotPath(lot)).live()
	price := int64(1010)
	held := []struct {
		what, on   string
		begin, end func()
	}{
		{"the button held", placeBid(lot), func() {
			ann.mouse(placeBid(lot), input.DispatchMouseEventTypeMousePressed)
		},
			func() { ann.mouse(placeBid(lot), input.DispatchMouseEventTypeMouseReleased) }},
		{"Space held", placeBid(lot), func() { ann.key(" ", 0, false) }, func() { ann.keyUp(" ") }},
		{"a quick step held", quickStep(lot, 1), func() {
			ann.mouse(quickStep(lot, 1), input.DispatchMouseEventTypeMousePressed)
		},
			func() { ann.mouse(quickStep(lot, 1), input.DispatchMouseEventTypeMouseReleased) }},
		{
			"a quick step with Space held", quickStep(lot, 1), func() { ann.key(" ", 0, false) },
			func() { ann.keyUp(" ") },
		},
	}
	for _, h := range held {
		run[bool](ann, fmt.Sprintf(`(document.querySelector('%s').focus(), true)`, h.on))
		ann.rests()
		h.begin()
		price += 100
		f.outbids(lot, f.ben, price)
		ann.reads(".panel .price--large", dollars(price))
		h.end()
		ann.reads(".answer .notice--bad", "is too low. Bid at least")
		if log := f.amounts(lot); log[len(log)-1] != fmt.Sprintf("%d.00", price) {
			f.Errorf("%s: a price was bid that nobody had seen: %v", h.what, log)
		}
	}
	// Pressed at once when it has changed: it is not taken, and the page says why.
	for _, press := range []string{placeBid(lot), quickStep(lot, 1)} {
		run[bool](ann, `(document.activeElement.blur(), true)`)
		ann.rests()
		price += 100
		run[bool](ann, fmt.Sprintf(`(() => {
			const button = document.querySelector(%s);
			const change = new MutationObserver(() => {
				if (document.querySelector('#price-panel-%d').dataset.price !== '%d.00') return;
				change.disconnect();
				setTimeout(() => button.click(), 120);
			});
			change.observe(document.body, { subtree: true, childList: true, attributes: true });
			return true;
		})()`, quote(press), lot.ID, price))
		f.outbids(lot, f.ben, price)
		ann.reads(".answer", "The price changed just before you pressed")
		if log := f.amounts(lot); log[len(log)-1] != fmt.Sprintf("%d.00", price) {
			f.Errorf("pressed just after the change, %s bid: %v", press, log)
		}
	}
}

func dollars(whole int64) string { return fmt.Sprintf("$%d,%03d.00", whole/1000, whole%1000) }

// typedUnderRivals: the field that somebody is in is theirs. What was selected stays selected, what
// is typed while an answer is awaited is kept whole, and neither is mixed with what the page knows.
func (f *fair) typedUnderRivals(currency string, latency time.Duration) {
	f.Helper()
	lot := f.lot(map[string]any{"currency": currency, "startPrice": 1000, "minIncrement": 10})
	ann := f.ann.visit(f.T, f.here, lotPath(lot)).live()
	field := amountField(lot)
	selection := func() string {
		return run[string](
			ann,
			fmt.Sprintf(`(f => f.value.slice(f.selectionStart, f.selectionEnd))(document.querySelector('%s'))`, field),
		)
	}
	ann.click(field)
	prefilled := ann.value(field)
	if selection() != prefilled {
		f.Errorf("%s: going into the field selects %q of %q", currency, selection(), prefilled)
	}
	f.outbids(lot, f.ben, 1200)
	ann.holds(`document.querySelector('.panel').dataset.price.startsWith('1200')`)
	if ann.value(field) != prefilled || selection() != prefilled {
		f.Errorf("%s: another's bid made it %q, selected %q", currency, ann.value(field), selection())
	}
	ann.slow(latency)
	ann.do(send(input.InsertText, input.InsertTextParams{Text: "1300"}))
	ann.rests()
	ann.key("Enter", 0, true)
	for _, digit := range "1500" {
		ann.do(send(input.InsertText, input.InsertTextParams{Text: string(digit)}))
	}
	ann.reads(".answer .notice--good", "accepted")
	ann.handled(lot)
	if typed := ann.value(field); typed != "1500" {
		f.Errorf("%s at %s: what was typed is %q", currency, latency, typed)
	}
	ann.rests()
	ann.key("Enter", 0, true)
	ann.reads(".answer .notice", "You are the highest bidder already")
	ann.slow(0)
	want := []string{"1200", "1300"}
	for i, amount := range f.amounts(lot) {
		if i >= len(want) || strings.TrimSuffix(amount, ".00") != want[i] {
			f.Errorf("%s at %s: bid %v, want %v", currency, latency, f.amounts(lot), want)
		}
	}
	ann.close()
}

// A second thought: what is far above the least, raises the own lead, or can be read in two ways is
// asked about in words, with and without script, and only the answer bids.
func (f *fair) secondThoughts() {
	for _, p := range []*person{f.ann, f.cy} {
		lot := f.lot(nil)
		b := p.visit(f.T, f.here, lotPath(lot))
		press := func(selector string, status int64) {
			if p.scriptless {
				b.leads(selector, status)
			} else {
				b.presses(selector)
			}
		}
		bid := func(amount string) {
			b.fill(amountField(lot), amount)
			press(placeBid(lot), http.StatusConflict)
		}
		const yes = ".answer__choices .button"
		bid("1310000")
		b.reads(
			".answer .notice",
			"$1,310,000.00 is far above the minimum bid of $1,010.00. Bid $1,310,000.00 all the same?",
		)
		if n := len(f.amounts(lot)); n != 0 {
			f.Fatalf("%d bids without an answer", n)
		}
		press(yes, http.StatusOK)
		b.reads(".standing", "You are the highest bidder.")
		bid("1320000")
		b.reads(
			".answer .notice",
			"You are the highest bidder already, at $1,310,000.00. Raise your own bid to $1,320,000.00?",
		)
		press(yes, http.StatusOK)
		b.reads(".panel .price--large", "$1,320,000.00")
		b.fill(amountField(lot), "1.350")
		press(placeBid(lot), http.StatusUnprocessableEntity)
		b.reads(".answer .notice", "Did you mean")
		b.reads(".answer__choices", "Bid $1,350.00")
		if log := f.amounts(lot); !slices.Equal(log, []string{"1310000.00", "1320000.00"}) {
			f.Errorf("bids: %v", log)
		}
		b.close()
	}
}

// The page of one is not used by another: who signs in meanwhile is told so, and nothing is done in
// anybody's name.
func (f *fair) anotherViewer() {
	lot := f.lot(nil)
	zoe := f.admit("Zoe")
	page := zoe.visit(f.T, f.here, lotPath(lot)).live()
	other := zoe.visit(f.T, f.here, "/")
	other.leads(".masthead__person button", http.StatusOK)
	other.goes(f.here.url + "/signin")
	other.fill("#field-email", f.ben.email)
	other.fill("#field-password", password)
	other.leads(".account-form button", http.StatusOK)
	page.bids(lot, "1010")
	page.reads(
		".answer .notice--bad", "You have signed in as somebody else since this page was opened, so nothing was bid.",
	)
	if n := len(f.amounts(lot)); n != 0 {
		f.Errorf("%d bids", n)
	}
}

// Nothing that can be pressed on a lot's page moves by a pixel through bids, outbids, refusals,
// questions and extensions.
func (f *fair) nothingMovesForBidders() {
	type size struct {
		width, height int64
		currencies    []string
	}
	var crowd []*person // several, since one person bids at most five times a second
	for range 4 {
		made := must[struct{ ID int64 }](
			f, f.here.do(f.Context(), "POST", "/users", f.service, map[string]any{"name": "One of many"}),
			http.StatusCreated,
		)
		crowd = append(crowd, &person{id: made.ID})
	}
	for _, s := range []size{
		{320, 640, []string{"USD"}}, {390, 844, []string{"USD", "JPY"}}, {768, 1024, []string{"JPY"}},
		{1280, 900, []string{"USD"}},
	} {
		for _, currency := range s.currencies {
			lot := f.lot(map[string]any{
				"currency": currency, "startPrice": 900, "minIncrement": 10, "endTime": ends(100 * time.Second),
				"softClose":   map[string]int{"windowSeconds": 120, "extendSeconds": 120},
				"description": "A watch.\n\nIt runs.",
			})
			ann := f.ann.visit(f.T, f.here, lotPath(lot)).live()
			ann.do(chromedp.EmulateViewport(s.width, s.height))
			before := ann.places()
			unmoved := func(after string) {
				now := ann.places()
				for name, was := range before {
					if is, ok := now[name]; ok && is != was {
						f.Errorf("%s at %d px: after %s %s went from %s to %s", currency, s.width, after, name, was, is)
					}
				}
			}
			ann.bids(lot, "910")
			ann.reads(".answer .notice--good", "accepted")
			ann.reads(".standing", "You are the highest bidder.")
			unmoved("the first bid")
			f.outbids(lot, f.ben, 990)
			ann.reads(".standing", "You have been outbid.")
			unmoved("being outbid")
			ann.bids(lot, "915")
			ann.reads(".answer .notice--bad", "too low")
			unmoved("a refusal")
			ann.bids(lot, "10000000")
			ann.reads(".answer .notice", "far above")
			unmoved("a question")
			f.outbids(lot, f.ben, 1_234_567)
			ann.holds(`document.querySelector('.panel').dataset.price.startsWith('1234567')`)
			ann.reads(".panel__lines", "Extended to")
			unmoved("a price of more digits, and an extension")
			for i := range int64(12) {
				f.outbids(lot, crowd[i%int64(len(crowd))], 1_300_000+10*i)
			}
			ann.holds(`document.querySelectorAll('.history tbody tr').length >= 10`)
			unmoved("twelve bids")
			ann.close()
		}
	}
}

// places is where everything is that can be pressed or typed in, by what it is.
func (b *tab) places() map[string]string {
	b.Helper()
	return run[map[string]string](b, `(() => {
		const places = {};
		for (const el of document.querySelectorAll('a, button, input:not([type=hidden]), select, summary, ' +
				'[tabindex="0"]')) {
			if (!el.checkVisibility() || el.closest('.answer, .lot-bar')) continue;
			const box = el.getBoundingClientRect();
			const name = el.id || el.getAttribute('href') || el.textContent.trim();
			places[name] = [box.x + scrollX, box.y + scrollY, box.width, box.height].map(n => n.toFixed(2)).join(' ');
		}
		return places;
	})()`)
}

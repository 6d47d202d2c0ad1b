package main_test

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/google/uuid"

	"martelo/templates/components"
)

// Words that would do harm if a page took them for markup.
const (
	hostileTitle = `<script>window.hacked=1</script>"'><img src=x onerror="window.hacked=1"> & lot`
	hostileName  = `</a><script>window.hacked=1</script>"'><b onmouseover="window.hacked=1">Eve`
	// unbroken is as long as a title may be, without a place to break a line.
	unbroken = 200
)

// Whatever sellers and bidders write is text on every page and in every live fragment.
func (f *fair) hostileWords() {
	f.command(
		"user", "create", "--email", "eve@house.example", "--name", hostileName, "--password", password, "--role",
		"seller",
	)
	token := f.command("token", "create", "--user", "eve@house.example")
	eve := &person{email: "eve@house.example"}
	f.profile(eve)
	f.seller = token
	lot := f.lot(map[string]any{"title": hostileTitle, "description": hostileTitle + "\n\n" + hostileName})
	harmless := func(b *tab) {
		f.Helper()
		if run[bool](b, `'hacked' in window || document.querySelector('main img, main script, main b') !== null`) {
			f.Error("a page took words for markup")
		}
	}
	page := f.ann.visit(f.T, f.here, lotPath(lot)).live()
	list := f.ann.visit(f.T, f.here, "/auctions").live()
	f.outbids(lot, f.ann, 1010)
	mine := f.ann.visit(f.T, f.here, "/me/bids").live()
	f.outbids(lot, f.ben, 1020)
	for _, b := range []*tab{page, list, mine} {
		b.reads(fmt.Sprintf("[data-lot='%d']", lot.ID), "$1,020.00")
		harmless(b)
	}
	if title, seller := page.text("h1"), page.text(".sale__seller a"); title != hostileTitle || seller != hostileName {
		f.Errorf("title %q, seller %q", title, seller)
	}
	mine.holds(`seen.said.some(words => words.includes('<script>'))`)
	harmless(mine)
	own := eve.visit(f.T, f.here, lotPath(lot))
	own.reads(".masthead__account", hostileName)
	own.reads(".bid-panel", "This is your own lot")
	harmless(own)
	for _, path := range []string{
		"/me", "/me/auctions", components.BidsPath(lot.ID),
		"/auctions?q=" + "%3Cscript%3Ewindow.hacked%3D1%3C%2Fscript%3E",
	} {
		own.goes(f.here.url + path)
		harmless(own)
	}
}

// A seller types the end as clocks will show it in the own zone on that day; the review says it in
// words, with the zone's offset of that day, and in UTC. What is then published ends at that
// moment.
func (f *fair) sellingAcrossClocks() {
	zone, err := time.LoadLocation("America/New_York") // the tabs' zone
	if err != nil {
		f.Fatal(err)
	}
	end := time.Now().In(zone).AddDate(0, 0, 1)
	for _, today := time.Now().In(zone).Zone(); ; end = end.AddDate(0, 0, 7) {
		if _, then := end.Zone(); then != today {
			break
		}
	}
	end = time.Date(end.Year(), end.Month(), end.Day(), 18, 30, 0, 0, zone)

	sam := f.sam.visit(f.T, f.here, "/auctions/new")
	if chosen := sam.value("#field-zone"); chosen != zone.String() {
		f.Errorf("the zone is %q at first", chosen)
	}
	sam.fill("#field-title", "Clock that is put forward")
	sam.leads(".form > .button", http.StatusUnprocessableEntity)
	sam.reads(".problems", "There is a problem")
	if focused := run[string](sam, `document.activeElement.className`); focused != "problems" {
		f.Errorf("the focus is on %q and not on what is wrong", focused)
	}
	if kept := sam.value("#field-title"); kept != "Clock that is put forward" {
		f.Errorf("the title is now %q", kept)
	}
	sam.fill("#field-startPrice", "100")
	sam.fill("#field-minIncrement", "5.50")
	sam.set("#field-endTime", end.Format("2006-01-02T15:04"))
	sam.leads(".form > .button", http.StatusOK)
	sam.reads("h1", "Check your lot before publishing")
	sam.reads(
		".review",
		end.Format(
			"Monday, 2 January 2006, 15:04:05",
		)+" in America/New York (UTC"+strings.Replace(end.Format("-07:00"), "-", "−", 1)+")",
	)
	sam.reads(".review", end.UTC().Format("Monday, 2 January 2006, 15:04:05")+" UTC")
	sam.reads(".review", "$105.50")
	sam.leads(".review__steps .button--quiet", http.StatusOK)
	if kept := sam.value("#field-endTime") + " " + sam.value("#field-zone"); kept != end.Format(
		"2006-01-02T15:04",
	)+" "+zone.String() {
		f.Errorf("changing something shows %q", kept)
	}
	sam.leads(".form > .button", http.StatusOK)
	sam.leads(".review__steps .button", http.StatusOK)
	sam.reads(".main > .notice", "is published.")
	sam.reads("[data-end-text] time", end.Format("Jan 2, 2006, 3:04:05"))

	var id int64
	if _, err := fmt.Sscanf(run[string](sam, `location.pathname`), "/auctions/%d", &id); err != nil {
		f.Fatal(err)
	}
	if published := f.here.auction(id); !published.EndTime.Equal(end) || published.MinimumBid != "105.50" {
		f.Errorf("it ends at %s and begins at %s, not %s", published.EndTime, published.MinimumBid, end.UTC())
	}
}

// faults lists what is wrong with a page for people who cannot see it or have a narrow screen.
const faults = `(() => {
  const faults = [];
  const fault = (wrong, words) => { if (wrong) faults.push(words); };
  const name = el => el.outerHTML.slice(0, 120);
  fault(document.querySelectorAll('h1').length !== 1, document.querySelectorAll('h1').length + ' h1');
  fault(document.querySelectorAll('main').length !== 1, document.querySelectorAll('main').length + ' main');
  fault(!document.documentElement.lang, 'no language');
  fault(!document.title || document.title.startsWith('·'), 'no title');
  for (const el of document.querySelectorAll('input:not([type=hidden]), select, textarea')) {
    fault(![...el.labels].some(label => label.textContent.trim()), 'no label: ' + name(el));
  }
  for (const el of document.querySelectorAll('a, button, summary')) {
    fault(!el.hidden && !el.textContent.trim() && !el.getAttribute('aria-label'), 'no words: ' + name(el));
  }
  for (const el of document.querySelectorAll('[aria-describedby], [aria-labelledby]')) {
    for (const id of ((el.getAttribute('aria-describedby') || '') + ' ' + (el.getAttribute('aria-labelledby') ||
      '')).trim().split(/\s+/)) {
      fault(!document.getElementById(id), 'nothing is called ' + id + ': ' + name(el));
    }
  }
  const ids = [...document.querySelectorAll('[id]')].map(el => el.id);
  fault(new Set(ids).size !== ids.length, 'an id twice: ' + ids.filter((id, i) => ids.indexOf(id) !== i));
  let level = 0;
  for (const heading of document.querySelectorAll('main h1, main h2, main h3, main h4')) {
    fault(heading.tagName[1] > level + 1, 'a level of headings is left out: ' + name(heading));
    level = Number(heading.tagName[1]);
  }
  fault(document.documentElement.scrollWidth > innerWidth, 'wider than the window by ' +
    (document.documentElement.scrollWidth - innerWidth));
  return faults.join('\n');
})()`

// Every page, as whoever may see it, keeps the content policy, has its landmarks, headings and
// labels, and fits a phone and a desktop. A tab fails the test by itself if a page complains of its
// policy.
func (f *fair) everyPage() {
	plain := f.lot(
		map[string]any{
			"description": "One paragraph.\n\nAnother.",
			"softClose":   map[string]int{"windowSeconds": 120, "extendSeconds": 120},
		},
	)
	f.outbids(plain, f.ann, 1010)
	f.outbids(plain, f.ben, 1030)
	odd := f.oddLot()
	scheduled := f.lot(map[string]any{"startTime": ends(30 * time.Minute)})
	f.command("user", "create", "--email", "admin@house.example", "--name", "Admin", "--password", password,
		"--role", "admin")
	void := f.lot(nil)
	f.outbids(void, f.ann, 1010)
	must[auctionReply](f, f.here.do(f.Context(), "POST", components.CancelPath(void.ID),
		f.command("token", "create", "--user", "admin@house.example"), nil), http.StatusOK)
	withdrawn := f.lot(nil)
	must[auctionReply](
		f, f.here.do(f.Context(), "POST", components.CancelPath(withdrawn.ID), f.seller, nil), http.StatusOK,
	)
	passed := f.lot(map[string]any{"endTime": ends(time.Second)})
	eventually(f, seenWithin, "a lot has passed", func() bool { return f.here.auction(passed.ID).Status == "CLOSED" })

	visitor := &person{}
	profile, leave := chromedp.NewContext(f.process, chromedp.WithNewBrowserContext())
	f.Cleanup(leave)
	begin(f.T, profile)
	visitor.profile = profile
	for _, visit := range []struct {
		who    *person
		status int64
		paths  []string
	}{
		{visitor, http.StatusOK, []string{
			"/", "/auctions?status=SCHEDULED", "/auctions?status=CLOSED", "/auctions?status=CANCELLED",
			"/auctions?q=nothing+is+called+this",
			"/signin", "/signup?next=%2Fauctions%2F1", lotPath(plain), lotPath(odd), lotPath(scheduled),
			components.BidsPath(plain.ID), "/help",
		}},
		{visitor, http.StatusNotFound, []string{"/nothing/here", "/auctions/1"}},
		{f.ann, http.StatusOK, []string{
			lotPath(plain), lotPath(odd), lotPath(scheduled), lotPath(void), lotPath(withdrawn), lotPath(passed),
			"/me", "/me/bids", "/me/auctions", components.BidsPath(odd.ID),
		}},
		{f.ann, http.StatusForbidden, []string{"/auctions/new"}},
		{f.sam, http.StatusOK, []string{lotPath(plain), lotPath(scheduled), "/me/auctions", "/auctions/new"}},
	} {
		b := visit.who.open(f.T, narrow)
		for _, path := range visit.paths {
			b.do(chromedp.EmulateViewport(narrow, high))
			if status := b.goes(f.there.url + path); status != visit.status {
				f.Errorf("%s: %d, want %d", path, status, visit.status)
			}
			b.sound(path)
		}
		b.close()
	}
	f.formsAreSound()
}

// oddLot is a lot of the longest words, without a place to break a line, and of the longest
// figures.
func (f *fair) oddLot() auctionReply {
	f.Helper()
	odd := f.lot(map[string]any{
		"title": strings.Repeat("W", unbroken), "description": strings.Repeat("m", 2000), "currency": "KWD",
		"startPrice": "999999999000.000", "minIncrement": "0.001",
	})
	for _, bid := range []struct {
		bidder *person
		amount string
	}{{f.ann, "999999999990.000"}, {f.ben, "999999999999.998"}} {
		draft := map[string]any{"bidderId": bid.bidder.id, "amount": bid.amount}
		must[bidReply](f, f.here.do(f.Context(), "POST", components.BidsPath(odd.ID), f.service, draft,
			"Idempotency-Key", uuid.NewString()), http.StatusCreated)
	}
	return odd
}

// formsAreSound looks at what only a posted form leads to.
func (f *fair) formsAreSound() {
	f.Helper()
	b := f.sam.open(f.T, narrow)
	b.goes(f.here.url + "/auctions/new")
	b.fill("#field-title", strings.Repeat("W", unbroken))
	b.leads(".form > .button", http.StatusUnprocessableEntity)
	b.sound("a refused lot")
	b.fill("#field-startPrice", "999999999000")
	b.fill("#field-minIncrement", "0.01")
	b.set("#field-endTime", time.Now().AddDate(0, 1, 0).Format("2006-01-02T15:04"))
	b.leads(".form > .button", http.StatusOK)
	b.sound("the review")
	b.goes(f.here.url + "/me")
	b.fill("#field-name", strings.Repeat("W", 100))
	b.leads(".form--line .button", http.StatusCreated)
	b.sound("a new token")
	b.close()

	visitor := f.cy.open(f.T, narrow)
	visitor.goes(f.here.url + "/signup")
	visitor.leads(".account-form .button", http.StatusUnprocessableEntity)
	visitor.sound("a refused sign-up")
	visitor.close()
}

// sound fails the test for each fault of the page, on a phone and on a desktop, and where it does
// not fit.
func (b *tab) sound(what string) {
	b.Helper()
	for _, width := range []int64{narrow, wide} {
		b.do(chromedp.EmulateViewport(width, high))
		if found := run[string](b, faults); found != "" {
			b.Errorf("%s, %d wide:\n%s", what, width, found)
		}
	}
	b.fits(what)
}

// Who uses only the keyboard skips the head of the page, and comes to the amount, then to the
// button, and bids.
func (f *fair) keyboard() {
	const pressesMax = 30
	lot := f.lot(nil)
	ann := f.ann.visit(f.T, f.here, lotPath(lot)).live()
	focused := func() string {
		ann.do(chromedp.KeyEvent("\t"))
		return run[string](
			ann,
			`document.activeElement.id || document.activeElement.getAttribute('href') || `+
				`document.activeElement.tagName`,
		)
	}
	if first := focused(); first != "#main" {
		f.Errorf("the first stop is %s", first)
	}
	ann.do(chromedp.KeyEvent("\r"))
	ann.holds(`location.hash === '#main'`)
	var stops []string
	amount, button := fmt.Sprintf("amount-%d", lot.ID), fmt.Sprintf("place-bid-%d", lot.ID)
	for range pressesMax {
		stops = append(stops, focused())
		if stops[len(stops)-1] == button {
			break
		}
	}
	way := strings.Join(stops, " ")
	if !strings.HasSuffix(way, amount+" "+button) || strings.Contains(way, "/signout") || len(stops) > 5 {
		f.Fatalf("the way to the bid button: %s", way)
	}
	ann.do(chromedp.KeyEvent("\r"))
	ann.reads(".standing", "You are the highest bidder.")
	if at := run[string](ann, `document.activeElement.id`); at != button {
		f.Errorf("after the answer the focus is on %q", at)
	}
}

// The tests would notice a page that breaks its content policy: this one is made to.
func (f *fair) violationsAreNoticed() {
	b := f.ann.visit(f.T, f.here, "/")
	b.forgives("olicy")
	run[bool](b, `(() => {
		const script = document.createElement('script'); script.textContent = 'window.hacked = 1';
		  document.body.append(script);
		document.body.setAttribute('style', 'color: red');
		return true;
	})()`)
	for _, told := range []string{
		"security error: Executing inline script", "security error: Applying inline style",
		"content policy: script-src", "content policy: style-src",
	} {
		eventually(f, seenWithin, "it is heard of: "+told, func() bool {
			b.mu.Lock()
			defer b.mu.Unlock()
			return strings.Contains(strings.Join(b.complaints, "\n"), told)
		})
	}
	if run[bool](b, `'hacked' in window`) {
		f.Error("an injected script ran")
	}
}

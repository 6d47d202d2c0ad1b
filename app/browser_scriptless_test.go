package main_test

import (
	"fmt"
	"net/http"
	"time"

	"github.com/chromedp/chromedp"

	"martelo/templates/components"
)

// With scripts off everything but the liveness works, and the page says honestly that its figures
// do not move.
func (f *fair) withoutScript() {
	lot := f.lot(map[string]any{"title": "Lot without script"})
	dee := &person{scriptless: true}
	profile, leave := chromedp.NewContext(f.process, chromedp.WithNewBrowserContext())
	f.Cleanup(leave)
	begin(f.T, profile)
	dee.profile = profile

	// Browse, from the front door to the lot, and through the doors back to it.
	b := dee.visit(f.T, f.here, "/")
	b.reads("noscript .notice", "Figures on this page do not move by themselves")
	b.fill("#search-words", "without script")
	b.leads(".search .button", http.StatusOK)
	b.leads(".lot__title a", http.StatusOK)
	b.reads(".sale__bidding noscript .notice", "Reload the page to see the latest.")
	if b.has("[data-live-state]") {
		f.Error("a page without script says twice that it is not live")
	}
	b.leads(".bid-panel__aside .button", http.StatusOK)
	b.leads(".account-form__other a", http.StatusOK)
	b.fill("#field-name", "Dee")
	b.fill("#field-email", "dee@house.example")
	b.fill("#field-password", password)
	b.leads(".account-form .button", http.StatusOK)
	b.reads(".main > .notice", "Welcome to the house, Dee.")
	b.reads("h1", "Lot without script")

	f.bidsWithoutScript(b, lot)
	f.sendsTwice(b, lot)
	b.leads(".masthead__person button", http.StatusOK)
	b.goes(f.here.url + "/signin")
	b.fill("#field-email", "dee@house.example")
	b.fill("#field-password", "not the password")
	b.leads(".account-form .button", http.StatusUnauthorized)
	b.reads(".problems", "The e-mail or password is wrong.")
	b.fill("#field-password", password)
	b.leads(".account-form .button", http.StatusOK)
	f.sellsWithoutScript(b)
}

// bidsWithoutScript bids by a quick step and by hand, too low and enough.
func (f *fair) bidsWithoutScript(b *tab, lot auctionReply) {
	f.Helper()
	field, button := fmt.Sprintf("#amount-%d", lot.ID), fmt.Sprintf("#place-bid-%d", lot.ID)
	b.leads(quickStep(lot, 1), http.StatusOK)
	b.reads(".main > .notice", "Your bid of $1,020.00 was accepted: you are the highest bidder.")
	b.reads(".standing", "You are the highest bidder.")
	b.reads(".history__own td:nth-child(2)", "You")
	b.reads(".panel__lines time", "UTC") // no script, so nobody knows the reader's zone

	// The page cannot know that somebody else has bid meanwhile.
	f.outbids(lot, f.ben, 1200)
	b.fill(field, "1030")
	b.leads(button, http.StatusConflict)
	b.reads(".bid-panel .notice--bad", "$1,030.00 is too low. Bid at least $1,210.00.")
	b.reads(".standing", "You have been outbid.")
	if typed := b.value(field); typed != "1030" {
		f.Errorf("what was typed is now %q", typed)
	}
	b.fill(field, "1210")
	b.leads(button, http.StatusOK)
	b.reads(".main > .notice", "Your bid of $1,210.00 was accepted: you are the highest bidder.")
}

// sendsTwice sends one form twice, as an impatient browser does: it counts once, and the second
// answer says so.
func (f *fair) sendsTwice(b *tab, lot auctionReply) {
	f.Helper()
	before := f.here.auction(lot.ID).BidCount
	f.outbids(lot, f.ben, 1900)
	before++
	b.goes(f.here.url + lotPath(lot))
	b.fill(amountField(lot), "2000")
	run[bool](b, `(() => {
		const form = document.querySelector('.bid-form');
		fetch(form.action, {method: 'POST', body: new URLSearchParams(new FormData(form)), headers: {Accept:
		  'text/html'}, redirect: 'manual'});
		return true;
	})()`)
	eventually(
		f, seenWithin, "the first copy has arrived", func() bool { return f.here.auction(lot.ID).BidCount == before+1 },
	)
	b.leads(fmt.Sprintf("#place-bid-%d", lot.ID), http.StatusOK)
	b.reads(
		".main > .notice",
		"Your bid of $2,000.00 was accepted: you are the highest bidder. (It had arrived already and was counted "+
			"once.)",
	)
	if after := f.here.auction(lot.ID).BidCount; after != before+1 {
		f.Errorf("%d bids came of one form", after-before)
	}
}

// sellsWithoutScript starts to sell, puts a lot up through the review, and withdraws it.
func (f *fair) sellsWithoutScript(b *tab) {
	f.Helper()
	b.goes(f.here.url + "/me")
	b.leads(".account__sell button", http.StatusOK)
	b.reads(".main > .notice", "You can sell now.")
	b.fill("#field-title", "Tin box")
	b.fill("#field-startPrice", "10.00")
	b.fill("#field-minIncrement", "1.00")
	b.set("#field-zone", "Asia/Tokyo")
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		f.Fatal(err)
	}
	end := time.Now().In(tokyo).AddDate(0, 0, 3)
	b.set("#field-endTime", end.Format("2006-01-02T15:04"))
	b.leads(".form > .button", http.StatusOK)
	b.reads(".review", end.Format("Monday, 2 January 2006, 15:04")+":00 in Asia/Tokyo (UTC+09:00)")
	b.leads(".review__steps .button", http.StatusOK)
	b.reads(".main > .notice", "is published.")
	b.reads(".bid-panel", "This is your own lot")
	b.click(".withdraw summary")
	b.shows(".withdraw .button--grave")
	b.leads(".withdraw .button--grave", http.StatusOK)
	b.reads(".main > .notice", "was withdrawn.")
	b.reads(".panel__who", "Withdrawn from sale")
	var id int64
	if _, err := fmt.Sscanf(run[string](b, `location.pathname`), components.PathAuctions+"/%d", &id); err != nil {
		f.Fatal(err)
	}
	if withdrawn := f.here.auction(id); withdrawn.Status != "CANCELLED" {
		f.Errorf("%+v", withdrawn)
	}
}

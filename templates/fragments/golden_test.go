package fragments_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/google/uuid"

	"martelo/app/auction"
	"martelo/app/money"
	"martelo/app/refusal"
	"martelo/templates/components"
	"martelo/templates/fragments"
	"martelo/templates/words"
)

var update = flag.Bool("update", false, "write the golden files anew")

const hostileText = `<script>alert(1)</script>"'&`

var (
	english = words.In("de-DE")

	now = time.Date(2026, time.November, 30, 19, 3, 22, 0, time.UTC)
	kwd = money.MustCurrency("KWD")
	key = uuid.MustParse("7d4c1c1e-8f0f-4d56-9c0b-2f2f5a3c9a10")
)

// lot is an auction in a currency with three decimals that has had three bids; change makes it the one a case needs.
func lot(change func(*auction.State)) fragments.LotView {
	s := auction.State{
		ID: 42, SellerID: 7, Currency: kwd,
		StartPrice: money.FromMinor(100_000, kwd), MinIncrement: money.FromMinor(2_500, kwd), CurrentPrice: money.FromMinor(110_500, kwd),
		LeaderID: 9, LeaderPaddle: 3, BidCount: 3, BidderCount: 3, Status: auction.Open, SoftClose: auction.DefaultSoftClose,
		StartAt: now.Add(-time.Hour), EndAt: now.Add(90 * time.Second), OriginalEndAt: now.Add(90 * time.Second), Version: 9_007_199_254_740_993,
	}
	if change != nil {
		change(&s)
	}
	return fragments.LotView{State: s, Locale: "de-DE", Now: now}
}

func unbid(s *auction.State) {
	s.CurrentPrice, s.LeaderID, s.LeaderPaddle, s.BidCount, s.BidderCount = s.StartPrice, 0, 0, 0, 0
}

func close(s *auction.State) {
	s.Status, s.EndAt, s.ClosedAt = auction.Closed, now.Add(-time.Second), now
}

func history(view fragments.LotView) fragments.BidHistoryView {
	h := fragments.BidHistoryView{Lot: view}
	for seq := view.BidCount; seq > 0; seq-- {
		h.Bids = append(h.Bids, auction.Bid{
			AuctionID: 42, Seq: seq, BidderID: 6 + seq, Paddle: int(seq), Key: key,
			Amount: money.FromMinor(100_000+3_500*seq, kwd), AcceptedAt: now.Add(time.Duration(seq-4) * time.Minute),
		})
	}
	return h
}

func livePanel(view fragments.LotView) templ.Component {
	return fragments.LivePanel(fragments.LivePanelView{Lot: view, History: history(view)})
}

func everyFragment() map[string]templ.Component {
	open, extended := lot(nil), lot(func(s *auction.State) { s.OriginalEndAt = now.Add(-30 * time.Second) })
	scheduled := lot(func(s *auction.State) { unbid(s); s.Status, s.StartAt = auction.Scheduled, now.Add(time.Minute) })
	sold := lot(close)
	unsold := lot(func(s *auction.State) { unbid(s); close(s) })
	cancelled := lot(func(s *auction.State) { close(s); s.Status = auction.Cancelled })
	due := lot(func(s *auction.State) { s.EndAt = now })
	return map[string]templ.Component{
		"live_panel_open": livePanel(open), "live_panel_extended": livePanel(extended), "live_panel_scheduled": livePanel(scheduled),
		"live_panel_sold": livePanel(sold), "live_panel_unsold": livePanel(unsold), "live_panel_cancelled": livePanel(cancelled),
		"live_card_open": fragments.LiveCard(open), "live_card_due": fragments.LiveCard(due), "live_card_sold": fragments.LiveCard(sold),
		"live_card_unsold": fragments.LiveCard(unsold), "live_card_scheduled": fragments.LiveCard(scheduled), "live_card_cancelled": fragments.LiveCard(cancelled),
		"bid_form": fragments.BidForm(fragments.BidFormView{Lot: open, Bidding: fragments.BiddingAllowed, Key: key.String()}),
		"bid_form_refused": fragments.BidForm(fragments.BidFormView{
			Lot: open, Bidding: fragments.BiddingAllowed, Key: key.String(), BidHere: true, Amount: hostileText, Wrong: true,
			Message: fragments.RefusedMessage(hostileText),
		}),
		"bid_form_signed_out": fragments.BidForm(fragments.BidFormView{
			Lot: open, SignInURL: "/signin?next=%2Fauctions%2F42", Message: &components.Notice{
				Kind: components.NoticeBad, Text: english.Problem("signed_out", nil).Bid,
				LinkURL: "/signin?next=%2Fauctions%2F42", LinkText: english.Say(words.LinkSignIn, nil),
			},
		}),
		"bid_form_too_late": fragments.BidForm(fragments.BidFormView{
			Lot: sold, Bidding: fragments.BiddingAllowed,
			Message: fragments.RefusedMessage(
				english.Problem("closed", refusal.Figures{"endTime": sold.EndAt, "serverTime": now}).Bid),
		}),
	}
}

func render(t *testing.T, component templ.Component) string {
	t.Helper()
	var html strings.Builder
	if err := component.Render(t.Context(), &html); err != nil {
		t.Fatal(err)
	}
	return html.String()
}

func TestFragmentsMatchTheirGoldenFiles(t *testing.T) {
	t.Parallel()
	for name, fragment := range everyFragment() {
		got := strings.ReplaceAll(render(t, fragment), "><", ">\n<") + "\n"
		file := filepath.Join("testdata", name+".html")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s is not as in %s; look at what changed after: go test ./templates/fragments -update", name, file)
		}
	}
}

// A shared frame goes to everybody: it must not hold a key with which a bid could be claimed, nor say "you".
func TestLiveFramesHoldNothingPersonal(t *testing.T) {
	t.Parallel()
	for name, fragment := range everyFragment() {
		if !strings.HasPrefix(name, "live_") {
			continue
		}
		html := render(t, fragment)
		if strings.Contains(html, key.String()) || strings.Contains(html, ">You<") || strings.Contains(html, "history__own") {
			t.Errorf("%s holds something personal", name)
		}
	}
}

var element = regexp.MustCompile(`<[a-z]+ id="([^"]+)"[^>]*>`)

// Every element at the top of a frame names its place, is swapped out of band, and carries the version that orders it;
// nothing else in a frame is swapped.
func TestLiveFramesAreVersionedOutOfBandSwaps(t *testing.T) {
	t.Parallel()
	want := map[string][]string{
		"live_panel": {"price-panel-42", "lot-bar-42", "quick-steps-42", "bid-history-42"},
		"live_card":  {"lot-price-42"},
	}
	for name, fragment := range everyFragment() {
		for prefix, places := range want {
			if !strings.HasPrefix(name, prefix) {
				continue
			}
			var got []string
			for _, found := range element.FindAllStringSubmatch(render(t, fragment), -1) {
				swapped := strings.Contains(found[0], `hx-swap-oob="true"`)
				if swapped != strings.Contains(found[0], `data-version="9007199254740993"`) {
					t.Errorf("%s: swapped without a version, or the other way round: %s", name, found[0])
				}
				if swapped {
					got = append(got, found[1])
				}
			}
			if strings.Join(got, " ") != strings.Join(places, " ") {
				t.Errorf("%s swaps %v, want %v", name, got, places)
			}
		}
	}
}

func TestBidFormEscapesWhatWasTyped(t *testing.T) {
	t.Parallel()
	html := render(t, everyFragment()["bid_form_refused"])
	if strings.Contains(html, "<script") || strings.Count(html, "&lt;script&gt;alert(1)&lt;/script&gt;") != 2 {
		t.Errorf("typed text is not escaped twice over:\n%s", html)
	}
}

// Exact decimal strings, whatever the locale writes: scripts copy them, and forms post them.
func TestAmountsForMachinesAreExact(t *testing.T) {
	t.Parallel()
	html := render(t, everyFragment()["live_panel_open"])
	for _, want := range []string{`data-price="110.500"`, `data-minimum="113.000"`, `value="115.500"`, `value="125.500"`} {
		if !strings.Contains(html, want) {
			t.Errorf("no %s in:\n%s", want, html)
		}
	}
}

func TestStandingFollowsTheLead(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name    string
		view    fragments.LotView
		viewer  int64
		bidHere bool
		state   string
	}{
		{"visitor", lot(nil), 0, false, ""},
		{"looker", lot(nil), 5, false, "none"},
		{"leader", lot(nil), 9, true, "leading"},
		{"outbid", lot(nil), 8, true, "outbid"},
		{"winner", lot(close), 9, true, "won"},
		{"loser", lot(close), 8, true, "lost"},
		{"void", lot(func(s *auction.State) { s.Status = auction.Cancelled }), 9, true, "off"},
	}
	for _, c := range cases {
		html := render(t, fragments.Standing(c.view, c.viewer, c.bidHere))
		if !strings.Contains(html, `data-standing="`+c.state+`"`) {
			t.Errorf("%s: want standing %q in %s", c.name, c.state, html)
		}
	}
}

func TestAcceptedMessageSaysWhatCameOfIt(t *testing.T) {
	t.Parallel()
	mine := auction.Bid{BidderID: 9, Seq: 3, Amount: money.FromMinor(110_500, kwd)}
	theirs := auction.Bid{BidderID: 8, Seq: 2, Amount: money.FromMinor(107_000, kwd)}
	cases := []struct {
		name string
		got  *components.Notice
		kind components.NoticeKind
		want string
	}{
		{"leads", fragments.AcceptedMessage(lot(nil), mine, false), components.NoticeGood, "accepted: you are the highest bidder."},
		{"beaten", fragments.AcceptedMessage(lot(nil), theirs, false), components.NoticeInfo, "outbid since. Bid at least 113,000"},
		{"won", fragments.AcceptedMessage(lot(close), mine, false), components.NoticeGood, "you won the lot."},
		{"lost", fragments.AcceptedMessage(lot(close), theirs, false), components.NoticeInfo, "was accepted."},
		{"again", fragments.AcceptedMessage(lot(nil), mine, true), components.NoticeGood, "counted once"},
	}
	for _, c := range cases {
		if c.got.Kind != c.kind || !strings.Contains(c.got.Text, c.want) {
			t.Errorf("%s: %s notice %q, want %s with %q", c.name, c.got.Kind, c.got.Text, c.kind, c.want)
		}
	}
}

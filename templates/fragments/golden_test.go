package fragments_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/a-h/templ"

	"martelo/app/auction"
	"martelo/app/money"
	"martelo/templates/components"
	"martelo/templates/fragments"
	"martelo/templates/gallery"
)

var update = flag.Bool("update", false, "write the golden files anew")

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
	for name, fragment := range gallery.Fragments(42) {
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
			t.Errorf(
				"%s is not as in %s; look at what changed after: go test ./templates/fragments -update", name, file,
			)
		}
	}
}

// A shared frame goes to everybody: it must not hold a key with which a bid could be claimed, nor
// say "you".
func TestLiveFramesHoldNothingPersonal(t *testing.T) {
	t.Parallel()
	for name, fragment := range gallery.Fragments(42) {
		if !strings.HasPrefix(name, "live_") {
			continue
		}
		html := render(t, fragment)
		if strings.Contains(html, gallery.Key) || strings.Contains(html, ">You<") ||
			strings.Contains(html, "history__own") {
			t.Errorf("%s holds something personal", name)
		}
	}
}

var element = regexp.MustCompile(`<[a-z]+ id="([^"]+)"[^>]*>`)

// Every element at the top of a frame names its place, is swapped out of band, and carries the
// version that orders it; nothing else in a frame is swapped.
func TestLiveFramesAreVersionedOutOfBandSwaps(t *testing.T) {
	t.Parallel()
	want := map[string][]string{
		"live_panel": {"price-panel-42", "lot-bar-42", "quick-steps-42", "bid-history-42"},
		"live_card":  {"lot-price-42"},
	}
	for name, fragment := range gallery.Fragments(42) {
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
	html := render(t, gallery.Fragments(42)["bid_form_refused"])
	if strings.Contains(html, "<script") || strings.Count(html, "&lt;script&gt;alert(1)&lt;/script&gt;") != 2 {
		t.Errorf("typed text is not escaped twice over:\n%s", html)
	}
}

// Exact decimal strings, whatever the locale writes: scripts copy them, and forms post them.
func TestAmountsForMachinesAreExact(t *testing.T) {
	t.Parallel()
	html := render(t, gallery.Fragments(42)["live_panel_open"])
	for _, want := range []string{
		`data-price="110.500"`, `data-minimum="113.000"`, `value="115.500"`, `value="125.500"`,
	} {
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
		{"visitor", gallery.SampleLot(nil), 0, false, ""},
		{"looker", gallery.SampleLot(nil), 5, false, "none"},
		{"leader", gallery.SampleLot(nil), 9, true, "leading"},
		{"outbid", gallery.SampleLot(nil), 8, true, "outbid"},
		{"winner", gallery.SampleLot(gallery.Close), 9, true, "won"},
		{"loser", gallery.SampleLot(gallery.Close), 8, true, "lost"},
		{"void", gallery.SampleLot(func(s *auction.State) { s.Status = auction.Cancelled }), 9, true, "off"},
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
	mine := auction.Bid{BidderID: 9, Seq: 3, Amount: money.FromMinor(110_500, gallery.Kwd)}
	theirs := auction.Bid{BidderID: 8, Seq: 2, Amount: money.FromMinor(107_000, gallery.Kwd)}
	cases := []struct {
		name string
		got  *components.Notice
		kind components.NoticeKind
		want string
	}{
		{
			"leads", fragments.AcceptedMessage(gallery.SampleLot(nil), mine, false), components.NoticeGood,
			"accepted: you are the highest bidder.",
		},
		{
			"beaten", fragments.AcceptedMessage(gallery.SampleLot(nil), theirs, false), components.NoticeInfo,
			"outbid since. Bid at least 113,000",
		},
		{
			"won", fragments.AcceptedMessage(gallery.SampleLot(gallery.Close), mine, false), components.NoticeGood,
			"you won the lot.",
		},
		{
			"lost", fragments.AcceptedMessage(gallery.SampleLot(gallery.Close), theirs, false), components.NoticeInfo,
			"was accepted.",
		},
		{"again", fragments.AcceptedMessage(gallery.SampleLot(nil), mine, true), components.NoticeGood, "counted once"},
	}
	for _, c := range cases {
		if c.got.Kind != c.kind || !strings.Contains(c.got.Text, c.want) {
			t.Errorf("%s: %s notice %q, want %s with %q", c.name, c.got.Kind, c.got.Text, c.kind, c.want)
		}
	}
}

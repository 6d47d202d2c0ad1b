package pages_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/a-h/templ"

	"martelo/templates/components"
	"martelo/templates/fragments"
	"martelo/templates/gallery"
	"martelo/templates/pages"
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

var hashes = regexp.MustCompile(`\.[0-9a-f]{10}\.(css|js|svg|woff2)`)

func TestPagesMatchTheirGoldenFiles(t *testing.T) {
	t.Parallel()
	for name, page := range gallery.Pages() {
		// One element to a line, so that differences can be read; hashes of static files change
		// with every sheet.
		got := strings.ReplaceAll(hashes.ReplaceAllString(render(t, page), ".HASH.$1"), "><", ">\n<") + "\n"
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
			t.Errorf("%s is not as in %s; look at what changed after: go test ./templates/pages -update", name, file)
		}
	}
}

var (
	tags          = regexp.MustCompile(`<[a-zA-Z][^>]*>`)
	inlineScript  = regexp.MustCompile(`(?i)<script(?:\s[^>]*)?>`)
	inlineStyle   = regexp.MustCompile(`(?i)\sstyle\s*=|<style`)
	inlineHandler = regexp.MustCompile(`(?i)\s(on[a-z]+|hx-on[^=]*|hx-vals|hx-vars)\s*=`)
)

// A strict content security policy allows neither styles nor scripts inside a page.
func TestPagesHoldNothingInline(t *testing.T) {
	t.Parallel()
	for name, page := range gallery.Pages() {
		for _, tag := range tags.FindAllString(render(t, page), -1) {
			switch {
			case inlineScript.MatchString(tag) && !strings.Contains(tag, ` src="/static/`):
				t.Errorf("%s: a script of its own: %s", name, tag)
			case inlineStyle.MatchString(tag):
				t.Errorf("%s: a style of its own: %s", name, tag)
			case inlineHandler.MatchString(tag):
				t.Errorf("%s: a handler of its own: %s", name, tag)
			}
		}
	}
}

// What people typed arrives escaped wherever it is shown.
func TestPagesEscapeWhatPeopleTyped(t *testing.T) {
	t.Parallel()
	escaped := "&lt;script&gt;alert(1)&lt;/script&gt;"
	shown := 0
	for name, page := range gallery.Pages() {
		html := render(t, page)
		if strings.Contains(html, "<script>alert") || strings.Contains(html, `</script>"'&`) {
			t.Errorf("%s lets a title run as script", name)
		}
		if strings.Contains(html, escaped) {
			shown++
		}
	}
	if shown < 8 {
		t.Errorf("only %d pages show what was typed; the samples should have more", shown)
	}
}

var (
	ids        = regexp.MustCompile(`\sid="([^"]*)"`)
	references = regexp.MustCompile(`\s(?:for|form|aria-describedby|aria-labelledby)="([^"]*)"`)
	headings   = regexp.MustCompile(`<h([1-6])`)
)

// Labels, explanations and forms are found by id, which only works while every id is there, and
// once.
func TestPagesReferToWhatIsThere(t *testing.T) {
	t.Parallel()
	for name, page := range gallery.Pages() {
		html := render(t, page)
		seen := map[string]bool{}
		for _, id := range ids.FindAllStringSubmatch(html, -1) {
			if seen[id[1]] {
				t.Errorf("%s: id %q twice", name, id[1])
			}
			seen[id[1]] = true
		}
		for _, reference := range references.FindAllStringSubmatch(html, -1) {
			for id := range strings.FieldsSeq(reference[1]) {
				if !seen[id] {
					t.Errorf("%s: nothing has the id %q", name, id)
				}
			}
		}
		for _, link := range regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(html, -1) {
			if !seen[link[1]] {
				t.Errorf("%s: a link leads to #%s, which is not there", name, link[1])
			}
		}
	}
}

func TestPagesHaveOneFirstHeadingAndSkipNone(t *testing.T) {
	t.Parallel()
	for name, page := range gallery.Pages() {
		depth, first := 0, 0
		for _, heading := range headings.FindAllStringSubmatch(render(t, page), -1) {
			level := int(heading[1][0] - '0')
			if level == 1 {
				first++
			}
			if level > depth+1 {
				t.Errorf("%s: h%d after h%d", name, level, depth)
			}
			depth = level
		}
		if first != 1 {
			t.Errorf("%s has %d h1", name, first)
		}
	}
}

// Other people see paddle numbers: the names and e-mail addresses of bidders never reach a page
// about a lot.
func TestPagesNameNoBidder(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Sorted(maps.Keys(gallery.Pages())) {
		html := render(t, gallery.Pages()[name])
		if strings.HasPrefix(name, "auction") || strings.HasPrefix(name, "list") || name == "bids" {
			if _, main, _ := strings.Cut(html, "<main"); strings.Contains(main, "Ana Duarte") ||
				strings.Contains(main, "@") {
				t.Errorf("%s names a person", name)
			}
		}
	}
}

func TestSignInLeadsBack(t *testing.T) {
	t.Parallel()
	visitor := gallery.SampleAuction(gallery.SampleState(42), nil, fragments.BiddingSignIn)
	html := render(t, pages.Auction(visitor))
	if want := `href="` + components.PathSignIn + `?next=%2Fauctions%2F42"`; strings.Count(html, want) != 2 {
		t.Errorf("the page of a lot has not two links %s", want)
	}
}

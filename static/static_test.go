package static

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func get(t *testing.T, method, target string) *httptest.ResponseRecorder {
	t.Helper()
	recorder := httptest.NewRecorder()
	Handler().ServeHTTP(recorder, httptest.NewRequest(method, target, nil))
	return recorder
}

func TestHandlerServesEveryFileUnderItsHashedName(t *testing.T) {
	t.Parallel()
	types := map[string]string{
		"app.css": "text/css; charset=utf-8", "app.js": "text/javascript; charset=utf-8",
		"favicon.svg": "image/svg+xml",
		"htmx.min.js": "text/javascript; charset=utf-8", "htmx-ext-sse.min.js": "text/javascript; charset=utf-8",
		"martelo-sans-latin.woff2": "font/woff2", "martelo-sans-latin-ext.woff2": "font/woff2",
		"martelo-sans-vietnamese.woff2": "font/woff2", "martelo-serif-latin.woff2": "font/woff2",
		"martelo-serif-latin-ext.woff2": "font/woff2", "martelo-serif-vietnamese.woff2": "font/woff2",
	}
	for name, contentType := range types {
		answer := get(t, http.MethodGet, Path(name))
		if answer.Code != http.StatusOK || answer.Body.Len() == 0 {
			t.Errorf("%s: status %d with %d bytes", name, answer.Code, answer.Body.Len())
		}
		if got := answer.Header().Get("Content-Type"); got != contentType {
			t.Errorf("%s: Content-Type %q, want %q", name, got, contentType)
		}
		if got := answer.Header().Get("Cache-Control"); !strings.Contains(got, "immutable") {
			t.Errorf("%s: Cache-Control %q is not immutable", name, got)
		}
		head := get(t, http.MethodHead, Path(name))
		if head.Body.Len() != 0 || head.Header().Get("Content-Length") != strconv.Itoa(answer.Body.Len()) {
			t.Errorf(
				"%s: HEAD gives %d bytes and length %s", name, head.Body.Len(), head.Header().Get("Content-Length"),
			)
		}
	}
}

// Who takes gzip gets the same file in a fraction of its size; caches keep both apart.
func TestHandlerCompressesForWhoTakesIt(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"app.css", "app.js", "favicon.svg", "htmx.min.js", "htmx-ext-sse.min.js"} {
		plain := get(t, http.MethodGet, Path(name))
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			request := httptest.NewRequest(method, Path(name), nil)
			request.Header.Set("Accept-Encoding", "br, gzip")
			packed := httptest.NewRecorder()
			Handler().ServeHTTP(packed, request)
			length, err := strconv.Atoi(packed.Header().Get("Content-Length"))
			if err != nil || packed.Header().Get("Content-Encoding") != "gzip" || length*4 > plain.Body.Len()*3 {
				t.Errorf("%s %s: %v, of %d bytes", method, name, packed.Header(), plain.Body.Len())
			}
			if method == http.MethodHead {
				continue
			}
			reader, err := gzip.NewReader(packed.Body)
			if err != nil {
				t.Fatal(err)
			}
			if whole, err := io.ReadAll(reader); err != nil || !bytes.Equal(whole, plain.Body.Bytes()) {
				t.Errorf("%s: what is unpacked is another file (%v)", name, err)
			}
			for _, answer := range []*httptest.ResponseRecorder{plain, packed} {
				if answer.Header().Get("Vary") != "Accept-Encoding" {
					t.Errorf("%s: Vary %q", name, answer.Header().Get("Vary"))
				}
			}
		}
	}
}

func TestAcceptsGzip(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]bool{
		"": false, "gzip": true, "GZip": true, "br": false, "identity": false, "br, gzip;q=0.5": true,
		"gzip;q=0": false, "gzip; q=0.000": false,
		"*": true, "*;q=0": false, "*;q=0, gzip": true, "*, gzip;q=0": false, "gzip;q=x": false, "xgzip": false,
		",,": false,
	} {
		if got := AcceptsGzip(http.Header{"Accept-Encoding": {accept}}); got != want {
			t.Errorf("%q: %v", accept, got)
		}
	}
	if AcceptsGzip(http.Header{}) || !AcceptsGzip(http.Header{"Accept-Encoding": {"br", "gzip"}}) {
		t.Error("no line, or two")
	}
}

func TestHandlerRefusesWhatPathNeverGave(t *testing.T) {
	t.Parallel()
	for _, target := range []string{
		"/static/", "/static/app.css", "/static/app.0000000000.css", "/static/../static.go", "/static/css/base.css",
	} {
		answer := get(t, http.MethodGet, target)
		if answer.Code != http.StatusNotFound || answer.Header().Get("Cache-Control") != "" {
			t.Errorf("%s: status %d, Cache-Control %q", target, answer.Code, answer.Header().Get("Cache-Control"))
		}
	}
	if answer := get(t, http.MethodPost, Path("app.css")); answer.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: status %d", answer.Code)
	}
}

func TestEverySheetIsJoinedAndLayered(t *testing.T) {
	t.Parallel()
	entries, err := fs.ReadDir(sources, "css")
	if err != nil {
		t.Fatal(err)
	}
	joined := map[string]bool{}
	for _, sheet := range sheets {
		joined[sheet] = true
	}
	for _, entry := range entries {
		name := strings.TrimSuffix(entry.Name(), ".css")
		if !joined[name] {
			t.Errorf("css/%s is not part of app.css", entry.Name())
		}
		if !strings.Contains(string(read("css/"+entry.Name())), "@layer ") {
			t.Errorf("css/%s puts its rules into no layer", entry.Name())
		}
	}
	css := joinSheets()
	if strings.Count(string(css), "{") != strings.Count(string(css), "}") {
		t.Error("app.css has unbalanced braces")
	}
	if regexp.MustCompile(`@import|url\([^"]`).Match(css) {
		t.Error("app.css loads something else")
	}
}

// The stylesheet names every typeface file, as it is served, and loads nothing else.
func TestTheStylesheetLoadsTheTypefaces(t *testing.T) {
	t.Parallel()
	loaded := map[string]int{}
	for _, link := range linkInSheet.FindAllSubmatch(get(t, http.MethodGet, Path("app.css")).Body.Bytes(), -1) {
		loaded[Prefix+string(link[1])]++
	}
	cut, err := fs.Glob(sources, "fonts/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range cut {
		if name := Path(path.Base(file)); loaded[name] != 1 {
			t.Errorf("app.css loads %s %d times", name, loaded[name])
		}
	}
	if len(cut) == 0 || len(loaded) != len(cut) {
		t.Errorf("app.css loads %v, and there are %v", loaded, cut)
	}
}

// A character stands in one file of a typeface, so that no two files are fetched for it, and
// cut.mjs made the files for the ranges that the stylesheet names.
func TestRangesOfTypefacesAreThoseOfTheirFiles(t *testing.T) {
	t.Parallel()
	recipe, err := os.ReadFile("fonts/cut.mjs")
	if err != nil {
		t.Fatal(err)
	}
	_, recipe, _ = bytes.Cut(recipe, []byte("const ranges = {"))
	recipe, _, _ = bytes.Cut(recipe, []byte("\n}"))
	made := map[string][]string{} // part to its ranges
	for _, part := range regexp.MustCompile(`(?s)'?([a-z-]+)'?:((?:\s*\+?\s*'[^']*')+),`).FindAllSubmatch(recipe, -1) {
		made[string(part[1])] = ranges(part[2])
	}
	owners := map[string]map[int64]string{} // typeface to character to file
	face := regexp.MustCompile(`(?s)url\("(martelo-(sans|serif)-([a-z-]+)\.woff2)"\).*?unicode-range:([^;]*);`)
	for _, found := range face.FindAllSubmatch(read("css/typefaces.css"), -1) {
		file, typeface, named := string(found[1]), string(found[2]), ranges(found[4])
		if want := made[string(found[3])]; !slices.Equal(named, want) || len(want) == 0 {
			t.Errorf("%s is named for %v and was made for %v", file, named, want)
		}
		if owners[typeface] == nil {
			owners[typeface] = map[int64]string{}
		}
		for _, span := range named {
			first, last, _ := strings.Cut(strings.TrimPrefix(span, "U+"), "-")
			for r := codePoint(t, first); r <= codePoint(t, cmp.Or(last, first)); r++ {
				if other := owners[typeface][r]; other != "" {
					t.Errorf("U+%04X is in %s and in %s", r, other, file)
				}
				owners[typeface][r] = file
			}
		}
	}
	if len(owners["sans"]) == 0 || len(owners["sans"]) != len(owners["serif"]) {
		t.Errorf("%d characters in Martelo Sans and %d in Martelo Serif", len(owners["sans"]), len(owners["serif"]))
	}
}

func ranges(text []byte) []string {
	var spans []string
	for _, span := range regexp.MustCompile(`U\+[0-9A-F-]+`).FindAll(text, -1) {
		spans = append(spans, string(span))
	}
	return spans
}

func codePoint(t *testing.T, hex string) int64 {
	t.Helper()
	r, err := strconv.ParseInt(hex, 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Files that others made are those named in CHECKSUMS, and there are no others.
func TestFilesOfOthersMatchTheirChecksums(t *testing.T) {
	t.Parallel()
	for folder, musts := range map[string][]string{
		"vendor": {"htmx.org 2.0.11", "htmx-ext-sse 2.2.4", "integrity sha512-", "licence 0BSD"},
		"fonts":  {"source-sans-3 5.3.1", "source-serif-4 5.3.1", "integrity sha512-", "licence OFL-1.1"},
	} {
		t.Run(folder, func(t *testing.T) { matchChecksums(t, folder, musts) })
	}
}

func matchChecksums(t *testing.T, folder string, musts []string) {
	listing, err := os.ReadFile(folder + "/CHECKSUMS")
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(listing)) {
		if sum, name, ok := strings.Cut(strings.TrimSpace(line), "  "); ok && !strings.HasPrefix(line, "#") {
			sums[name] = sum
		}
	}
	copies, err := fs.Glob(sources, folder+"/*")
	if err != nil || len(copies) != len(sums) {
		t.Fatalf("%d files, %d checksums, error %v", len(copies), len(sums), err)
	}
	for _, file := range copies {
		sum := sha256.Sum256(read(file))
		if got := hex.EncodeToString(sum[:]); got != sums[path.Base(file)] {
			t.Errorf("%s has SHA-256 %s, CHECKSUMS says %q", file, got, sums[path.Base(file)])
		}
	}
	for _, must := range musts {
		if !bytes.Contains(listing, []byte(must)) {
			t.Errorf("CHECKSUMS does not say %q", must)
		}
	}
}

// A strict content security policy lets none of these run, and none is needed.
func TestScriptNeedsNoUnsafePolicy(t *testing.T) {
	t.Parallel()
	forbidden := regexp.MustCompile(
		`\beval\(|new Function|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\.style\b|parseFloat|https?://`,
	)
	for _, script := range scripts {
		for n, line := range strings.Split(string(read("js/"+script+".js")), "\n") {
			if found := forbidden.FindString(line); found != "" {
				t.Errorf("%s.js:%d uses %s", script, n+1, found)
			}
		}
	}
}

func TestEveryScriptIsJoined(t *testing.T) {
	t.Parallel()
	entries, err := fs.ReadDir(sources, "js")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !slices.Contains(scripts, strings.TrimSuffix(entry.Name(), ".js")) {
			t.Errorf("js/%s is not part of app.js", entry.Name())
		}
	}
}

// Text reaches 4.5 to 1 and the edges of controls 3 to 1, on every ground they stand on, in both
// schemes (WCAG 2.2 AA).
func TestColoursKeepTheirContrast(t *testing.T) {
	t.Parallel()
	pairs := []struct {
		ink, ground string
		least       float64
	}{
		{"ink", "paper", 4.5}, {"ink", "sheet", 4.5}, {"ink", "accent-wash", 4.5}, {"ink", "good-wash", 4.5},
		{"ink", "bad-wash", 4.5},
		{"ink-soft", "paper", 4.5}, {"ink-soft", "sheet", 4.5}, {"ink-soft", "good-wash", 4.5},
		{"accent", "paper", 4.5}, {"accent", "sheet", 4.5}, {"accent", "accent-wash", 4.5},
		{"on-accent", "accent-fill", 4.5}, {"on-accent", "accent-fill-strong", 4.5}, {"paper", "bad", 4.5},
		{"good", "paper", 4.5}, {"good", "sheet", 4.5}, {"bad", "paper", 4.5}, {"bad", "sheet", 4.5},
		{"bad", "bad-wash", 4.5},
		{"urgent", "paper", 4.5}, {"urgent", "sheet", 4.5},
		{"rule-field", "paper", 3}, {"rule-field", "sheet", 3},
	}
	tokens := string(read("css/tokens.css"))
	light, dark, ok := strings.Cut(tokens, "prefers-color-scheme: dark")
	if !ok {
		t.Fatal("tokens.css has no dark scheme")
	}
	for scheme, part := range map[string]string{"light": light, "dark": dark} {
		for _, pair := range pairs {
			ratio := contrast(colour(t, part, pair.ink), colour(t, part, pair.ground))
			if ratio < pair.least {
				t.Errorf(
					"%s: --%s on --%s has contrast %.2f, less than %.1f", scheme, pair.ink, pair.ground, ratio,
					pair.least,
				)
			}
		}
	}
}

// colour gives the relative luminance of a token.
func colour(t *testing.T, tokens, name string) float64 {
	t.Helper()
	found := regexp.MustCompile(`--` + name + `: #([0-9a-f]{6});`).FindStringSubmatch(tokens)
	if found == nil {
		t.Fatalf("no colour --%s", name)
	}
	var r, g, b int
	fmt.Sscanf(found[1], "%02x%02x%02x", &r, &g, &b)
	linear := func(part int) float64 {
		c := float64(part) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(r) + 0.7152*linear(g) + 0.0722*linear(b)
}

func contrast(a, b float64) float64 { return (max(a, b) + 0.05) / (min(a, b) + 0.05) }

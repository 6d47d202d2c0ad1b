// Package static holds what a browser loads beside the pages: one stylesheet, one script of our
// own, the icon, the typefaces, and the vendored htmx. Everything is compiled into the program and
// served under names that carry a hash of the content, so a browser may keep a file for ever and a
// new release is seen at once.
package static

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Prefix is the folder, in URLs, that Handler serves.
const Prefix = "/static/"

// hashDigits is how much of the SHA-256 goes into a name, in hex digits. Forty bits tell the few
// files of a few releases apart; nothing is protected by the hash.
const hashDigits = 10

//go:embed css/*.css js/*.js favicon.svg fonts/*.woff2 vendor/*.js
var sources embed.FS

// sheets are the parts of app.css in the order they are joined. The order inside the cascade does
// not come from here but from the @layer line that opens layers.css.
var sheets = []string{
	"layers", "typefaces", "tokens", "base", "frame", "live_state", "button", "field", "notice", "price",
	"standing", "lot", "panel", "lot_bar", "bid_panel", "history", "facts", "sale", "list", "create", "account",
	"help", "error", "utilities", "print",
}

// scripts are the parts of app.js in the order they are joined: a part uses at once only what
// stands before it.
var scripts = []string{
	"page", "words", "clock", "times", "announce", "title", "lots", "bid", "forms", "list_news", "frames", "countdown",
	"connection", "ask", "stream", "begin",
}

// files are the single files: name under Prefix to name in sources.
var files = map[string]string{
	"favicon.svg":         "favicon.svg",
	"htmx.min.js":         "vendor/htmx.min.js",
	"htmx-ext-sse.min.js": "vendor/htmx-ext-sse.min.js",

	"martelo-sans-latin.woff2":      "fonts/martelo-sans-latin.woff2",
	"martelo-sans-latin-ext.woff2":  "fonts/martelo-sans-latin-ext.woff2",
	"martelo-sans-vietnamese.woff2": "fonts/martelo-sans-vietnamese.woff2",

	"martelo-serif-latin.woff2":      "fonts/martelo-serif-latin.woff2",
	"martelo-serif-latin-ext.woff2":  "fonts/martelo-serif-latin-ext.woff2",
	"martelo-serif-vietnamese.woff2": "fonts/martelo-serif-vietnamese.woff2",
}

var contentTypes = map[string]string{
	".css":   "text/css; charset=utf-8",
	".js":    "text/javascript; charset=utf-8",
	".svg":   "image/svg+xml",
	".woff2": "font/woff2",
}

type asset struct {
	contentType string
	content     []byte
	packed      []byte // content in gzip; nil where that saves nothing
}

type catalogue struct {
	hashed map[string]string // "app.css" to "app.0123456789.css"
	assets map[string]asset  // by hashed name
}

// load reads the embedded files once. A missing one is a fault of the build, found by every test
// that renders a page.
var load = sync.OnceValue(func() catalogue {
	all := catalogue{hashed: map[string]string{}, assets: map[string]asset{}}
	all.add("app.js", joinScripts())
	for name, source := range files {
		all.add(name, read(source))
	}
	all.add("app.css", all.linked(joinSheets())) // last: it names other files as they are served
	return all
})

func (c catalogue) add(name string, content []byte) {
	extension := path.Ext(name)
	sum := sha256.Sum256(content)
	hashed := strings.TrimSuffix(name, extension) + "." + hex.EncodeToString(sum[:])[:hashDigits] + extension
	c.hashed[name] = hashed
	c.assets[hashed] = asset{contentType: contentTypes[extension], content: content, packed: pack(content)}
}

var linkInSheet = regexp.MustCompile(`url\("([^"]*)"\)`)

// linked is a stylesheet in which each url("name") is the name under which that file is served. The
// files stand beside the stylesheet itself.
func (c catalogue) linked(css []byte) []byte {
	return linkInSheet.ReplaceAllFunc(css, func(link []byte) []byte {
		name := string(linkInSheet.FindSubmatch(link)[1])
		hashed, ok := c.hashed[name]
		if !ok {
			panic(fmt.Sprintf("static: app.css names %q, which is no file", name))
		}
		return []byte(`url("` + hashed + `")`)
	})
}

func joinSheets() []byte {
	var joined bytes.Buffer
	for _, sheet := range sheets {
		joined.Write(read("css/" + sheet + ".css"))
	}
	return joined.Bytes()
}

// joinScripts puts the parts into one function, so that they share a scope and leave the page's own
// alone.
func joinScripts() []byte {
	var joined bytes.Buffer
	joined.WriteString("(() => {\n'use strict';\n")
	for _, script := range scripts {
		joined.Write(read("js/" + script + ".js"))
	}
	joined.WriteString("})();\n")
	return joined.Bytes()
}

func read(name string) []byte {
	content, err := sources.ReadFile(name)
	if err != nil {
		panic("static: " + err.Error())
	}
	return content
}

// Path gives the URL path under which the current content of a file is served: Path("app.css") is
// "/static/app.0123456789.css". It panics for a name that does not exist, which is a programmer's
// mistake.
func Path(name string) string {
	hashed, ok := load().hashed[name]
	if !ok {
		panic(fmt.Sprintf("static: no file %q", name))
	}
	return Prefix + hashed
}

// Handler serves GET and HEAD for the paths that Path gives and answers 404 to all others, also to
// names whose hash belongs to another release: a wrong file would be kept for ever. Who accepts
// gzip gets the file compressed, as it was at the start.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		found, ok := load().assets[strings.TrimPrefix(r.URL.Path, Prefix)]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		header := w.Header()
		header.Set("Content-Type", found.contentType)
		content := found.content
		if found.packed != nil {
			header.Set("Vary", strings.TrimPrefix(header.Get("Vary")+", Accept-Encoding", ", "))
			if AcceptsGzip(r.Header) {
				header.Set("Content-Encoding", "gzip")
				content = found.packed
			}
		}
		header.Set("Content-Length", strconv.Itoa(len(content)))
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
		header.Set("X-Content-Type-Options", "nosniff")
		if r.Method == http.MethodGet {
			w.Write(content) // an error here means the browser went away
		}
	})
}

// Package layouts holds what stands around every page: head, header, footer, and the one stream
// connection of the page.
package layouts

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"martelo/app/auction"
	"martelo/templates/components"
)

// Viewer is the person a page is drawn for. Role is "", "seller" or "admin".
type Viewer struct {
	ID   int64
	Name string
	Role string
}

// MaySell tells whether the viewer may create auctions.
func (v *Viewer) MaySell() bool { return v != nil && (v.Role == "seller" || v.Role == "admin") }

// Actor is the viewer as the rulebook sees one. A visitor is nobody.
func (v *Viewer) Actor() auction.Actor {
	if v == nil {
		return auction.Actor{}
	}
	return auction.Actor{UserID: v.ID, Admin: v.Role == "admin"}
}

// HouseLinks are addresses of pages that the operator keeps elsewhere; those that are empty are not
// linked.
type HouseLinks struct {
	Terms, Privacy, Imprint string
}

// PageView is what the layout of every page needs. Every page's view embeds one.
type PageView struct {
	// Title is the page's own title; the layout adds the name of the house.
	Title string
	// Summary is what link previews and search engines show of the page; "" for pages that nobody
	// shares.
	Summary string
	// Locale (BCP 47) is how money is written, and how the page's script writes times.
	Locale string
	// Viewer is nil for visitors who are not signed in.
	Viewer *Viewer
	// Path is the page's own path with its query: where reload links and the way back from signing
	// in lead.
	Path string
	// Flash is a message from the request before, nil without one.
	Flash *components.Notice
	// ServerTime is the database's time when the page was drawn.
	ServerTime time.Time
	// House is where the operator's own pages are.
	House HouseLinks
	// LiveURL is the page's HTML stream; "" for pages on which nothing moves.
	LiveURL string
}

// ViewerID is the viewer's id, 0 for visitors.
func (v PageView) ViewerID() int64 {
	if v.Viewer == nil {
		return 0
	}
	return v.Viewer.ID
}

// SignInURL leads to the sign-in page and back to this one.
func (v PageView) SignInURL() string { return components.ReturnURL(components.PathSignIn, v.back()) }

// back is where signing in or up leads from here: not to those two pages themselves.
func (v PageView) back() string {
	if v.at(components.PathSignIn) || v.at(components.PathSignUp) {
		return ""
	}
	return v.Path
}

// at tells whether the page is the one a navigation link leads to.
func (v PageView) at(path string) bool {
	own, _, _ := strings.Cut(v.Path, "?")
	return own == path || path == components.PathAuctions && own == components.PathHome
}

func (v PageView) now() string { return strconv.FormatInt(v.ServerTime.UnixMilli(), 10) }

func (v PageView) title() string {
	if v.Title == "" {
		return "Martelo, the open auction house"
	}
	return v.Title + " · Martelo"
}

// requestWithinMilliseconds is when the page's script gives a form post up and says so. It is
// longer than the house takes to answer 503 when its database is away.
const requestWithinMilliseconds = 12_000

// htmxConfig turns off what a strict content security policy forbids (eval, injected styles), keeps
// no pages in the browser's storage, and swaps the fragments that come with refusals as well as
// those that come with success.
var htmxConfig = mustJSON(map[string]any{
	"allowEval":                 false,
	"allowScriptTags":           false,
	"includeIndicatorStyles":    false,
	"selfRequestsOnly":          true,
	"historyCacheSize":          0,
	"historyEnabled":            false,
	"historyRestoreAsHxRequest": false,
	"attributesToSettle":        []string{},
	"defaultSettleDelay":        0,
	"timeout":                   requestWithinMilliseconds,
	"responseHandling": []map[string]any{
		{"code": "204", "swap": false},
		{"code": "[23]..", "swap": true},
		{"code": "400|401|403|404|409|413|422|429|503", "swap": true},
		{"code": "...", "swap": false, "error": true},
	},
})

// htmxHeaders make htmx ask for HTML. By itself it accepts anything, which the house answers with
// JSON.
var htmxHeaders = mustJSON(map[string]string{"Accept": "text/html"})

func mustJSON(v any) string {
	encoded, err := json.Marshal(v)
	if err != nil {
		panic("layouts: " + err.Error())
	}
	return string(encoded)
}

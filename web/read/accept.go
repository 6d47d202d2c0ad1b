package read

import (
	"iter"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"martelo/templates/components"
)

// The types of the bodies that the house reads.
const (
	MediaJSON = "application/json"
	MediaForm = "application/x-www-form-urlencoded"
)

// AsksPage tells whether the answer is to be HTML. Where there is JSON too, HTML goes to whoever
// names it; what is sent as JSON is the API's and answered in kind. Where there are only pages,
// whoever accepts one gets it.
func AsksPage(r *http.Request) bool {
	named, accepts := acceptsHTML(r.Header)
	if named {
		return accepts && Media(r) != MediaJSON
	}
	return accepts && (onlyPageAt(r) || IsLotShow(r) && previewsLinks(r.UserAgent()))
}

// acceptsHTML reads the Accept header: whether it names text/html itself, and whether it lets HTML
// through at all. Without the header everything is accepted (RFC 9110, section 12.5.1). The order
// of preference does not count, only a weight of 0, which refuses.
func acceptsHTML(header http.Header) (named, accepts bool) {
	accept := strings.Join(header.Values("Accept"), ",")
	if strings.TrimSpace(accept) == "" {
		return false, true
	}
	taken := map[string]bool{} // whether a media range is accepted, of those that HTML falls under
	for member := range membersOf(accept) {
		media, parameters, _ := strings.Cut(member, ";")
		switch media = strings.ToLower(strings.TrimSpace(media)); media {
		case "text/html", "text/*", "*/*":
			taken[media] = taken[media] || !refuses(parameters)
		}
	}
	for _, media := range []string{"text/html", "text/*", "*/*"} { // the most exact one decides
		if accepts, said := taken[media]; said {
			return media == "text/html", accepts
		}
	}
	return false, false
}

// membersOf splits a header's list at the commas that stand in no quotes.
func membersOf(list string) iter.Seq[string] {
	quoted, escaped := false, false
	return strings.FieldsFuncSeq(list, func(r rune) bool {
		switch {
		case escaped:
			escaped = false
		case quoted && r == '\\':
			escaped = true
		case r == '"':
			quoted = !quoted
		}
		return r == ',' && !quoted
	})
}

// refuses tells whether a media range's parameters give it a weight of 0. A weight that cannot be
// read is as good as none.
func refuses(parameters string) bool {
	for parameter := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(parameter, "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			weight, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return err == nil && weight == 0
		}
	}
	return false
}

// onlyPageAt tells whether what a request asks for exists only as a page.
func onlyPageAt(r *http.Request) bool {
	if !reads(r) {
		return false
	}
	switch r.URL.Path {
	case components.PathHome, components.PathSignIn, components.PathSignUp, components.PathNewAuction,
		components.PathAccount:
		return true
	}
	return strings.HasPrefix(r.URL.Path, components.PathAccount+"/")
}

// IsLotShow tells whether a request asks for one lot, whose representation depends on the client's
// name too.
func IsLotShow(r *http.Request) bool {
	if !reads(r) {
		return false
	}
	id, found := strings.CutPrefix(r.URL.Path, components.PathAuctions+"/")
	return found && !strings.Contains(id, "/")
}

func reads(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// previewers are words in the names of the programs that show what a link leads to, and of those
// that search engines send. They are known to accept anything, and what they want is the page.
var previewers = []string{
	"slackbot", "slack-img", "twitterbot", "facebookexternalhit", "facebot", "facebookcatalog", "meta-external",
	"whatsapp", "telegrambot",
	"discordbot", "linkedinbot", "applebot", "imessage", "googlebot", "google-inspectiontool", "googleother", "bingbot",
	"bingpreview",
	"microsoftpreview", "skypeuripreview", "pinterest", "redditbot", "embedly", "iframely", "viber", "vkshare",
	"kakaotalk", "cardyb",
	"bluesky", "mastodon", "synapse", "mattermost", "snapchat", "zalo", "duckduckbot", "yandexbot", "baiduspider",
	"petalbot", "opengraph",
}

// userAgentMax bounds what is searched for them: no program's name is longer.
const userAgentMax = 512

func previewsLinks(userAgent string) bool {
	userAgent = strings.ToLower(userAgent[:min(len(userAgent), userAgentMax)])
	return slices.ContainsFunc(previewers, func(name string) bool { return strings.Contains(userAgent, name) })
}

// AsksFragment tells whether a page's script asks for the part of a page that changes.
func AsksFragment(r *http.Request) bool { return AsksPage(r) && r.Header.Get("HX-Request") == "true" }

// Media is the type of a request's body, "" when it says none or nonsense. Text must be UTF-8.
func Media(r *http.Request) string {
	values := r.Header.Values("Content-Type")
	if len(values) != 1 {
		return ""
	}
	media, parameters, err := mime.ParseMediaType(values[0])
	if err != nil {
		return ""
	}
	if charset, given := parameters["charset"]; given && !strings.EqualFold(charset, "utf-8") {
		return ""
	}
	return media
}

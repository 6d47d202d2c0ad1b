package web_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"martelo/templates/gallery"
	"martelo/web"
)

func TestTheGalleryIsClosedUnlessOpened(t *testing.T) {
	t.Parallel()
	h := open(t)
	for _, path := range []string{gallery.Path, gallery.Path + "/list", gallery.Path + "/"} {
		h.browser().get(path).page(t, http.StatusNotFound)
	}
}

func TestTheGalleryShowsEveryState(t *testing.T) {
	t.Parallel()
	h := open(t, func(deps *web.Deps) { deps.Gallery = true })
	shown := h.browser().get(gallery.Path).page(t, http.StatusOK)
	for name := range gallery.Components() {
		shown.has(t, "<h3>"+name+"</h3>")
	}
	for name := range gallery.Fragments(42) {
		shown.has(t, "<h3>"+name+"</h3>")
	}
	shown.lacks(t, "<script>alert")
	standsStill(t, shown)
	seen := map[string]bool{}
	for _, id := range elementID.FindAllStringSubmatch(shown.Body.String(), -1) {
		if seen[id[1]] {
			t.Errorf("the id %q is there twice", id[1])
		}
		seen[id[1]] = true
	}
	for name := range gallery.Pages() {
		shown.has(t, gallery.Path+"/"+name)
		page := h.browser().get(gallery.Path+"/"+name).page(t, http.StatusOK)
		standsStill(t, page)
	}
	h.browser().get(gallery.Path+"/none").page(t, http.StatusNotFound)
}

var elementID = regexp.MustCompile(` id="([^"]*)"`)

// standsStill checks that a browser runs no script of an answer and sends no form of it: the samples
// are of lots that somebody may have.
func standsStill(t *testing.T, a answer) {
	t.Helper()
	policy := a.Header().Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "form-action 'none'") ||
		strings.Contains(policy, "script-src") || strings.Contains(policy, "connect-src") {
		t.Errorf("the policy is %q", policy)
	}
}

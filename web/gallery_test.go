package web_test

import (
	"net/http"
	"testing"

	"github.com/a-h/templ"

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
	shown.lacks(t, "<script>alert")
	for _, drawings := range []map[string]templ.Component{gallery.Pages(), gallery.Fragments()} {
		for name := range drawings {
			shown.has(t, `href="`+gallery.Path+"/"+name+`"`)
			h.browser().get(gallery.Path+"/"+name).page(t, http.StatusOK).lacks(t, "<script>alert")
		}
	}
	h.browser().get(gallery.Path+"/none").page(t, http.StatusNotFound)
}

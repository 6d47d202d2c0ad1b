package web

import (
	"net/http"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"martelo/app/auction"
	"martelo/templates/gallery"
)

// galleryShow is GET /-/gallery, where Deps.Gallery opens it.
func (s *Server) galleryShow(c echo.Context) error {
	view, err := s.pageView(c, "Gallery", gallery.Path)
	if err != nil {
		return err
	}
	return s.galleryPage(c, gallery.Show(view))
}

// galleryPageShow is GET /-/gallery/{name}: one page in one state.
func (s *Server) galleryPageShow(c echo.Context) error {
	drawn, found := gallery.Pages()[c.Param("name")]
	if !found {
		return auction.ErrNotFound
	}
	return s.galleryPage(c, drawn)
}

// galleryPage shows samples as they are drawn. They are of lots that are not in the house, or that are
// somebody else's.
func (s *Server) galleryPage(c echo.Context, drawn templ.Component) error {
	c.Response().Header().Set("Content-Security-Policy", galleryPolicy)
	return s.page(c, http.StatusOK, drawn)
}

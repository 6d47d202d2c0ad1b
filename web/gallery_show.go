package web

import (
	"net/http"

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
	return s.page(c, http.StatusOK, gallery.Show(view))
}

// galleryPageShow is GET /-/gallery/{name}: one page or fragment in one state.
func (s *Server) galleryPageShow(c echo.Context) error {
	drawn, found := gallery.Find(c.Param("name"))
	if !found {
		return auction.ErrNotFound
	}
	return s.page(c, http.StatusOK, drawn)
}

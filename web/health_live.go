package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"martelo/web/read"
)

type healthJSON struct {
	Status string   `json:"status"`
	Away   []string `json:"away"` // the stores that take no writes
}

// healthLive is GET /healthz: the process answers.
func (s *Server) healthLive(c echo.Context) error {
	return writeJSON(c, http.StatusOK, read.MediaJSON, healthJSON{Status: "alive", Away: []string{}})
}

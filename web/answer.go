package web

import (
	"bytes"
	"encoding/json"

	"github.com/labstack/echo/v4"
)

const mediaHTML = "text/html; charset=utf-8"

// writeJSON encodes a value whole before it writes anything.
func writeJSON(c echo.Context, status int, media string, value any) error {
	var body bytes.Buffer
	if err := json.NewEncoder(&body).Encode(value); err != nil {
		return err
	}
	return send(c, status, media, &content{plain: body.Bytes()})
}

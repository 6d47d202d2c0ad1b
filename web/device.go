package web

import (
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"martelo/app/account"
)

// deviceFor is how long a browser is known after its last sign-in.
const deviceFor = 365 * 24 * time.Hour

// deviceCookie is named like the session's, which browsers over https guard by its name.
func (s *Server) deviceCookie() string {
	return strings.Replace(s.sessions.Cookie.Name, "session", "device", 1)
}

// device is the secret of a browser in which somebody has signed in, "" in others.
func (s *Server) device(c echo.Context) string {
	cookie, err := c.Request().Cookie(s.deviceCookie())
	if err != nil {
		return ""
	}
	return cookie.Value
}

// knownDevice is the browser's secret if the person with the e-mail address has signed in there
// before, else "".
func (s *Server) knownDevice(c echo.Context, email account.Email) (string, error) {
	secret := s.device(c)
	if secret == "" {
		return "", nil
	}
	known, err := s.People.KnowsDevice(c.Request().Context(), email, secret)
	if err != nil || !known {
		return "", err
	}
	return secret, nil
}

// keepDevice makes the browser known to the person who has just signed in.
func (s *Server) keepDevice(c echo.Context, userID int64) error {
	secret, err := s.People.KeepDevice(c.Request().Context(), userID, s.device(c))
	if err != nil {
		return err
	}
	c.SetCookie(&http.Cookie{
		Name: s.deviceCookie(), Value: secret, Path: "/", MaxAge: int(deviceFor / time.Second),
		HttpOnly: true, Secure: s.secure(), SameSite: http.SameSiteLaxMode,
	})
	return nil
}

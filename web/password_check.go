package web

import (
	"github.com/labstack/echo/v4"

	"martelo/app/account"
	"martelo/app/limits"
)

// checkPassword has a password checked unless there were too many tries, which it counts.
func (s *Server) checkPassword(c echo.Context, email account.Email, check func() error) error {
	ctx := c.Request().Context()
	device, err := s.knownDevice(c, email)
	if err != nil {
		return err
	}
	try := limits.Try{Address: c.RealIP(), Email: email, Device: device}
	if wait := s.Limits.SignIn(ctx, try); wait > 0 {
		return &limitedError{wait: wait, says: tooManyTries}
	}
	if err := check(); err != nil {
		return err
	}
	s.Limits.SignedIn(ctx, try)
	return nil
}

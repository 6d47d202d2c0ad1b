package web

import (
	"maps"
	"net"
	"net/http"
	"net/netip"

	"github.com/labstack/echo/v4"
)

// contentPolicy lets a page load and do only what the house itself serves: no script or style in
// the markup, no frames, no forms elsewhere.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// galleryPolicy is contentPolicy for pages that are only looked at: no script moves them, and no form
// on them bids or signs anybody out.
const galleryPolicy = "default-src 'none'; style-src 'self'; img-src 'self'; font-src 'self'; " +
	"form-action 'none'; base-uri 'none'; frame-ancestors 'none'"

// strictTransport keeps browsers on https for a year once they have seen it.
const strictTransport = "max-age=31536000"

// permissions takes from pages what the house never asks a browser for.
const permissions = "camera=(), display-capture=(), geolocation=(), microphone=(), midi=(), payment=(), " +
	"publickey-credentials-get=(), usb=()"

// headers sets what every answer carries. Handlers may say something else about caching. The values
// are made once and shared by all answers, which replace them and never write into them.
func (s *Server) headers(next echo.HandlerFunc) echo.HandlerFunc {
	every := http.Header{
		"Content-Security-Policy": {contentPolicy},
		"X-Content-Type-Options":  {"nosniff"},
		"X-Frame-Options":         {"DENY"},
		// A referrer stays in the house. No referrer at all would take the Origin from forms.
		"Referrer-Policy":              {"same-origin"},
		"Cross-Origin-Opener-Policy":   {"same-origin"},
		"Cross-Origin-Resource-Policy": {"same-origin"},
		"Permissions-Policy":           {permissions},
		"Cache-Control":                {"no-store"},
		"Vary":                         {"Accept"},
	}
	if s.secure() {
		value := strictTransport
		if s.HSTSSubdomains {
			value += "; includeSubDomains"
		}
		every.Set("Strict-Transport-Security", value)
	}
	return func(c echo.Context) error {
		maps.Copy(c.Response().Header(), every)
		return next(c)
	}
}

// secure tells whether browsers reach the house over https.
func (s *Server) secure() bool { return s.PublicURL != nil && s.PublicURL.Scheme == "https" }

// sameOrigin refuses what a page of another site makes a browser send. Programs that are no
// browsers pass.
func (s *Server) sameOrigin() echo.MiddlewareFunc {
	protection := http.NewCrossOriginProtection()
	if s.PublicURL != nil {
		// Behind a proxy the request's Host may be another than the one the browser saw.
		if err := protection.AddTrustedOrigin(s.PublicURL.Scheme + "://" + s.PublicURL.Host); err != nil {
			panic("web: public URL: " + err.Error())
		}
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if protection.Check(c.Request()) != nil {
				return errCrossOrigin
			}
			return next(c)
		}
	}
}

// addressOf says whose address counts as the client's: the connection's own, or what a trusted
// proxy says it was.
func addressOf(trusted []netip.Prefix) echo.IPExtractor {
	if len(trusted) == 0 {
		return echo.ExtractIPDirect()
	}
	options := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, prefix := range trusted {
		options = append(options, echo.TrustIPRange(&net.IPNet{
			IP: prefix.Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), prefix.Addr().BitLen()),
		}))
	}
	return echo.ExtractIPFromXFFHeader(options...)
}

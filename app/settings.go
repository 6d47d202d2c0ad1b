package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/caarlos0/env/v11"
)

// settings are all that the environment decides. Each is documented here and in the README's table;
// a wrong value is refused at the start with a sentence that names it, and all of them together.
type settings struct {
	// DatabaseURL is PostgreSQL, the truth and the only clock. Required.
	DatabaseURL string `env:"DATABASE_URL"`
	// RedisURL is Redis, for announcements and limits. Required to serve.
	RedisURL string `env:"REDIS_URL"`
	// ListenAddr is host:port to listen on; without a host, all addresses.
	ListenAddr string `env:"LISTEN_ADDR" envDefault:":8080"`
	// PublicURL is how browsers reach the house. With https, cookies are for https only and
	// browsers are told to stay with it. Without it browsers reach the house under whatever host
	// they ask for.
	PublicURL string `env:"PUBLIC_URL"`
	// TermsURL, PrivacyURL and ImprintURL are pages of the operator's that every page of the house
	// links to; those not given are not linked.
	TermsURL   string `env:"TERMS_URL"`
	PrivacyURL string `env:"PRIVACY_URL"`
	ImprintURL string `env:"IMPRINT_URL"`
	// HSTSSubdomains has browsers stay with https on all hosts below the house's own as well.
	HSTSSubdomains bool `env:"HSTS_SUBDOMAINS" envDefault:"false"`
	// MetricsToken lets whoever sends it as a bearer token read /metrics; without it only machines
	// of the same private network may.
	MetricsToken string `env:"METRICS_TOKEN"`
	// TrustedProxies are the networks (CIDR, comma-separated) whose X-Forwarded-For is believed.
	TrustedProxies []string `env:"TRUSTED_PROXIES" envSeparator:","`
	// KafkaBrokers are host:port, comma-separated. Without them events go to the log.
	KafkaBrokers []string `env:"KAFKA_BROKERS" envSeparator:","`
	// Gallery shows developers every component and page in every state, at /-/gallery. Production
	// has no use for it.
	Gallery bool `env:"GALLERY" envDefault:"false"`
	// OpenSelling lets everybody who has signed up start selling; otherwise the operator names the
	// sellers.
	OpenSelling bool `env:"OPEN_SELLING" envDefault:"true"`
	// DatabaseConnections is how many connections to PostgreSQL one node may have: half of them for
	// bids, a sixth for who somebody is, and the rest for what people read.
	DatabaseConnections int `env:"DATABASE_CONNECTIONS" envDefault:"24"`
	// ViewersMax is how many live streams one node takes, and ViewersPerAddressMax how many from
	// one address.
	ViewersMax           int `env:"VIEWERS_MAX" envDefault:"50000"`
	ViewersPerAddressMax int `env:"VIEWERS_PER_ADDRESS_MAX" envDefault:"200"`
	// AttemptsPerAddressMax is how many tries to sign in or up a minute one address has. Many
	// people share one at a venue.
	AttemptsPerAddressMax int `env:"ATTEMPTS_PER_ADDRESS_MAX" envDefault:"60"`
	// Contact is who helps with a forgotten password: an e-mail address, a web address, or words.
	Contact string `env:"CONTACT"`
	// HotLaneAllowEverysec offers the hot lane also on a Redis that may lose bids that were
	// answered 201, such as one with appendfsync everysec.
	HotLaneAllowEverysec bool `env:"HOT_LANE_ALLOW_EVERYSEC" envDefault:"false"`
	// HotLaneAbove puts an auction that gets more than so many bids a second on one node into the
	// hot lane; 0 is never.
	HotLaneAbove int `env:"HOT_LANE_ABOVE" envDefault:"0"`
	// DrainDelay is for how long a node that is told to stop still takes new connections, unready,
	// so that a balancer sees it.
	DrainDelay time.Duration `env:"DRAIN_DELAY" envDefault:"1s"`
	// OpensPerMinuteMax is how many auctions one seller opens within a minute, OpenAuctionsMax how
	// many that are not over one may have, and HotAuctionsMax how many of them in the hot lane; 0
	// is no limit.
	OpensPerMinuteMax int `env:"OPENS_PER_MINUTE_MAX" envDefault:"300"`
	OpenAuctionsMax   int `env:"OPEN_AUCTIONS_MAX" envDefault:"10000"`
	HotAuctionsMax    int `env:"HOT_AUCTIONS_MAX" envDefault:"20"`
	// LogLevel is debug, info, warn or error.
	LogLevel slog.Level `env:"LOG_LEVEL" envDefault:"info"`
	// LogFormat is json or text.
	LogFormat string `env:"LOG_FORMAT" envDefault:"json"`
	// ProfileAddr is where the node offers Go's profiles (net/http/pprof), on this machine only;
	// without it, nowhere.
	ProfileAddr string `env:"MARTELO_PPROF"`
}

// readSettings reads the environment. What the command at hand needs is named in required.
func readSettings(required ...string) (settings, error) {
	var s settings
	var wrong []error
	if err := env.Parse(&s); err != nil {
		var several env.AggregateError
		if !errors.As(err, &several) {
			return s, err
		}
		for _, one := range several.Errors {
			wrong = append(wrong, named(one))
		}
	}
	for _, name := range required {
		if os.Getenv(name) == "" {
			wrong = append(wrong, fmt.Errorf("%s is not set; it says where to find %s", name, whatIs[name]))
		}
	}
	wrong = append(wrong, s.check()...)
	if len(wrong) > 0 {
		return s, fmt.Errorf("settings: %w", errors.Join(wrong...))
	}
	return s, nil
}

// connections shares out what a node may have. Who somebody is costs well under a millisecond to
// find out, so that few are enough.
func (s settings) connections() (bidders, identity, readers int) {
	bidders, identity = s.DatabaseConnections/2, max(1, s.DatabaseConnections/6)
	return bidders, identity, s.DatabaseConnections - bidders - identity
}

var whatIs = map[string]string{
	"DATABASE_URL": "PostgreSQL, as in postgres://user@host:5432/martelo",
	"REDIS_URL":    "Redis, as in redis://host:6379/0",
}

// variables are the environment's names for the fields that the library checks itself.
var variables = map[string]string{
	"Gallery":     "GALLERY takes true or false",
	"OpenSelling": "OPEN_SELLING takes true or false", "HSTSSubdomains": "HSTS_SUBDOMAINS takes true or false",
	"DatabaseConnections":   "DATABASE_CONNECTIONS takes a whole number",
	"ViewersMax":            "VIEWERS_MAX takes a whole number",
	"ViewersPerAddressMax":  "VIEWERS_PER_ADDRESS_MAX takes a whole number",
	"AttemptsPerAddressMax": "ATTEMPTS_PER_ADDRESS_MAX takes a whole number",
	"OpensPerMinuteMax":     "OPENS_PER_MINUTE_MAX takes a whole number",
	"OpenAuctionsMax":       "OPEN_AUCTIONS_MAX takes a whole number",
	"HotAuctionsMax":        "HOT_AUCTIONS_MAX takes a whole number",
	"HotLaneAllowEverysec":  "HOT_LANE_ALLOW_EVERYSEC takes true or false",
	"HotLaneAbove":          "HOT_LANE_ABOVE takes a whole number",
	"DrainDelay":            "DRAIN_DELAY takes a time such as 1s or 500ms, from 0s to 5s",
	"LogLevel":              "LOG_LEVEL takes debug, info, warn or error",
}

func named(err error) error {
	var wrong env.ParseError
	if errors.As(err, &wrong) && variables[wrong.Name] != "" {
		return errors.New(variables[wrong.Name])
	}
	return err
}

func (s settings) check() []error {
	var wrong []error
	refuse := func(bad bool, format string, arg ...any) {
		if bad {
			wrong = append(wrong, fmt.Errorf(format, arg...))
		}
	}
	refuse(
		s.DatabaseURL != "" && !hasScheme(s.DatabaseURL, "postgres", "postgresql"),
		"DATABASE_URL takes a URL that begins with postgres://",
	)
	refuse(
		s.RedisURL != "" && !hasScheme(s.RedisURL, "redis", "rediss", "unix"),
		"REDIS_URL takes a URL that begins with redis:// or rediss://",
	)
	refuse(
		s.PublicURL != "" && !isOrigin(s.PublicURL),
		"PUBLIC_URL takes a scheme and a host and nothing else, such as https://auctions.example, not what is set",
	)
	for name, link := range map[string]string{
		"TERMS_URL": s.TermsURL, "PRIVACY_URL": s.PrivacyURL, "IMPRINT_URL": s.ImprintURL,
	} {
		refuse(
			link != "" && !hasScheme(link, "http", "https"), "%s takes a URL that begins with http:// or https://",
			name,
		)
	}
	refuse(
		!isAddress(s.ListenAddr, 0), "LISTEN_ADDR takes host:port or :port with a port from 0 to 65535, not %q",
		s.ListenAddr,
	)
	for _, proxy := range s.TrustedProxies {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(proxy))
		refuse(err != nil, "TRUSTED_PROXIES takes networks such as 10.0.0.0/8, not %q", proxy)
		refuse(
			err == nil && prefix.Bits() == 0,
			"TRUSTED_PROXIES takes the networks of your own proxies; %s is everybody, who could then claim any address",
			proxy,
		)
	}
	for _, broker := range s.KafkaBrokers {
		host, _, _ := net.SplitHostPort(strings.TrimSpace(broker))
		refuse(host == "" || !isAddress(strings.TrimSpace(broker), 1), "KAFKA_BROKERS takes host:port, not %q", broker)
	}
	refuse(
		s.MetricsToken != "" && len(s.MetricsToken) < metricsTokenMin,
		"METRICS_TOKEN takes at least %d characters, so that nobody guesses it", metricsTokenMin,
	)
	refuse(s.DatabaseConnections < 4 || s.DatabaseConnections > 1000, "DATABASE_CONNECTIONS takes 4 to 1000")
	refuse(s.ViewersMax < 1, "VIEWERS_MAX takes 1 or more")
	refuse(s.ViewersPerAddressMax < 1, "VIEWERS_PER_ADDRESS_MAX takes 1 or more")
	refuse(s.DrainDelay < 0 || s.DrainDelay > drainDelayMax,
		"DRAIN_DELAY takes a time from 0s to %s, not %s", drainDelayMax, s.DrainDelay)
	refuse(s.AttemptsPerAddressMax < 1 || s.AttemptsPerAddressMax > attemptsPerAddressMost,
		"ATTEMPTS_PER_ADDRESS_MAX takes 1 to %d", attemptsPerAddressMost)
	refuse(!oneShortLine(s.Contact),
		"CONTACT takes an e-mail address, a web address or a few words, in one line of at most %d characters",
		contactLengthMax)
	refuse(
		s.OpensPerMinuteMax < 0 || s.OpensPerMinuteMax > sellerLimitMax, "OPENS_PER_MINUTE_MAX takes 0 to %d",
		sellerLimitMax,
	)
	refuse(
		s.OpenAuctionsMax < 0 || s.OpenAuctionsMax > sellerLimitMax, "OPEN_AUCTIONS_MAX takes 0 to %d", sellerLimitMax,
	)
	refuse(s.HotAuctionsMax < 0 || s.HotAuctionsMax > sellerLimitMax, "HOT_AUCTIONS_MAX takes 0 to %d", sellerLimitMax)
	refuse(s.HotLaneAbove < 0, "HOT_LANE_ABOVE takes 0 or more")
	refuse(s.LogFormat != "json" && s.LogFormat != "text", "LOG_FORMAT takes json or text, not %q", s.LogFormat)
	host, _, err := net.SplitHostPort(s.ProfileAddr)
	ip := net.ParseIP(host)
	refuse(
		s.ProfileAddr != "" && (err != nil || ip == nil || !ip.IsLoopback() || !isAddress(s.ProfileAddr, 0)),
		"MARTELO_PPROF takes an address of this machine itself, such as 127.0.0.1:6060, not %q", s.ProfileAddr,
	)
	return wrong
}

const (
	// attemptsPerAddressMost is more than a node can check: it hashes some hundred passwords a
	// second.
	attemptsPerAddressMost = 100_000
	// contactLengthMax is what reads well under a form.
	contactLengthMax = 200
)

func oneShortLine(text string) bool {
	return utf8.ValidString(text) && utf8.RuneCountInString(text) <= contactLengthMax &&
		!strings.ContainsFunc(text, unicode.IsControl)
}

// sellerLimitMax bounds the limits of one seller, whose auctions up to them are counted for each
// that is opened.
const sellerLimitMax = 100_000

// metricsTokenMin is the shortest token: longer than what is guessed.
const metricsTokenMin = 16

// isOrigin tells whether a text is where a web site is found, and no more: what browsers call an
// origin.
func isOrigin(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return false
	}
	port := u.Port()
	bare := u.Path == "" || u.Path == "/"
	return bare && !strings.ContainsAny(text, "?# ") &&
		(port == "" && !strings.HasSuffix(u.Host, ":") || isPort(port, 1))
}

// isAddress tells whether a text is a host, which may be empty, and a port of at least some number.
func isAddress(text string, least int) bool {
	host, port, err := net.SplitHostPort(text)
	return err == nil && isPort(port, least) && !strings.ContainsAny(host, " /@")
}

func isPort(text string, least int) bool {
	port, err := strconv.Atoi(text)
	return err == nil && port >= least && port <= 65535 && text[0] != '+'
}

func hasScheme(text string, schemes ...string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	for _, scheme := range schemes {
		if u.Scheme == scheme {
			return true
		}
	}
	return false
}

func (s settings) logger() *slog.Logger { return slog.New(s.logHandler(s.LogLevel)) }

// logHandler writes lines of the level and above to the log.
func (s settings) logHandler(level slog.Level) slog.Handler {
	options := &slog.HandlerOptions{Level: level}
	if s.LogFormat == "text" {
		return slog.NewTextHandler(os.Stderr, options)
	}
	return slog.NewJSONHandler(os.Stderr, options)
}

package limits

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"strings"
	"time"

	"github.com/go-redis/redis_rate/v10"
)

// How often somebody may try to sign in or up. A person mistypes a password a few times; a program that guesses tries for ever.
var (
	// attemptsOfAddress leaves room for an office or a school behind one address.
	attemptsOfAddress = redis_rate.Limit{Rate: 60, Burst: 60, Period: time.Minute}
	// attemptsOfEmail gives an account ten tries at once, and then one in a minute and a half.
	attemptsOfEmail = redis_rate.Limit{Rate: 10, Burst: 10, Period: 15 * time.Minute}
)

// addressBits is how much of an IPv6 address counts: a customer has a whole /64 to choose from.
const addressBits = 64

// Attempt counts a try to sign in or up from an address for an e-mail address, and returns 0 or how long to wait before the next.
func (l *Limits) Attempt(ctx context.Context, address, email string) time.Duration {
	return max(
		l.attempt(ctx, "{address:"+sameAddress(address)+"}", attemptsOfAddress),
		l.attempt(ctx, emailKey(email), attemptsOfEmail))
}

// SignedIn forgets the tries for an e-mail address whose owner has shown up.
func (l *Limits) SignedIn(ctx context.Context, email string) {
	l.ask(ctx, func(ctx context.Context) error { return l.attempts.Reset(ctx, l.inHouse(emailKey(email))) })
}

// inHouse makes a key this house's own; the library puts "rate:" before it.
func (l *Limits) inHouse(key string) string { return key + ":" + l.house.ID() }

func (l *Limits) attempt(ctx context.Context, key string, limit redis_rate.Limit) time.Duration {
	var result *redis_rate.Result
	answered := l.ask(ctx, func(ctx context.Context) (err error) {
		result, err = l.attempts.Allow(ctx, l.inHouse(key), limit)
		return err
	})
	if !answered || result.Allowed > 0 {
		return 0
	}
	return result.RetryAfter
}

// emailKey keeps addresses of people out of Redis, and the key short whatever was typed.
func emailKey(email string) string {
	hash := sha256.Sum256([]byte(strings.ToLower(strings.TrimSpace(email))))
	return "{email:" + hex.EncodeToString(hash[:16]) + "}"
}

func sameAddress(text string) string {
	address, err := netip.ParseAddr(text)
	if err != nil {
		return text
	}
	if address = address.Unmap().WithZone(""); address.Is6() {
		if network, err := address.Prefix(addressBits); err == nil {
			return network.String()
		}
	}
	return address.String()
}

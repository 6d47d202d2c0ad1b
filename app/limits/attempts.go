package limits

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"net/netip"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"

	"martelo/app/account"
)

// AttemptsPerAddressDefault leaves room for an office or a school behind one address, in tries to
// sign in or up a minute.
const AttemptsPerAddressDefault = 60

// attemptsOfEmail bounds the tries for one account from all the world, so that a thousand machines
// do not have a thousand times the tries of one. No single stranger gets near it: each is held back
// long before.
var attemptsOfEmail = redis_rate.Limit{Rate: 1000, Burst: 1000, Period: time.Hour}

// growth is how tries for one account from one place are held back: the first pass at once, then
// each waits twice as long as the one before. A person who mistypes hardly notices; a program that
// guesses soon waits for a quarter of an hour.
type growth struct {
	free           int
	first, longest time.Duration
	forget         time.Duration // without a try for so long, all is forgotten
}

var (
	// growthOfPlace is for an address. Four guesses an hour find no password.
	growthOfPlace = growth{free: 6, first: time.Second, longest: 15 * time.Minute, forget: time.Hour}
	// growthOfDevice is for a browser the person has signed in with before: somebody who tries all
	// the passwords they ever had.
	growthOfDevice = growth{free: 10, first: time.Second, longest: 5 * time.Minute, forget: time.Hour}
)

// delay is how long to wait after the last of so many tries.
func (g growth) delay(tries int) time.Duration {
	if tries < g.free {
		return 0
	}
	wait := g.first
	for ; tries > g.free && wait < g.longest; tries-- {
		wait *= 2
	}
	return min(wait, g.longest)
}

//go:embed attempts.lua
var attemptsText string

var attemptsScript = redis.NewScript(attemptsText)

// addressBits is how much of an IPv6 address counts: a customer has a whole /64 to choose from.
const addressBits = 64

// Try is a try to sign in.
type Try struct {
	Address string
	Email   account.Email
	// Device is the secret of a browser in which this person has signed in before, "" in any other.
	// Such a browser has a count of its own, so that nobody elsewhere can keep the person out.
	Device string
}

func (l *Limits) place(t Try) (string, growth) {
	if t.Device != "" {
		return l.key(kindDevice, secret(string(t.Email)+" "+t.Device)), growthOfDevice
	}
	return l.key(kindPlace, secret(string(t.Email)+" "+Household(t.Address))), growthOfPlace
}

// SignIn counts a try to sign in, and returns 0 or how long to wait before the next.
func (l *Limits) SignIn(ctx context.Context, t Try) time.Duration {
	place, held := l.place(t)
	if t.Device != "" {
		return l.growing(ctx, place, held)
	}
	if wait := l.SignUp(ctx, t.Address); wait > 0 {
		return wait
	}
	if wait := l.growing(ctx, place, held); wait > 0 || t.Email == "" {
		return wait // what is no address is nobody's account
	}
	return l.rate(ctx, l.key(kindEmail, secret(string(t.Email))), attemptsOfEmail)
}

// SignUp counts a try to make an account from an address, and returns 0 or how long to wait before
// the next.
func (l *Limits) SignUp(ctx context.Context, address string) time.Duration {
	most := l.attemptsPerAddress
	limit := redis_rate.Limit{Rate: most, Burst: most, Period: time.Minute}
	return l.rate(ctx, l.key(kindAddress, Household(address)), limit)
}

// SignedIn forgets the tries from where the person has shown up. What a stranger does elsewhere
// goes on being counted.
func (l *Limits) SignedIn(ctx context.Context, t Try) {
	place, _ := l.place(t)
	l.local.forget(place)
	l.ask(ctx, func(ctx context.Context) error { return l.client.Del(ctx, place).Err() })
}

// growing is a try that is held back longer each time.
func (l *Limits) growing(ctx context.Context, place string, g growth) time.Duration {
	var wait int64
	answered := l.ask(ctx, func(ctx context.Context) (err error) {
		wait, err = attemptsScript.Run(ctx, l.client, []string{place},
			g.free, g.first.Microseconds(), g.longest.Microseconds(), g.forget.Microseconds()).Int64()
		return err
	})
	if !answered {
		return l.local.growing(place, g, time.Now())
	}
	return time.Duration(wait) * time.Microsecond
}

// rate is one of so many tries in a time.
func (l *Limits) rate(ctx context.Context, bucket string, limit redis_rate.Limit) time.Duration {
	var result *redis_rate.Result
	answered := l.ask(ctx, func(ctx context.Context) (err error) {
		result, err = l.attempts.Allow(ctx, bucket, limit)
		return err
	})
	switch {
	case !answered:
		return l.local.rate(bucket, limit, time.Now())
	case result.Allowed > 0:
		return 0
	}
	return result.RetryAfter
}

// Kinds of what is counted.
const (
	kindAddress = "address"
	kindPlace   = "place"
	kindDevice  = "device"
	kindEmail   = "email"
)

// key is what Redis keeps a count of tries under. Each house has counts of its own.
func (l *Limits) key(kind, of string) string { return "{" + kind + ":" + of + "}:" + l.house.ID() }

// secret keeps addresses of people out of Redis, and the key short whatever was typed.
func secret(text string) string {
	hash := sha256.Sum256([]byte(text))
	return hex.EncodeToString(hash[:16])
}

// Household is the one form of an address that counts: an IPv4 address however it is written, or
// the part of an IPv6 address that one household has.
func Household(text string) string {
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

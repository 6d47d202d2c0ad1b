package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"

	"martelo/db"
)

const (
	// deviceBytes of randomness, like those of a token, need no slow hash.
	deviceBytes = 32
	// devicesOfUserMax is how many browsers of one person are known: the latest ones.
	devicesOfUserMax = 20
)

// deviceHash is what is kept of a browser's secret, and whether it can be one.
func deviceHash(secret string) ([]byte, bool) {
	if len(secret) != base64.RawURLEncoding.EncodedLen(deviceBytes) {
		return nil, false
	}
	hash := sha256.Sum256([]byte(secret))
	return hash[:], true
}

// KnowsDevice tells whether the person with an e-mail address has signed in before in the browser
// that holds a secret.
func (p *People) KnowsDevice(ctx context.Context, email Email, secret string) (bool, error) {
	hash, ok := deviceHash(secret)
	if !ok || email == "" {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	known, err := p.queries.DeviceKnown(ctx, db.DeviceKnownParams{Email: string(email), Hash: hash})
	return known, db.Unavailable(err)
}

// KeepDevice remembers that a person has signed in in the browser that holds a secret, and returns
// the secret to leave there: the same one if the house has given it out, so that several people may
// share a browser, and a new one otherwise.
func (p *People) KeepDevice(ctx context.Context, userID int64, secret string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	hash, ok := deviceHash(secret)
	if ok {
		issued, err := p.queries.DeviceIssued(ctx, hash)
		if err != nil {
			return "", db.Unavailable(err)
		}
		ok = issued
	}
	if !ok {
		var random [deviceBytes]byte
		rand.Read(random[:]) // never fails
		secret = base64.RawURLEncoding.EncodeToString(random[:])
		hash, _ = deviceHash(secret)
	}
	if err := p.queries.DeviceKeep(ctx, db.DeviceKeepParams{UserID: userID, Hash: hash}); err != nil {
		return "", db.Unavailable(err)
	}
	return secret, db.Unavailable(
		p.queries.DevicesDeleteOldest(ctx, db.DevicesDeleteOldestParams{UserID: userID, RowLimit: devicesOfUserMax}),
	)
}

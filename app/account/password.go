package account

import (
	"context"
	"crypto/rand"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/alexedwards/argon2id"
	"golang.org/x/text/unicode/norm"

	"martelo/app/auction"
)

const (
	// hashingMax passwords are hashed at once on a node, at 19 MiB each, so that a crowd at the
	// door costs waiting and not memory.
	hashingMax = 2
	// hashesCollected is after how many hashes their memory is collected: a garbage collector that
	// is tuned for bids would let hundreds of megabytes gather first.
	hashesCollected = 3
	// hashingRest is how long nobody must hash before what is collected goes back to the system.
	hashingRest = 2 * time.Second
	// hashingWaitMax is how long somebody waits for a place before being told to come back.
	hashingWaitMax = 5 * time.Second
)

var hashParams = &argon2id.Params{
	// OWASP's least for argon2id. More memory would lengthen the queue at the door sooner than an
	// attacker's work.
	Memory:      19 * 1024, // KiB
	Iterations:  2,
	Parallelism: 1,
	SaltLength:  16,
	KeyLength:   32,
}

// hash makes what is stored of a password.
func (p *People) hash(ctx context.Context, password string) (string, error) {
	leave, err := p.enter(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	return argon2id.CreateHash(samePassword(password), hashParams)
}

func (p *People) matches(ctx context.Context, password, hash string) (bool, error) {
	if len(password) > passwordBytesMax {
		return false, nil
	}
	leave, err := p.enter(ctx)
	if err != nil {
		return false, err
	}
	defer leave()
	return argon2id.ComparePasswordAndHash(samePassword(password), hash)
}

// enter waits for a place among those who are hashing. The error wraps auction.ErrUnavailable.
func (p *People) enter(ctx context.Context) (leave func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, hashingWaitMax)
	defer cancel()
	select {
	case p.hashing <- struct{}{}:
		return func() {
			p.spent.note()
			<-p.hashing
		}, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("account: too many people sign in at once: %w", auction.ErrUnavailable)
	}
}

// spentMemory is what hashing has left behind. The zero value is ready.
type spentMemory struct {
	mu     sync.Mutex
	hashes int         // since memory was last collected
	rest   *time.Timer // gives memory back once nobody hashes any more
}

// note counts a hash that is done. Who is one too many collects, before the place is free.
func (s *spentMemory) note() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hashes++; s.hashes >= hashesCollected {
		s.hashes = 0
		runtime.GC()
	}
	if s.rest == nil {
		s.rest = time.AfterFunc(hashingRest, debug.FreeOSMemory)
	} else {
		s.rest.Reset(hashingRest)
	}
}

// samePassword lets one password typed on different systems be one: some send an accent as a
// character of its own (RFC 8265).
func samePassword(password string) string { return norm.NFC.String(password) }

// hashOfNobody makes, when it is first needed, the hash of a password that nobody knows, to compare
// with where there is no account.
func hashOfNobody() func() string {
	return sync.OnceValue(func() string {
		hash, err := argon2id.CreateHash(rand.Text(), hashParams)
		if err != nil {
			panic("account: " + err.Error()) // the system has no randomness
		}
		return hash
	})
}

package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"martelo/app/refusal"
	"martelo/db"
)

const (
	// tokenPrefix lets a token that leaked into a log or a repository be found and known for what
	// it is.
	tokenPrefix = "mrt_"
	// tokenBytes of randomness need no slow hash: nobody guesses them.
	tokenBytes = 32
	// TokenRevokedWithin is how long a node may still take a token that was revoked, or a role that
	// was changed, on another node.
	TokenRevokedWithin = 10 * time.Second
	// tokensOfUserMax is how many tokens one user may have, and how many are listed.
	tokensOfUserMax = 100
)

type tokenHash = [sha256.Size]byte

// Identity is who a request comes from. Service tells that it came with a service token, which acts
// for any user.
type Identity struct {
	Person
	Service bool
}

// Token is what its owner may see of a token: never the token itself.
type Token struct {
	ID        int64
	Name      string
	Service   bool
	CreatedAt time.Time
}

// MakeToken makes a token with which a program acts as a user, and returns it for the only time: a
// hash is kept. A service token acts for any user. It returns refusal.FieldErrors for a name that
// is too long or one token too many.
func (p *People) MakeToken(ctx context.Context, userID int64, name string, service bool) (string, error) {
	name = strings.TrimSpace(name)
	if name != "" {
		clean, wrong := cleanName(name)
		if wrong != nil {
			return "", refusal.FieldErrors{wrong}
		}
		name = clean
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	have, err := p.queries.TokensOfUser(ctx, db.TokensOfUserParams{UserID: userID, RowLimit: tokensOfUserMax})
	if err != nil {
		return "", db.Unavailable(err)
	}
	if len(have) >= tokensOfUserMax {
		return "", refusal.FieldErrors{refusal.Of(FieldName, refusal.TooMany{Count: tokensOfUserMax})}
	}
	token := newToken()
	hash := sha256.Sum256([]byte(token))
	if _, err := p.queries.TokenInsert(
		ctx, db.TokenInsertParams{UserID: userID, Name: name, Hash: hash[:], Service: service},
	); err != nil {
		return "", db.Unavailable(err)
	}
	return token, nil
}

func newToken() string {
	var random [tokenBytes]byte
	rand.Read(random[:]) // never fails
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(random[:])
}

// Tokens lists a user's tokens, newest first.
func (p *People) Tokens(ctx context.Context, userID int64) ([]Token, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	rows, err := p.queries.TokensOfUser(ctx, db.TokensOfUserParams{UserID: userID, RowLimit: tokensOfUserMax})
	if err != nil {
		return nil, db.Unavailable(err)
	}
	tokens := make([]Token, len(rows))
	for i, row := range rows {
		tokens[i] = Token{ID: row.ID, Name: row.Name, Service: row.Service, CreatedAt: row.CreatedAt}
	}
	return tokens, nil
}

// RevokeToken ends a user's token: here at once, on other nodes within TokenRevokedWithin. It
// returns ErrUnknownToken if the user has no such token.
func (p *People) RevokeToken(ctx context.Context, userID, tokenID int64) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	hashes, err := p.queries.TokenDelete(ctx, db.TokenDeleteParams{ID: tokenID, UserID: userID})
	if err != nil {
		return db.Unavailable(err)
	}
	if len(hashes) == 0 {
		return ErrUnknownToken
	}
	for _, hash := range hashes {
		p.tokens.forget(tokenHash(hash))
	}
	return nil
}

// ByToken returns whose token it is, or ErrUnknownToken. An answer is remembered for
// TokenRevokedWithin.
func (p *People) ByToken(ctx context.Context, token string) (Identity, error) {
	if len(token) != len(tokenPrefix)+base64.RawURLEncoding.EncodedLen(tokenBytes) ||
		!strings.HasPrefix(token, tokenPrefix) {
		return Identity{}, ErrUnknownToken
	}
	hash := sha256.Sum256([]byte(token))
	if who, found := p.tokens.get(hash); found {
		return who, nil
	}
	// A token that many bids come with is looked up once for all of them; the one who asks does not
	// take the question back.
	who, err, _ := p.looking.Do(string(hash[:]), func() (any, error) {
		return p.lookUp(context.WithoutCancel(ctx), hash)
	})
	if err != nil {
		return Identity{}, err
	}
	return who.(Identity), nil
}

func (p *People) lookUp(ctx context.Context, hash tokenHash) (Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	generation := p.tokens.now()
	row, err := p.queries.TokenByHash(ctx, hash[:])
	if db.IsNoRows(err) {
		return Identity{}, ErrUnknownToken
	}
	if err != nil {
		return Identity{}, db.Unavailable(err)
	}
	who := Identity{Person: person(row.User), Service: row.Token.Service}
	p.tokens.put(hash, who, generation)
	p.known.add(who.ID)
	return who, nil
}

// String names an identity in logs.
func (i Identity) String() string { return strconv.FormatInt(i.ID, 10) }

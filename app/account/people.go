// Package account is the people of the house: who they are, how they prove it, and what they may
// do.
//
// Somebody who signs in has an e-mail address and a password; a bidder kept by a marketplace's own
// system has neither. Programs act with tokens. What is asked on the way of every bid (whose token
// is this, is there such a bidder) is remembered for a while by each node, so that a bid costs no
// query here.
package account

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/singleflight"

	"martelo/app/auction"
	"martelo/app/refusal"
	"martelo/db"
)

// answerWithin bounds each question to PostgreSQL, so that one that has vanished is a refusal and
// not a hang.
const answerWithin = 3 * time.Second

// Role is what a person may do. Everybody may bid.
type Role string

// The roles, as the database spells them.
const (
	RoleUser   Role = "user"
	RoleSeller Role = "seller" // may also create auctions
	RoleAdmin  Role = "admin"  // may also cancel anybody's auction
)

func (r Role) known() bool { return r == RoleUser || r == RoleSeller || r == RoleAdmin }

// Refusals of this package. What is wrong with a form comes as refusal.FieldErrors.
var (
	// ErrWrongPassword does not tell whether there is such an e-mail address.
	ErrWrongPassword = errors.New("account: e-mail and password do not go together")
	ErrUnknownToken  = errors.New("account: no such token")
	ErrNoSuchUser    = errors.New("account: no such user")
	// ErrBlocked is told only to who knows the password.
	ErrBlocked = errors.New("account: blocked by the house")
)

// Person is somebody the house knows.
type Person struct {
	ID        int64
	Email     string // "" for a bidder kept by a marketplace
	Name      string
	Role      Role
	CreatedAt time.Time

	SellerName   string // what buyers see; "" shows the number alone
	SessionEpoch int64  // sessions that began under another one are over
	Blocked      bool
}

// MaySell tells whether the person may create auctions.
func (p Person) MaySell() bool { return p.Role == RoleSeller || p.Role == RoleAdmin }

// Actor is the person as the rulebook sees one.
func (p Person) Actor() auction.Actor {
	return auction.Actor{UserID: p.ID, Admin: p.Role == RoleAdmin}
}

// People answers for everybody. It may be shared by any number of goroutines.
type People struct {
	queries *db.Queries
	hashing chan struct{} // holds a place for each password being hashed
	spent   spentMemory
	nobody  func() string // a hash that no password has

	tokens  tokenCache
	looking singleflight.Group
	known   knownIDs
}

// New makes the people of the house kept in a database.
func New(pool *pgxpool.Pool) *People {
	return &People{
		queries: db.New(pool),
		hashing: make(chan struct{}, hashingMax),
		nobody:  hashOfNobody(),
		tokens:  tokenCache{found: map[tokenHash]tokenEntry{}},
	}
}

// Person returns somebody by id, or ErrNoSuchUser.
func (p *People) Person(ctx context.Context, id int64) (Person, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	row, err := p.queries.UserGet(ctx, id)
	return personOr(row, err)
}

// ByEmail returns somebody by e-mail address, or ErrNoSuchUser.
func (p *People) ByEmail(ctx context.Context, email string) (Person, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	row, err := p.userByEmail(ctx, email)
	return personOr(row, err)
}

// Exists tells whether there is a user of an id. Users are never deleted, so a yes is remembered.
func (p *People) Exists(ctx context.Context, id int64) (bool, error) {
	if p.known.has(id) {
		return true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	found, err := p.queries.UserExists(ctx, id)
	if err != nil {
		return false, db.Unavailable(err)
	}
	if found {
		p.known.add(id)
	}
	return found, nil
}

// StartSelling makes a user a seller under a name that buyers see, or gives a seller another name;
// an admin stays one. Without a name buyers see the seller's number alone. It returns
// refusal.FieldErrors.
func (p *People) StartSelling(ctx context.Context, id int64, sellerName string) error {
	name, wrong := cleanSellerName(sellerName)
	if wrong != nil {
		return refusal.FieldErrors{wrong}
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if _, err := p.queries.UserMakeSeller(ctx, db.UserMakeSellerParams{ID: id, SellerName: name}); err != nil {
		return db.Unavailable(err)
	}
	p.tokens.forgetUser(id)
	return nil
}

// AddBidder adds a bidder who is kept by a marketplace's own system, and returns the id. It returns
// refusal.FieldErrors.
func (p *People) AddBidder(ctx context.Context, name string) (int64, error) {
	name, wrong := cleanName(name)
	if wrong != nil {
		return 0, refusal.FieldErrors{wrong}
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	row, err := p.queries.UserInsert(ctx, db.UserInsertParams{Name: name, Role: string(RoleUser)})
	if err != nil {
		return 0, db.Unavailable(err)
	}
	p.known.add(row.ID)
	return row.ID, nil
}

// Account is what somebody who wants one says. An empty Role is RoleUser. SellerName is what buyers
// see of a seller.
type Account struct {
	Email, Name, Password string
	Role                  Role
	SellerName            string
}

// SignUp makes an account. It returns refusal.FieldErrors with what is wrong, an address that is
// taken among it.
func (p *People) SignUp(ctx context.Context, a Account) (Person, error) {
	return p.signUp(ctx, a, a.clean())
}

// SignUpDemo makes an account of the demo house, whose password everybody knows.
func (p *People) SignUpDemo(ctx context.Context, a Account) (Person, error) {
	a.Password = rand.Text() // passes for a password that nobody knows
	wrong := a.clean()
	a.Password = DemoPassword
	return p.signUp(ctx, a, wrong)
}

func (p *People) signUp(ctx context.Context, a Account, wrong refusal.FieldErrors) (Person, error) {
	sellerName, refused := cleanSellerName(a.SellerName)
	if refused != nil {
		wrong = append(wrong, refused)
	}
	if len(wrong) > 0 {
		return Person{}, wrong
	}
	hash, err := p.hash(ctx, a.Password)
	if err != nil {
		return Person{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	row, err := p.queries.UserInsert(ctx, db.UserInsertParams{
		Email: &a.Email, Name: a.Name, PasswordHash: &hash, Role: string(a.Role), SellerName: sellerName,
	})
	if db.IsUnique(err, "users_email_key") {
		return Person{}, refusal.FieldErrors{refusal.Of(FieldEmail, refusal.Taken)}
	}
	if err == nil {
		p.known.add(row.ID)
	}
	return personOr(row, err)
}

// SignIn returns the person an e-mail address and a password belong to, or ErrWrongPassword. An
// address that nobody has takes as long.
func (p *People) SignIn(ctx context.Context, email, password string) (Person, error) {
	asking, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	row, err := p.userByEmail(asking, email)
	if err != nil && !db.IsNoRows(err) {
		return Person{}, db.Unavailable(err)
	}
	hash := p.nobody()
	if err == nil && row.PasswordHash != nil {
		hash = *row.PasswordHash
	}
	matches, hashErr := p.matches(ctx, password, hash)
	switch {
	case hashErr != nil:
		return Person{}, hashErr
	case err != nil || !matches:
		return Person{}, ErrWrongPassword
	case row.BlockedAt != nil:
		return Person{}, ErrBlocked
	}
	return personOr(row, nil)
}

// userByEmail finds no rows for what cannot be an address, some of which PostgreSQL could not even
// read.
func (p *People) userByEmail(ctx context.Context, email string) (db.User, error) {
	canonical := CanonicalEmail(email)
	if canonical == "" {
		return db.User{}, pgx.ErrNoRows
	}
	return p.queries.UserByEmail(ctx, string(canonical))
}

func personOr(row db.User, err error) (Person, error) {
	if db.IsNoRows(err) {
		return Person{}, ErrNoSuchUser
	}
	if err != nil {
		return Person{}, db.Unavailable(err)
	}
	return person(row), nil
}

func person(row db.User) Person {
	p := Person{
		ID: row.ID, Name: row.Name, Role: Role(row.Role), CreatedAt: row.CreatedAt, SessionEpoch: row.SessionEpoch,
		Blocked: row.BlockedAt != nil,
	}
	if row.Email != nil {
		p.Email = *row.Email
	}
	if row.SellerName != nil {
		p.SellerName = *row.SellerName
	}
	return p
}

package account

import (
	"context"
	"errors"

	"martelo/app/refusal"
	"martelo/db"
)

// ErrNoPassword refuses to give a password to a bidder whom a marketplace keeps: that one never
// signs in.
var ErrNoPassword = errors.New("account: somebody without an e-mail address has no password")

// SetPassword gives a person a new password, ends all sessions and forgets the browsers of the old
// one. It returns the epoch under which sessions begin from now on, or refusal.FieldErrors for a
// password that is not good enough.
func (p *People) SetPassword(ctx context.Context, id int64, password string) (epoch int64, err error) {
	person, err := p.Person(ctx, id)
	if err != nil {
		return 0, err
	}
	if person.Email == "" {
		return 0, ErrNoPassword
	}
	if reason := refusePassword(password, Email(person.Email), person.Name); reason != nil {
		return 0, refusal.FieldErrors{refusal.Of(FieldPassword, reason)}
	}
	hash, err := p.hash(ctx, password)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if epoch, err = p.queries.UserSetPassword(ctx, db.UserSetPasswordParams{PasswordHash: &hash, ID: id}); err != nil {
		return 0, db.Unavailable(err)
	}
	return epoch, db.Unavailable(p.queries.DevicesDelete(ctx, id))
}

// CheckPassword returns ErrWrongPassword unless a password is the person's.
func (p *People) CheckPassword(ctx context.Context, id int64, password string) error {
	asking, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	row, err := p.queries.UserGet(asking, id)
	if err != nil {
		return db.Unavailable(err)
	}
	hash := p.nobody()
	if row.PasswordHash != nil {
		hash = *row.PasswordHash
	}
	matches, err := p.matches(ctx, password, hash)
	if err == nil && !matches {
		err = ErrWrongPassword
	}
	return err
}

// EndSessions signs a person out everywhere and forgets the browsers. It returns the epoch under
// which sessions begin from now on.
func (p *People) EndSessions(ctx context.Context, id int64) (epoch int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	epoch, err = p.queries.UserEndSessions(ctx, id)
	if db.IsNoRows(err) {
		return 0, ErrNoSuchUser
	}
	if err != nil {
		return 0, db.Unavailable(err)
	}
	return epoch, db.Unavailable(p.queries.DevicesDelete(ctx, id))
}

// RevokeTokens ends all of a person's tokens: here at once, on other nodes within
// TokenRevokedWithin.
func (p *People) RevokeTokens(ctx context.Context, id int64) (revoked int, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	hashes, err := p.queries.TokensDelete(ctx, id)
	if err != nil {
		return 0, db.Unavailable(err)
	}
	p.tokens.forgetUser(id)
	return len(hashes), nil
}

// Block keeps a person out: all sessions end, neither password nor tokens are taken. Bids that were
// made stand.
func (p *People) Block(ctx context.Context, id int64) error {
	return p.change(ctx, id, func(ctx context.Context) (int64, error) {
		rows, err := p.queries.UserBlock(ctx, id)
		if err == nil {
			err = p.queries.DevicesDelete(ctx, id)
		}
		return rows, err
	})
}

// Unblock lets a blocked person in again, with the tokens there were.
func (p *People) Unblock(ctx context.Context, id int64) error {
	return p.change(ctx, id, func(ctx context.Context) (int64, error) { return p.queries.UserUnblock(ctx, id) })
}

// SetRole changes what a person may do. It returns refusal.FieldErrors for a role that there is
// not.
func (p *People) SetRole(ctx context.Context, id int64, role Role) error {
	if !role.known() {
		return refusal.FieldErrors{wrongRole}
	}
	return p.change(ctx, id, func(ctx context.Context) (int64, error) {
		return p.queries.UserSetRole(ctx, db.UserSetRoleParams{ID: id, Role: string(role)})
	})
}

// change changes the row of a person, or returns ErrNoSuchUser.
func (p *People) change(ctx context.Context, id int64, change func(context.Context) (int64, error)) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	rows, err := change(ctx)
	if err != nil {
		return db.Unavailable(err)
	}
	if rows == 0 {
		return ErrNoSuchUser
	}
	p.tokens.forgetUser(id)
	return nil
}

// Outside counts the people who have none of some e-mail addresses.
func (p *People) Outside(ctx context.Context, emails []string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	n, err := p.queries.UsersOutside(ctx, emails)
	return n, db.Unavailable(err)
}

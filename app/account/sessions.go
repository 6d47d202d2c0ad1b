package account

import (
	"context"
	"time"

	"martelo/app/loop"
	"martelo/db"
)

// sessionsSweptEvery is how often a node deletes the sessions that have run out. They are refused
// from the moment they do.
const sessionsSweptEvery = 10 * time.Minute

// Sessions keeps browser sessions in PostgreSQL, for scs. Unlike the library's own store it asks
// with a deadline, so that a database that has vanished is an error and not a hang.
type Sessions struct{ queries *db.Queries }

// Sessions is the store of the people's browser sessions.
func (p *People) Sessions() *Sessions { return &Sessions{queries: p.queries} }

// FindCtx returns a session's data, and whether there is such a session and it has not run out.
func (s *Sessions) FindCtx(ctx context.Context, token string) ([]byte, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	data, err := s.queries.SessionFind(ctx, token)
	if db.IsNoRows(err) {
		return nil, false, nil
	}
	return data, err == nil, db.Unavailable(err)
}

// CommitCtx keeps a session until it expires.
func (s *Sessions) CommitCtx(ctx context.Context, token string, data []byte, expiry time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	return db.Unavailable(s.queries.SessionKeep(ctx, db.SessionKeepParams{Token: token, Data: data, Expiry: expiry}))
}

// DeleteCtx ends a session.
func (s *Sessions) DeleteCtx(ctx context.Context, token string) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	return db.Unavailable(s.queries.SessionDelete(ctx, token))
}

// Find is FindCtx, for the half of scs's interface that has no context.
func (s *Sessions) Find(token string) ([]byte, bool, error) {
	return s.FindCtx(context.Background(), token)
}

// Commit is CommitCtx without a context.
func (s *Sessions) Commit(token string, data []byte, expiry time.Time) error {
	return s.CommitCtx(context.Background(), token, data, expiry)
}

// Delete is DeleteCtx without a context.
func (s *Sessions) Delete(token string) error { return s.DeleteCtx(context.Background(), token) }

// Sweep deletes sessions that have run out, now and then, until the context ends. Any number of
// nodes may do it at once. What fails is tried again the next time.
func (s *Sessions) Sweep(ctx context.Context, sweeper *loop.Loop) {
	ticker := time.NewTicker(sessionsSweptEvery)
	defer ticker.Stop()
	for {
		_ = sweeper.Turn(ctx, s.sweepOnce) // it has told
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (s *Sessions) sweepOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	_, err := s.queries.SessionsDeleteExpired(ctx)
	return err
}

// Package draft keeps forms that people have filled in and not sent off yet, as they were typed.
package draft

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"martelo/app/loop"
	"martelo/db"
)

const (
	// keptFor is how long a form is kept after it was last changed: the lot is finished the same
	// day or begun anew.
	keptFor = 24 * time.Hour
	// draftsMax is how many forms one person may have, so that nobody fills the table. The oldest
	// go first.
	draftsMax = 20
	// sweptEvery is how often a node deletes old forms.
	sweptEvery = 10 * time.Minute
	// answerWithin bounds a wait for a database that has vanished.
	answerWithin = 3 * time.Second
)

// ErrNone says that no such form of this person is kept, or no longer.
var ErrNone = errors.New("draft: none is kept under this key")

// Draft is a form that is kept. AuctionID is the lot that was published from it, 0 before.
type Draft struct {
	Form      []byte
	AuctionID int64
}

// Drafts keeps forms in PostgreSQL.
type Drafts struct{ queries *db.Queries }

// New makes the room.
func New(pool *pgxpool.Pool) *Drafts { return &Drafts{queries: db.New(pool)} }

// Keep keeps somebody's form under its key, in place of what was kept there. It returns an error
// that wraps auction.ErrUnavailable while the database is away.
func (d *Drafts) Keep(ctx context.Context, userID int64, key uuid.UUID, form []byte) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	err := d.queries.DraftKeep(ctx, db.DraftKeepParams{UserID: userID, Key: key, Form: form})
	if err == nil {
		err = d.queries.DraftsTrim(ctx, db.DraftsTrimParams{UserID: userID, RowLimit: draftsMax})
	}
	return db.Unavailable(err)
}

// Find is the form that somebody has kept under a key. It returns ErrNone, or an error that wraps
// auction.ErrUnavailable.
func (d *Drafts) Find(ctx context.Context, userID int64, key uuid.UUID) (Draft, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	row, err := d.queries.DraftFind(ctx, db.DraftFindParams{UserID: userID, Key: key})
	if db.IsNoRows(err) {
		return Draft{}, ErrNone
	}
	if err != nil {
		return Draft{}, db.Unavailable(err)
	}
	found := Draft{Form: row.Form}
	if row.AuctionID != nil {
		found.AuctionID = *row.AuctionID
	}
	return found, nil
}

// Publish keeps a form with the lot that was published from it. The first lot of a form stays.
func (d *Drafts) Publish(ctx context.Context, userID int64, key uuid.UUID, form []byte, auctionID int64) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	return db.Unavailable(d.queries.DraftPublish(ctx, db.DraftPublishParams{
		UserID: userID, Key: key, Form: form, AuctionID: &auctionID,
	}))
}

// Sweep deletes old forms now and then, until the context ends. Any number of nodes may do it at
// once. What fails is tried again the next time.
func (d *Drafts) Sweep(ctx context.Context, failures *loop.Loop) {
	ticker := time.NewTicker(sweptEvery)
	defer ticker.Stop()
	for {
		failures.Note(ctx, d.sweepOnce(ctx))
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (d *Drafts) sweepOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	_, err := d.queries.DraftsDeleteOld(ctx, keptFor.Seconds())
	return err
}

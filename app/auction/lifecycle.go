package auction

import (
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"martelo/app/money"
	"martelo/app/refusal"
	"martelo/app/text"
)

const (
	// TitleLengthMax is in characters: a title fits a list on a phone.
	TitleLengthMax = 200
	// DescriptionLengthMax is in characters, of which a few pages have as many.
	DescriptionLengthMax = 10_000
	// SoftCloseMax bounds window and extension: longer than a day is no soft close.
	SoftCloseMax = 24 * time.Hour
	// horizonYears bounds how far ahead an auction may end; beyond it lies a mistyped year.
	horizonYears = 5
	horizonMax   = horizonYears * 366 * 24 * time.Hour
)

// DefaultSoftClose is what an auction has unless its seller says otherwise: the house's two
// minutes.
var DefaultSoftClose = SoftClose{Window: 2 * time.Minute, Extend: 2 * time.Minute}

// Draft is an auction a seller wants to open.
type Draft struct {
	SellerID     int64
	Title        string
	Description  string
	Currency     money.Currency
	StartPrice   money.Amount
	MinIncrement money.Amount
	StartAt      time.Time // zero or past: now
	EndAt        time.Time
	SoftClose    SoftClose
	Lane         Lane
	Key          uuid.UUID // makes sending the same draft twice open one auction; zero: not asked for
}

// Open checks a draft at the moment now and returns the auction it becomes, without an id. It
// returns refusal.FieldErrors naming every field that is wrong.
func (d Draft) Open(now time.Time) (State, error) {
	startAt := d.StartAt
	if startAt.Before(now) {
		startAt = now
	}
	if wrong := d.wrong(startAt, now); len(wrong) > 0 {
		return State{}, wrong
	}
	s := State{
		SellerID: d.SellerID, Currency: d.Currency, StartPrice: d.StartPrice, MinIncrement: d.MinIncrement,
		CurrentPrice: d.StartPrice,
		Status:       Open, Lane: d.Lane, SoftClose: d.SoftClose,
		StartAt: startAt, EndAt: d.EndAt, OriginalEndAt: d.EndAt,
		Version: 1,
	}
	if startAt.After(now) {
		s.Status = Scheduled
	}
	return s, nil
}

// CleanTitle is the title as it is kept, "" when Open refuses it.
func (d Draft) CleanTitle() string {
	title, _ := text.Line(d.Title)
	return title
}

// CleanDescription is the description as it is kept, "" when Open refuses it.
func (d Draft) CleanDescription() string {
	description, _ := text.Lines(d.Description)
	return description
}

func (d Draft) wrong(startAt, now time.Time) refusal.FieldErrors {
	var wrong refusal.FieldErrors
	refuse := func(field string, reason refusal.Reason) { wrong = append(wrong, refusal.Of(field, reason)) }
	switch title, reason := text.Line(d.Title); {
	case reason != nil:
		refuse("title", reason)
	case !text.Visible(title):
		refuse("title", refusal.Missing)
	case utf8.RuneCountInString(title) > TitleLengthMax:
		refuse("title", refusal.TooLong{Max: TitleLengthMax})
	}
	switch description, reason := text.Lines(d.Description); {
	case reason != nil:
		refuse("description", reason)
	case utf8.RuneCountInString(description) > DescriptionLengthMax:
		refuse("description", refusal.TooLong{Max: DescriptionLengthMax})
	}
	if d.StartPrice.Minor() < 0 {
		refuse("startPrice", refusal.Negative)
	}
	if !d.MinIncrement.IsPositive() {
		refuse("minIncrement", refusal.NotPositive)
	} else if !d.StartPrice.Add(d.MinIncrement).Biddable() {
		refuse("startPrice", refusal.SumTooLarge{Digits: money.IntegerDigitsMax})
	}
	switch {
	case !d.EndAt.After(now):
		refuse("endTime", refusal.Past)
	case !d.EndAt.After(startAt):
		refuse("endTime", refusal.BeforeStart)
	case d.EndAt.Sub(now) > horizonMax:
		refuse("endTime", refusal.TooFar{Years: horizonYears})
	}
	if !d.SoftClose.valid() {
		refuse("softClose", refusal.OutOfRange{Max: int64(SoftCloseMax / time.Second)})
	}
	if !d.Lane.known() {
		refuse("lane", refusal.Unknown)
	}
	return wrong
}

func (l Lane) known() bool { return l == Standard || l == Hot }

func (c SoftClose) valid() bool {
	for _, d := range []time.Duration{c.Window, c.Extend} {
		if d < 0 || d > SoftCloseMax || d%time.Second != 0 {
			return false
		}
	}
	return true
}

// Actor is somebody who asks for something that not everybody may do.
type Actor struct {
	UserID int64
	Admin  bool
}

// MayCancel returns nil if somebody may end the auction without a winner: its seller may until the
// first bid, an admin until the end. It returns ErrForbidden, ErrHasBids, ErrCancelled, or
// *ClosedError once the end has passed, also while nobody has fixed the winner yet: whoever led
// then has won.
func (s State) MayCancel(by Actor, now time.Time) error {
	switch {
	case !by.Admin && by.UserID != s.SellerID:
		return ErrForbidden
	case s.Status == Cancelled:
		return ErrCancelled
	case s.Status == Closed || !now.Before(s.EndAt):
		return &ClosedError{EndAt: s.EndAt, DecidedAt: now}
	case !by.Admin && s.BidCount > 0:
		return ErrHasBids
	}
	return nil
}

// Cancel ends an auction without a winner, or returns what MayCancel does.
func (s State) Cancel(by Actor, now time.Time) (State, error) {
	if err := s.MayCancel(by, now); err != nil {
		return s, err
	}
	s.Status, s.ClosedAt = Cancelled, now
	s.Version++
	return s, nil
}

// MayMove tells whether an auction may be moved to another lane: by its seller or an admin, until
// it is over. Nothing else about it changes. It returns a *refusal.FieldError for a lane that is
// none, ErrForbidden, ErrCancelled, or *ClosedError.
func (s State) MayMove(by Actor, to Lane, now time.Time) error {
	switch {
	case !to.known():
		return refusal.Of("lane", refusal.Unknown)
	case !by.Admin && by.UserID != s.SellerID:
		return ErrForbidden
	case s.Status == Cancelled:
		return ErrCancelled
	case s.Status == Closed:
		return &ClosedError{EndAt: s.EndAt, DecidedAt: now}
	}
	return nil
}

// OpenAt starts a scheduled auction whose start has come.
func (s State) OpenAt(now time.Time) (State, bool) {
	if s.Status != Scheduled || now.Before(s.StartAt) {
		return s, false
	}
	s.Status = Open
	s.Version++
	return s, true
}

// Due tells whether the auction's end has come and it waits to be closed.
func (s State) Due(now time.Time) bool { return s.Status == Open && !now.Before(s.EndAt) }

// Close fixes the result of an auction that is due: from now on it never changes.
func (s State) Close(now time.Time) (State, bool) {
	if !s.Due(now) {
		return s, false
	}
	s.Status, s.ClosedAt = Closed, now
	s.Version++
	return s, true
}

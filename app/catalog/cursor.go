package catalog

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"time"

	"martelo/app/money"
	"martelo/app/refusal"
)

// cursor is a position in a list: the last auction of the page before.
type cursor struct {
	sort Sort
	over bool // in the order of end: among what is over, which comes last and the latest first
	// What the sort orders by: the end in microseconds, or the price in ten-thousandths of the
	// currency's unit.
	key int64
	id  int64 // 0: before the first auction
}

const (
	// cursorLengthMax bounds what is worth decoding: two numbers and a word.
	cursorLengthMax = 96
	// cursorOver is the word of a cursor in the order of end among what is over; the other cursors
	// begin with their sort.
	cursorOver = "over"
)

func cursorAt(a Auction, sort Sort) cursor {
	c := cursor{sort: sort, id: a.ID}
	switch sort {
	case SortEnding:
		c.over, c.key = a.Status.Over(), a.EndAt.UnixMicro()
		if a.listed != nil {
			c.key = a.listed.endAt.UnixMicro()
		}
	case SortPrice:
		c.key = nominalPrice(a.CurrentPrice)
		if a.listed != nil {
			c.key = a.listed.price
		}
	}
	return c
}

// nominalPrice is the column of that name: the figure by which amounts of all currencies are
// ordered.
func nominalPrice(a money.Amount) int64 {
	nominal := a.Minor()
	for range 4 - a.Currency().Digits() {
		nominal *= 10
	}
	return nominal
}

// after is the position as statements that order by three rising figures take it.
func (c cursor) after() (over bool, place, tie int64) {
	switch {
	case c.id == 0:
		return false, math.MinInt64, 0
	case c.sort == SortNewest:
		return false, -c.id, c.id
	case c.over:
		return true, -c.key, -c.id
	}
	return false, c.key, c.id
}

// endAt is the end that a position in that order is at, before all ends for the first position.
func (c cursor) endAt() time.Time {
	if c.id == 0 {
		return time.Time{}
	}
	return time.UnixMicro(c.key).UTC()
}

// before is the id that a position in the order of newest is at, after all ids for the first
// position.
func (c cursor) before() int64 {
	if c.id == 0 {
		return math.MaxInt64
	}
	return c.id
}

// String is the cursor as clients get it: opaque, and safe in a URL.
func (c cursor) String() string {
	word := string(c.sort)
	if c.over {
		word = cursorOver
	}
	text := word + "." + strconv.FormatInt(c.key, 10) + "." + strconv.FormatInt(c.id, 10)
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

// readCursor reads what String wrote, for the same sort; "" is the first position. It returns a
// *refusal.FieldError for anything else. A cursor from before what is over had a place of its own
// is one among what is not over, and goes on from there.
func readCursor(text string, sort Sort) (cursor, error) {
	if text == "" {
		return cursor{sort: sort}, nil
	}
	refused := refusal.Of("cursor", refusal.Unreadable)
	if len(text) > cursorLengthMax {
		return cursor{}, refused
	}
	decoded, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return cursor{}, refused
	}
	parts := strings.Split(string(decoded), ".")
	if len(parts) != 3 {
		return cursor{}, refused
	}
	key, keyErr := strconv.ParseInt(parts[1], 10, 64)
	id, idErr := strconv.ParseInt(parts[2], 10, 64)
	c := cursor{sort: sort, over: sort == SortEnding && parts[0] == cursorOver, key: key, id: id}
	if keyErr != nil || idErr != nil || !c.possible() || c.String() != text {
		return cursor{}, refused
	}
	return c, nil
}

// possible tells whether there can be an auction at a position. Beyond these years PostgreSQL
// cannot read a time, and no auction ends.
func (c cursor) possible() bool {
	year := time.UnixMicro(c.key).UTC().Year()
	if c.id == 0 {
		return c.key == 0 && !c.over
	}
	return c.id > 0 && (c.sort != SortEnding || year >= 1 && year <= 9999)
}

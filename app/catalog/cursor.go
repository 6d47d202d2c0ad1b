package catalog

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"time"

	"martelo/app/money"
)

// cursor is a position in a list: the last auction of the page before. Only the parts that its sort orders by matter.
type cursor struct {
	sort  Sort
	endAt time.Time
	price int64 // in ten-thousandths of the currency's unit, as the database orders it
	id    int64
}

// cursorLengthMax bounds what is worth decoding: two numbers and a word.
const cursorLengthMax = 96

// firstOf is the position before the first auction of a list.
func firstOf(sort Sort) cursor {
	if sort == SortNewest {
		return cursor{sort: sort, id: math.MaxInt64}
	}
	return cursor{sort: sort, price: -1}
}

func cursorAt(a Auction, sort Sort) cursor {
	return cursor{sort: sort, endAt: a.EndAt, price: nominalPrice(a.CurrentPrice), id: a.ID}
}

// nominalPrice is the column of that name: the figure by which amounts of all currencies are ordered.
func nominalPrice(a money.Amount) int64 {
	nominal := a.Minor()
	for range 4 - a.Currency().Digits() {
		nominal *= 10
	}
	return nominal
}

// String is the cursor as clients get it: opaque, and safe in a URL.
func (c cursor) String() string {
	var key int64
	switch c.sort {
	case SortEnding:
		key = c.endAt.UnixMicro()
	case SortPrice:
		key = c.price
	}
	text := string(c.sort) + "." + strconv.FormatInt(key, 10) + "." + strconv.FormatInt(c.id, 10)
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

// readCursor reads what String wrote, for the same sort; "" is the first position. It returns an *auction.FieldError for anything else.
func readCursor(text string, sort Sort) (cursor, error) {
	if text == "" {
		return firstOf(sort), nil
	}
	refused := fieldError("cursor", "A cursor is the nextCursor of an earlier page of the same list.")
	if len(text) > cursorLengthMax {
		return cursor{}, refused
	}
	decoded, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return cursor{}, refused
	}
	parts := strings.Split(string(decoded), ".")
	if len(parts) != 3 || parts[0] != string(sort) {
		return cursor{}, refused
	}
	key, keyErr := strconv.ParseInt(parts[1], 10, 64)
	id, idErr := strconv.ParseInt(parts[2], 10, 64)
	if keyErr != nil || idErr != nil || id < 1 {
		return cursor{}, refused
	}
	c := cursor{sort: sort, id: id}
	switch sort {
	case SortEnding:
		c.endAt = time.UnixMicro(key).UTC()
		// Beyond these years PostgreSQL cannot read the time, and no auction ends.
		if c.endAt.Year() < 1 || c.endAt.Year() > 9999 {
			return cursor{}, refused
		}
	case SortPrice:
		c.price = key
	}
	if c.String() != text {
		return cursor{}, refused
	}
	return c, nil
}

package web

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"martelo/app/auction"
	"martelo/app/refusal"
)

const headerKey = "Idempotency-Key"

// uuidLength is the canonical form's: other ways to write a UUID (braces, urn, bare digits) are refused, so that one key has one spelling.
const uuidLength = 36

// readKey reads the Idempotency-Key. It may come several times if it is the same each time.
func readKey(header http.Header) (uuid.UUID, error) {
	var key uuid.UUID
	found := false
	for _, value := range header.Values(headerKey) {
		if value == "" {
			continue
		}
		one, ok := parseKey(value)
		if !ok || found && one != key {
			return uuid.Nil, errKeyInvalid
		}
		key, found = one, true
	}
	if !found {
		return uuid.Nil, errKeyMissing
	}
	return key, nil
}

func parseKey(text string) (uuid.UUID, bool) {
	if len(text) != uuidLength {
		return uuid.Nil, false
	}
	key, err := uuid.Parse(text)
	return key, err == nil
}

// auctionID reads the id in the path. What cannot be an id is not found.
func auctionID(c echo.Context) (int64, error) {
	id, ok := parseID(c.Param("id"))
	if !ok {
		return 0, auction.ErrNotFound
	}
	noteOf(c).auctionID = id
	return id, nil
}

// parseID reads a positive id in its one spelling.
func parseID(text string) (int64, bool) {
	n, ok := parseInteger(text)
	return n, ok && n > 0
}

// parseInteger reads a whole number in its one spelling: no plus, no leading zeros.
func parseInteger(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == text
}

// query reads the query of the URL, which Go would otherwise read as far as it can.
func query(r *http.Request) (url.Values, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, malformedError{refusal.BadQuery}
	}
	return values, nil
}

// queryInteger reads a number from least to most; what is absent or empty is otherwise.
func queryInteger(values url.Values, field string, least, most, otherwise int64) (int64, error) {
	text := values.Get(field)
	if text == "" {
		return otherwise, nil
	}
	n, ok := parseInteger(text)
	if !ok || n < least || n > most {
		return 0, refusal.Of(field, refusal.OutOfRange{Min: least, Max: most})
	}
	return n, nil
}

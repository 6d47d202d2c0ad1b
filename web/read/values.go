package read

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/google/uuid"

	"martelo/app/refusal"
)

// HeaderKey names a call, so that sending it again is no second one.
const HeaderKey = "Idempotency-Key"

// uuidLength is the canonical form's: other ways to write a UUID (braces, urn, bare digits) are
// refused, so that one key has one spelling.
const uuidLength = 36

// Key reads the Idempotency-Key. It may come several times if it is the same each time.
func Key(header http.Header) (uuid.UUID, error) {
	var key uuid.UUID
	found := false
	for _, value := range header.Values(HeaderKey) {
		if value == "" {
			continue
		}
		one, ok := ParseKey(value)
		if !ok || found && one != key {
			return uuid.Nil, ErrKeyInvalid
		}
		key, found = one, true
	}
	if !found {
		return uuid.Nil, ErrKeyMissing
	}
	return key, nil
}

// ParseKey reads an Idempotency-Key, which is a UUID in its usual form.
func ParseKey(text string) (uuid.UUID, bool) {
	if len(text) != uuidLength {
		return uuid.Nil, false
	}
	key, err := uuid.Parse(text)
	return key, err == nil
}

// ID reads a positive id in its one spelling.
func ID(text string) (int64, bool) {
	n, ok := Integer(text)
	return n, ok && n > 0
}

// Integer reads a whole number in its one spelling: no plus, no leading zeros.
func Integer(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == text
}

// Query reads the query of the URL, which Go would otherwise read as far as it can.
func Query(r *http.Request) (url.Values, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, MalformedError{Reason: refusal.BadQuery}
	}
	return values, nil
}

// QueryInteger reads a number from least to most; what is absent or empty is otherwise.
func QueryInteger(values url.Values, field string, least, most, otherwise int64) (int64, error) {
	text := values.Get(field)
	if text == "" {
		return otherwise, nil
	}
	n, ok := Integer(text)
	if !ok || n < least || n > most {
		return 0, refusal.Of(field, refusal.OutOfRange{Min: least, Max: most})
	}
	return n, nil
}

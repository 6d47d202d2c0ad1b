// Package read reads requests: bodies, forms, queries and headers. What it returns is well-formed.
// Whether it is allowed is for the rooms behind it to say.
package read

import (
	"errors"

	"martelo/app/refusal"
)

// Refusals of what cannot be read. A field that is wrong is a *refusal.FieldError.
var (
	// ErrKeyMissing refuses a call without the header that names it.
	ErrKeyMissing = errors.New("read: no Idempotency-Key")
	// ErrKeyInvalid refuses a key that is not one UUID in its usual form.
	ErrKeyInvalid = errors.New("read: Idempotency-Key is not one UUID")
	// ErrTooLarge refuses a body over the contract's limit.
	ErrTooLarge = errors.New("read: body over the limit")
	// ErrUnsupportedMedia refuses a body of a type that the call does not take, or a packed one.
	ErrUnsupportedMedia = errors.New("read: body of another type")
)

// MalformedError refuses a request that cannot be read.
type MalformedError struct{ Reason refusal.Reason }

// Error names the reason, for logs.
func (e MalformedError) Error() string { return "read: malformed: " + string(e.Reason.Code()) }

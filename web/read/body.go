package read

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"time"
	"unicode/utf8"

	"martelo/app/money"
	"martelo/app/refusal"
)

// bodyBytesMax is the contract's limit.
const bodyBytesMax = 64 << 10

// Body reads a body of at most bodyBytesMax. It returns ErrTooLarge, ErrUnsupportedMedia for one
// that is packed, or a MalformedError for one that breaks off or does not come in time.
func Body(r *http.Request) ([]byte, error) {
	if r.ContentLength > bodyBytesMax {
		return nil, ErrTooLarge
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return nil, ErrUnsupportedMedia
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, bodyBytesMax+1))
	if len(body) > bodyBytesMax {
		return nil, ErrTooLarge
	}
	if err != nil {
		return nil, MalformedError{Reason: refusal.BodyBrokeOff}
	}
	return body, nil
}

// Object is a JSON object as it was sent: its members are read one by one, so that an amount is
// never a float and a field that is wrong can be named. Members nobody asks for are ignored; null
// is as good as absent.
type Object map[string]json.RawMessage

// ObjectOf reads the body of an API call. It returns ErrUnsupportedMedia, ErrTooLarge or a
// MalformedError.
func ObjectOf(r *http.Request) (Object, error) {
	if Media(r) != MediaJSON {
		return nil, ErrUnsupportedMedia
	}
	body, err := Body(r)
	if err != nil {
		return nil, err
	}
	return parseObject(body)
}

// parseObject reads one JSON object and nothing after it. A name that occurs twice is refused:
// which of the two is meant nobody can know.
func parseObject(text []byte) (Object, error) {
	if !utf8.Valid(text) {
		return nil, MalformedError{Reason: refusal.BodyNotUTF8}
	}
	if !json.Valid(text) {
		return nil, MalformedError{Reason: refusal.BodyNotJSON}
	}
	at := skipSpace(text, 0)
	if text[at] != '{' {
		return nil, MalformedError{Reason: refusal.BodyNotObject}
	}
	members := Object{}
	for at = skipSpace(text, at+1); text[at] != '}'; at = skipSpace(text, at) {
		if text[at] == ',' {
			at = skipSpace(text, at+1)
		}
		end := skipValue(text, at)
		key, err := memberName(text[at:end])
		if err != nil {
			return nil, err
		}
		if _, twice := members[key]; twice {
			return nil, MalformedError{Reason: refusal.NamedTwice{Name: key}}
		}
		at = skipSpace(text, skipSpace(text, end)+1) // the colon
		end = skipValue(text, at)
		members[key] = text[at:end:end]
		at = end
	}
	return members, nil
}

func memberName(quoted []byte) (name string, err error) {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1]), nil
	}
	if json.Unmarshal(quoted, &name) != nil {
		return "", MalformedError{Reason: refusal.BodyNotJSON}
	}
	return name, nil
}

// skipSpace and skipValue walk over JSON that is known to be valid; the bounds are checked by Go
// all the same.
func skipSpace(text []byte, at int) int {
	for text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r' {
		at++
	}
	return at
}

// skipValue returns where the value that begins at a place ends.
func skipValue(text []byte, at int) int {
	for depth := 0; at < len(text); at++ {
		switch text[at] {
		case '"':
			for at++; text[at] != '"'; at++ {
				if text[at] == '\\' {
					at++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		case ',', ':', ' ', '\t', '\n', '\r':
			continue
		default: // a number or a word
			for at+1 < len(text) && bytes.IndexByte([]byte(",:]} \t\n\r"), text[at+1]) < 0 {
				at++
			}
		}
		if depth == 0 {
			return at + 1
		}
	}
	return at
}

// Has tells whether a member is there and not null.
func (o Object) Has(field string) bool {
	value, found := o[field]
	return found && !bytes.Equal(value, []byte("null"))
}

// Text reads a string; "" when absent.
func (o Object) Text(field string) (string, *refusal.FieldError) {
	if !o.Has(field) {
		return "", nil
	}
	var text string
	if o[field][0] != '"' || json.Unmarshal(o[field], &text) != nil {
		return "", refusal.Of(field, refusal.NotString)
	}
	return text, nil
}

// Integer reads a whole number that fits 64 bits, written as one; 0 when absent.
func (o Object) Integer(field string) (int64, *refusal.FieldError) {
	if !o.Has(field) {
		return 0, nil
	}
	n, ok := Integer(string(o[field]))
	if !ok {
		return 0, refusal.Of(field, refusal.NotInteger)
	}
	return n, nil
}

// Decimal reads an amount of money, a number or a string, exactly as its digits say.
func (o Object) Decimal(field string) (money.Decimal, *refusal.FieldError) {
	if !o.Has(field) {
		return money.Decimal{}, refusal.Of(field, refusal.NoAmount)
	}
	text := string(o[field])
	if text[0] == '"' {
		var wrong *refusal.FieldError
		if text, wrong = o.Text(field); wrong != nil {
			return money.Decimal{}, wrong
		}
	}
	return parseDecimal(field, text)
}

func parseDecimal(field, text string) (money.Decimal, *refusal.FieldError) {
	decimal, err := money.Parse(text)
	if err != nil {
		return decimal, refusal.Of(field, refusal.Amount(err, money.Currency{}))
	}
	return decimal, nil
}

// Time reads a moment with its offset, to the microsecond; zero when absent.
func (o Object) Time(field string) (time.Time, *refusal.FieldError) {
	if !o.Has(field) {
		return time.Time{}, nil
	}
	text, wrong := o.Text(field)
	t, err := time.Parse(time.RFC3339Nano, text)
	if wrong != nil || err != nil || !momentForm.MatchString(text) {
		return time.Time{}, refusal.Of(field, refusal.NotMoment)
	}
	return t.UTC().Truncate(time.Microsecond), nil
}

// momentForm is RFC 3339's; time.Parse alone would take more, such as a comma before the fraction.
var momentForm = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`)

// Object reads an object; empty when absent.
func (o Object) Object(field string) (Object, *refusal.FieldError) {
	if !o.Has(field) {
		return Object{}, nil
	}
	inner, err := parseObject(o[field])
	if err != nil {
		return nil, refusal.Of(field, refusal.NotObject)
	}
	return inner, nil
}

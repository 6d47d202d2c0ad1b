package web

import (
	"errors"
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"martelo/app/account"
	"martelo/app/auction"
	"martelo/app/auctioneer"
	"martelo/app/catalog"
	"martelo/app/live"
	"martelo/app/money"
	"martelo/app/refusal"
	"martelo/templates/components"
	"martelo/templates/words"
	"martelo/web/read"
)

// Refusals of this room. What they mean to a client stands in the table below, beside those of the
// rooms behind it.
var (
	errUnauthenticated = errors.New("web: nobody is signed in")
	errBadToken        = errors.New("web: the token is not one of ours")
	errForbidden       = errors.New("web: not for this account")
	errOtherViewer     = errors.New("web: a form of somebody else")
	errNeedsSession    = errors.New("web: a token cannot do this")
	errDemoElsewhere   = errors.New("web: a demo account signs in from another machine")
	errCrossOrigin     = errors.New("web: sent by another site")
)

// limitedError refuses what comes too often.
type limitedError struct {
	wait time.Duration
	says string // the key of its words
}

// What comes too often.
const (
	tooManyBids  = "too_many_bids"
	tooManyTries = "too_many_tries"
)

func (e *limitedError) Error() string { return "web: too often: " + e.says }

// retryUnavailable is the Retry-After of a store that is away: clients that come back at once only
// lengthen the queue.
const retryUnavailable = time.Second

// problem is what an error means to whoever asked.
type problem struct {
	status int
	code   string // the contract's
	// says is the key of its words in templates/words, and figures are what they may name.
	says    string
	figures refusal.Figures
	// fields are those that are refused, if that is the problem.
	fields refusal.FieldErrors

	// page tells which words an error page has of it, and atForm that the form which was refused
	// says it, so that there is no error page.
	page   pageWords
	atForm bool

	retryAfter time.Duration
	// fault tells that the cause is ours and not the client's to know.
	fault bool
}

// pageWords are the words of an error page.
type pageWords int

const (
	// ofStatus are those about every problem of the status.
	ofStatus pageWords = iota
	// ownAdvice adds the problem's own detail, where those of the status do not help.
	ownAdvice
	// ownWords are the problem's own title and detail.
	ownWords
)

// plainProblems are the errors that need no figures, and what each means. The first that fits
// counts.
var plainProblems = []struct {
	err        error
	status     int
	code, says string
	page       pageWords
	atForm     bool
}{
	{read.ErrKeyMissing, 400, "idempotency_key_missing", "key_missing", ofStatus, false},
	{read.ErrKeyInvalid, 400, "idempotency_key_invalid", "key_invalid", ofStatus, false},
	{errUnauthenticated, 401, "unauthenticated", "signed_out", ofStatus, false},
	{errBadToken, 401, "unauthenticated", "bad_token", ofStatus, false},
	{account.ErrUnknownToken, 401, "unauthenticated", "bad_token", ofStatus, false},
	{account.ErrWrongPassword, 401, "unauthenticated", "wrong_password", ofStatus, true},
	{errForbidden, 403, "forbidden", "not_allowed", ofStatus, false},
	{errOtherViewer, 403, "forbidden", "other_viewer", ownWords, false},
	{errNeedsSession, 403, "forbidden", "needs_session", ofStatus, false},
	{errDemoElsewhere, 403, "forbidden", "demo_elsewhere", ofStatus, true},
	{account.ErrBlocked, 403, "forbidden", "blocked", ofStatus, true},
	{errCrossOrigin, 403, "forbidden", "cross_origin", ofStatus, false},
	{auction.ErrForbidden, 403, "forbidden", "not_allowed", ofStatus, false},
	{auction.ErrOwnAuction, 403, "own_auction", "own_auction", ownAdvice, false},
	{auction.ErrNotFound, 404, "not_found", "not_found", ofStatus, false},
	{account.ErrNoSuchUser, 404, "not_found", "not_found", ofStatus, false},
	{echo.ErrNotFound, 404, "not_found", "not_found", ofStatus, false},
	{echo.ErrMethodNotAllowed, 405, "method_not_allowed", "method_not_allowed", ofStatus, false},
	{auction.ErrCancelled, 409, "auction_cancelled", "cancelled", ownAdvice, false},
	{auction.ErrHasBids, 409, "has_bids", "has_bids", ownAdvice, false},
	{read.ErrTooLarge, 413, "too_large", "too_large", ofStatus, false},
	{read.ErrUnsupportedMedia, 415, "unsupported_media_type", "unsupported_media", ofStatus, false},
	{auctioneer.ErrKeyReused, 422, "idempotency_key_reused", "lot_key_reused", ownAdvice, true},
	{auction.ErrKeyReused, 422, "idempotency_key_reused", "key_reused", ownAdvice, false},
	{catalog.ErrSearchCrowd, 503, "unavailable", "search_crowd", ownWords, false},
	{catalog.ErrSearchTooWide, 503, "unavailable", "search_too_wide", ownWords, false},
}

// describe is the one way from an error to what a client is told of it.
func describe(err error) problem {
	// The one refusal that comes by the thousand is not looked for among all the others first.
	if tooLow, ok := err.(*auction.TooLowError); ok { //nolint:errorlint // a wrapped one is found below
		return tooLowProblem(tooLow)
	}
	for _, p := range plainProblems {
		if errors.Is(err, p.err) {
			described := problem{status: p.status, code: p.code, says: p.says, page: p.page, atForm: p.atForm}
			if p.status == http.StatusServiceUnavailable {
				described.retryAfter = retryUnavailable
			}
			return described
		}
	}
	if p, ok := describeFigures(err); ok {
		return p
	}
	// Last, since the answer to a bid may fail beside the bid itself, which is what counts.
	if errors.Is(err, auction.ErrUnavailable) {
		return problem{
			status: http.StatusServiceUnavailable, code: "unavailable", says: "unavailable",
			retryAfter: retryUnavailable,
		}
	}
	return problem{status: http.StatusInternalServerError, code: "internal_error", says: "fault", fault: true}
}

// describeFigures describes the errors that carry figures or reasons. The figures have the
// contract's names.
func describeFigures(err error) (problem, bool) {
	var (
		malformed  read.MalformedError
		limited    *limitedError
		tooLow     *auction.TooLowError
		open       *auction.UnconfirmedError
		closed     *auction.ClosedError
		notStarted *auction.NotStartedError
		field      *refusal.FieldError
		fields     refusal.FieldErrors
		full       *live.Refusal
		tooMany    *auctioneer.TooManyError
	)
	switch {
	case errors.As(err, &tooMany):
		return problem{
			status: http.StatusTooManyRequests, code: "rate_limited", says: string(tooMany.Reason.Code()),
			figures: tooMany.Reason.Figures(), page: ownWords, atForm: true, retryAfter: tooMany.Wait,
		}, true
	case errors.As(err, &malformed):
		return problem{
			status: http.StatusBadRequest, code: "malformed_request", says: string(malformed.Reason.Code()),
			figures: malformed.Reason.Figures(), page: ownAdvice,
		}, true
	case errors.As(err, &tooLow):
		return tooLowProblem(tooLow), true
	case errors.As(err, &open):
		return problem{
			status: http.StatusConflict, code: "confirmation_needed", says: "unconfirmed",
			figures: refusal.Figures{"currentPrice": open.CurrentPrice, "minimumBid": open.MinimumBid},
		}, true
	case errors.As(err, &closed):
		return problem{
			status: http.StatusConflict, code: "auction_closed", says: "closed",
			figures: refusal.Figures{"endTime": closed.EndAt, "serverTime": closed.DecidedAt},
		}, true
	case errors.As(err, &notStarted):
		return problem{
			status: http.StatusConflict, code: "auction_not_started", says: "not_started",
			figures: refusal.Figures{"startTime": notStarted.StartAt},
		}, true
	case errors.As(err, &fields):
		return fieldsProblem(fields), true
	case errors.As(err, &field):
		return fieldsProblem(refusal.FieldErrors{field}), true
	case errors.As(err, &full):
		return problem{
			status: http.StatusServiceUnavailable, code: "unavailable", says: "viewers_full",
			retryAfter: full.RetryAfter(),
		}, true
	case errors.As(err, &limited):
		return problem{
			status: http.StatusTooManyRequests, code: "rate_limited", says: limited.says,
			figures: refusal.Figures{"wait": wholeWait(limited.wait)}, atForm: true, retryAfter: limited.wait,
		}, true
	}
	return problem{}, false
}

func tooLowProblem(e *auction.TooLowError) problem {
	return problem{
		status: http.StatusConflict, code: "bid_too_low", says: "too_low",
		figures: refusal.Figures{
			"currentPrice": e.CurrentPrice, "minimumBid": e.MinimumBid, "endTime": e.EndAt, "serverTime": e.DecidedAt,
		},
	}
}

func fieldsProblem(fields refusal.FieldErrors) problem {
	return problem{
		status: http.StatusUnprocessableEntity, code: "invalid_field", says: "invalid_field", fields: fields,
		page: ownAdvice, atForm: true,
	}
}

// with is the problem with one figure more.
func (p problem) with(name string, figure any) problem {
	figures := refusal.Figures{name: figure}
	maps.Copy(figures, p.figures)
	p.figures = figures
	return p
}

// words are what is said of the problem in a language.
func (p problem) words(l words.Language) words.Problem {
	said := l.Problem(p.says, p.figures)
	if len(p.fields) > 0 {
		said.Detail = l.Reason(p.fields[0])
		said.Bid, said.Form = said.Detail, said.Detail
	}
	return said
}

// forForm is what a form says that was refused: its fields' problems, or the one that concerns all
// of it. It is nil for what no form says.
func (p problem) forForm(l words.Language) components.Problems {
	if !p.atForm {
		return nil
	}
	if len(p.fields) == 0 {
		return components.Problems{{Text: p.words(l).Form}}
	}
	list := make(components.Problems, len(p.fields))
	for i, f := range p.fields {
		list[i] = components.Problem{Field: f.Field, Text: l.Reason(f)}
	}
	return list
}

// problemJSON is a problem as a program gets it (RFC 9457), with the contract's extras.
type problemJSON struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Code   string `json:"code"`

	Field        string         `json:"field,omitempty"`
	Fields       []problemField `json:"fields,omitempty"` // all of them, when there is more than one
	CurrentPrice string         `json:"currentPrice,omitempty"`
	MinimumBid   string         `json:"minimumBid,omitempty"`
	StartTime    string         `json:"startTime,omitempty"`
	EndTime      string         `json:"endTime,omitempty"`
	ServerTime   string         `json:"serverTime,omitempty"` // when it was decided, by the clock that decides
}

type problemField struct {
	Field  string `json:"field"`
	Detail string `json:"detail"`
}

func (p problem) json() problemJSON {
	said := p.words(words.API)
	written := problemJSON{
		Type: "urn:martelo:problem:" + p.code, Title: said.Title, Status: p.status, Detail: said.Detail, Code: p.code,
		CurrentPrice: p.figure("currentPrice"), MinimumBid: p.figure("minimumBid"),
		StartTime: p.figure("startTime"), EndTime: p.figure("endTime"), ServerTime: p.figure("serverTime"),
	}
	for i, f := range p.fields {
		if i == 0 {
			written.Field = f.Field
		}
		if len(p.fields) > 1 {
			written.Fields = append(written.Fields, problemField{Field: f.Field, Detail: words.API.Reason(f)})
		}
	}
	return written
}

// figure writes an amount or a moment as the contract does, "" if the problem has none of this
// name.
func (p problem) figure(name string) string {
	switch f := p.figures[name].(type) {
	case money.Amount:
		return f.String()
	case time.Time:
		return words.ExactTime(f)
	}
	return ""
}

// answerError answers what a handler refused or failed at: with a page for people, with a problem
// for programs.
func (s *Server) answerError(err error, c echo.Context) {
	p := s.logProblem(c, err)
	if c.Response().Committed {
		return
	}
	failed := answer(c,
		func() error {
			if p.status == http.StatusUnauthorized {
				c.Response().Header().Set("WWW-Authenticate", challenge(err))
			}
			return writeJSON(c, p.status, "application/problem+json", p.json())
		},
		func() error { return s.errorPage(c, p) },
		func() error {
			text := p.words(languageOf(c)).Detail
			return s.page(c, p.status, components.NoticeBox(components.Notice{Kind: components.NoticeBad, Text: text}))
		},
	)
	if failed == nil {
		return
	}
	if n := logOf(c); n.fault == nil {
		n.fault = failed
	}
	if !c.Response().Committed {
		// An answer without a word would be taken for a good one.
		said := p.words(words.API)
		_ = c.String(p.status, said.Title+"\n"+said.Detail+"\n")
	}
}

// logProblem describes an error, keeps it for the log, and sets when to come back.
func (s *Server) logProblem(c echo.Context, err error) problem {
	p, n := describe(err), logOf(c)
	n.code = p.code
	if p.fault || p.status == http.StatusServiceUnavailable {
		n.fault = err
	}
	if p.retryAfter > 0 {
		c.Response().Header().Set("Retry-After", wholeSeconds(p.retryAfter))
	}
	return p
}

func challenge(err error) string {
	if errors.Is(err, errUnauthenticated) {
		return `Bearer realm="martelo"`
	}
	return `Bearer realm="martelo", error="invalid_token"`
}

// wholeSeconds is at least one, rounded up: a client that comes back too early is refused again.
func wholeSeconds(d time.Duration) string {
	return strconv.FormatInt(max(1, int64((d+time.Second-1)/time.Second)), 10)
}

// wholeWait is how long to wait, rounded up to what a person counts: seconds, and minutes from two
// on.
func wholeWait(wait time.Duration) time.Duration {
	wait = max(time.Second, (wait + time.Second - 1).Truncate(time.Second))
	if wait > 2*time.Minute {
		wait = (wait + time.Minute - 1).Truncate(time.Minute)
	}
	return wait
}

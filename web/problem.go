package web

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"martelo/app/account"
	"martelo/app/auction"
	"martelo/app/auctioneer"
	"martelo/app/catalog"
	"martelo/app/live"
	"martelo/templates/components"
)

// Refusals of the door itself. What they mean to a client stands in describe, beside those of the rooms behind it.
var (
	errKeyMissing       = errors.New("web: no Idempotency-Key")
	errKeyInvalid       = errors.New("web: Idempotency-Key is not one UUID")
	errUnauthenticated  = errors.New("web: nobody is signed in")
	errBadToken         = errors.New("web: the token is not one of ours")
	errForbidden        = errors.New("web: not for this account")
	errOtherViewer      = errors.New("web: a form of somebody else")
	errNeedsSession     = errors.New("web: a token cannot do this")
	errDemoElsewhere    = errors.New("web: a demo account signs in from another machine")
	errCrossOrigin      = errors.New("web: sent by another site")
	errTooLarge         = errors.New("web: body over the limit")
	errUnsupportedMedia = errors.New("web: body of another type")
)

// malformedError refuses a request that cannot be read; its text is the sentence for the client.
type malformedError string

func (e malformedError) Error() string { return "web: malformed: " + string(e) }

// limitedError refuses what comes too often.
type limitedError struct{ wait time.Duration }

func (e *limitedError) Error() string { return "web: too often" }

// retryUnavailable is the Retry-After of a store that is away: clients that come back at once only lengthen the queue.
const retryUnavailable = time.Second

// problem is an error as a client gets it (RFC 9457), with the contract's extras.
type problem struct {
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

	retryAfter time.Duration
	// advise tells that a page has to say the title and detail, since nothing that is said of every problem of its status helps.
	advise bool
	// fault tells that the cause is ours and not the client's to know.
	fault bool
}

type problemField struct {
	Field  string `json:"field"`
	Detail string `json:"detail"`
}

const otherViewerWords = "Somebody else has signed in since this page was opened, so nothing was done. " +
	"Go back, reload the page and try again."

// plainProblems are the errors that need no figures.
var plainProblems = []struct {
	err           error
	status        int
	code          string
	title, detail string
}{
	{errKeyMissing, 400, "idempotency_key_missing", "Idempotency key missing", "Send an Idempotency-Key header with a fresh UUID; send the same one again to retry."},
	{errKeyInvalid, 400, "idempotency_key_invalid", "Idempotency key invalid", "The Idempotency-Key header is one UUID, such as 8e03978e-40d5-43e8-bc93-6894a57f9324."},
	{errUnauthenticated, 401, "unauthenticated", "Not signed in", "Send a token as Authorization: Bearer, or sign in."},
	{errBadToken, 401, "unauthenticated", "Not signed in", "The token is unknown or was revoked."},
	{account.ErrUnknownToken, 401, "unauthenticated", "Not signed in", "The token is unknown or was revoked."},
	{account.ErrWrongPassword, 401, "unauthenticated", "Not signed in", "The e-mail or password is wrong."},
	{errForbidden, 403, "forbidden", "Not allowed", "This account may not do that."},
	{errOtherViewer, 403, "forbidden", "Signed in as somebody else", otherViewerWords},
	{errNeedsSession, 403, "forbidden", "Not allowed", "A token cannot do this. Sign in with a browser."},
	{errDemoElsewhere, 403, "forbidden", "Not allowed", "Demo accounts sign in only on the machine that the house runs on."},
	{account.ErrBlocked, 403, "forbidden", "Not allowed", "The house has blocked this account."},
	{errCrossOrigin, 403, "forbidden", "Not allowed", "The request came from a page of another site."},
	{auction.ErrForbidden, 403, "forbidden", "Not allowed", "This account may not do that."},
	{auction.ErrOwnAuction, 403, "own_auction", "Own auction", "A seller does not bid on an own auction."},
	{auction.ErrNotFound, 404, "not_found", "Not found", "There is nothing at this address."},
	{account.ErrNoSuchUser, 404, "not_found", "Not found", "There is nothing at this address."},
	{echo.ErrNotFound, 404, "not_found", "Not found", "There is nothing at this address."},
	{echo.ErrMethodNotAllowed, 405, "method_not_allowed", "Method not allowed", "The Allow header says what can be done here."},
	{auction.ErrCancelled, 409, "auction_cancelled", "Auction cancelled", "The auction was cancelled."},
	{auction.ErrHasBids, 409, "has_bids", "Auction has bids", "After the first bid only an admin can cancel the auction."},
	{errTooLarge, 413, "too_large", "Too large", "A body has at most 64 KiB."},
	{errUnsupportedMedia, 415, "unsupported_media_type", "Unsupported media type", "Send application/json."},
	{auctioneer.ErrKeyReused, 422, "idempotency_key_reused", "Idempotency key reused", "Another auction was opened with this key. Use a fresh one for each auction."},
	{auction.ErrKeyReused, 422, "idempotency_key_reused", "Idempotency key reused", "This key was used before with another bidder or amount. Use a fresh one for another bid."},
}

// busyProblems are what the house does not do at this moment, with what to do instead.
var busyProblems = []struct {
	err           error
	title, detail string
}{
	{catalog.ErrSearchCrowd, "Many people search at once", "More people search than the house can answer at once. Search again in a few seconds."},
	{catalog.ErrSearchTooWide, "That is too wide a search", "This search takes too long. Add a word, or write more of a word, and search again."},
}

// describe is the one table from an error to what a client is told of it.
func describe(err error) problem {
	// The one refusal that comes by the thousand is not looked for among all the others first.
	if tooLow, ok := err.(*auction.TooLowError); ok {
		return tooLowProblem(tooLow)
	}
	for _, p := range plainProblems {
		if errors.Is(err, p.err) {
			described := newProblem(p.status, p.code, p.title, p.detail)
			described.advise = p.err == errOtherViewer
			return described
		}
	}
	if p, ok := describeFigures(err); ok {
		return p
	}
	for _, busy := range busyProblems {
		if errors.Is(err, busy.err) {
			p := newProblem(http.StatusServiceUnavailable, "unavailable", busy.title, busy.detail)
			p.retryAfter, p.advise = retryUnavailable, true
			return p
		}
	}
	if errors.Is(err, auction.ErrUnavailable) {
		p := newProblem(http.StatusServiceUnavailable, "unavailable", "Unavailable", "The house cannot answer at this moment. Send the same request, with the same key, again.")
		p.retryAfter = retryUnavailable
		return p
	}
	p := newProblem(http.StatusInternalServerError, "internal_error", "Internal error", "Something went wrong here. The request id tells us what.")
	p.fault = true
	return p
}

// describeFigures describes the errors that carry figures or words of their own.
func describeFigures(err error) (problem, bool) {
	var (
		malformed  malformedError
		limited    *limitedError
		tooLow     *auction.TooLowError
		open       *auction.UnconfirmedError
		closed     *auction.ClosedError
		notStarted *auction.NotStartedError
		field      *auction.FieldError
		fields     auction.FieldErrors
		unreadable *unreadableError
		full       *live.Refusal
		tooMany    *auctioneer.TooManyError
	)
	switch {
	case errors.As(err, &tooMany):
		p := newProblem(http.StatusTooManyRequests, "rate_limited", "Too many requests", tooMany.Advice)
		p.retryAfter, p.advise = tooMany.Wait, true
		return p, true
	case errors.As(err, &malformed):
		return newProblem(http.StatusBadRequest, "malformed_request", "Malformed request", string(malformed)), true
	case errors.As(err, &tooLow):
		return tooLowProblem(tooLow), true
	case errors.As(err, &open):
		p := newProblem(http.StatusConflict, "confirmation_needed", "Confirmation needed",
			"The bid raises the own lead or is far above the least bid. Send it again with what is to be confirmed.")
		p.CurrentPrice, p.MinimumBid = open.CurrentPrice.String(), open.MinimumBid.String()
		return p, true
	case errors.As(err, &closed):
		p := newProblem(http.StatusConflict, "auction_closed", "Auction closed", "The auction ended at "+formatTime(closed.EndAt)+".")
		p.EndTime, p.ServerTime = formatTime(closed.EndAt), formatTime(closed.DecidedAt)
		return p, true
	case errors.As(err, &notStarted):
		p := newProblem(http.StatusConflict, "auction_not_started", "Auction not started", "The auction starts at "+formatTime(notStarted.StartAt)+".")
		p.StartTime = formatTime(notStarted.StartAt)
		return p, true
	case errors.As(err, &fields):
		return fieldsProblem(fields), true
	case errors.As(err, &field):
		return fieldsProblem(auction.FieldErrors{field}), true
	case errors.As(err, &unreadable):
		words := components.AmountProblem(locales[0], unreadable.currency, unreadable.cause)
		return fieldsProblem(auction.FieldErrors{{Field: "amount", Reason: words}}), true
	case errors.As(err, &full):
		p := newProblem(http.StatusServiceUnavailable, "unavailable", "Unavailable", "No more live viewers can be taken here at this moment.")
		p.retryAfter = full.RetryAfter()
		return p, true
	case errors.As(err, &limited):
		p := newProblem(http.StatusTooManyRequests, "rate_limited", "Too many requests", "Nothing was recorded. Send the same again after the time in Retry-After.")
		p.retryAfter = limited.wait
		return p, true
	}
	return problem{}, false
}

func tooLowProblem(e *auction.TooLowError) problem {
	p := newProblem(http.StatusConflict, "bid_too_low", "Bid too low", "The least bid is "+e.MinimumBid.String()+".")
	p.CurrentPrice, p.MinimumBid, p.EndTime = e.CurrentPrice.String(), e.MinimumBid.String(), formatTime(e.EndAt)
	p.ServerTime = formatTime(e.DecidedAt)
	return p
}

func fieldsProblem(fields auction.FieldErrors) problem {
	p := newProblem(http.StatusUnprocessableEntity, "invalid_field", "Invalid field", fields[0].Reason)
	p.Field = fields[0].Field
	if len(fields) > 1 {
		for _, f := range fields {
			p.Fields = append(p.Fields, problemField{Field: f.Field, Detail: f.Reason})
		}
	}
	return p
}

func newProblem(status int, code, title, detail string) problem {
	return problem{Type: "urn:martelo:problem:" + code, Title: title, Status: status, Detail: detail, Code: code}
}

// answerError answers what a handler refused or failed at: with a page for people, with a problem for programs.
func (s *Server) answerError(err error, c echo.Context) {
	p := s.noteProblem(c, err)
	if c.Response().Committed {
		return
	}
	var failed error
	switch {
	case asksFragment(c.Request()):
		failed = s.page(c, p.Status, components.NoticeBox(components.Notice{Kind: components.NoticeBad, Text: p.Detail}))
	case asksPage(c.Request()):
		failed = s.errorPage(c, p)
	default:
		if p.Status == http.StatusUnauthorized {
			c.Response().Header().Set("WWW-Authenticate", challenge(err))
		}
		failed = writeJSON(c, p.Status, "application/problem+json", p)
	}
	if failed == nil {
		return
	}
	if n := noteOf(c); n.fault == nil {
		n.fault = failed
	}
	if !c.Response().Committed {
		// An answer without a word would be taken for a good one.
		_ = c.String(p.Status, p.Title+"\n"+p.Detail+"\n")
	}
}

// noteProblem describes an error, notes it for the log, and sets when to come back.
func (s *Server) noteProblem(c echo.Context, err error) problem {
	p, n := describe(err), noteOf(c)
	n.code = p.Code
	if p.fault || p.Status == http.StatusServiceUnavailable {
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

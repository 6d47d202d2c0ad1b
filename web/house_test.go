package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"martelo/app/account"
	"martelo/app/auctioneer"
	"martelo/app/catalog"
	"martelo/app/draft"
	"martelo/app/limits"
	"martelo/app/live"
	"martelo/db"
	"martelo/db/dbtest"
	"martelo/web"
)

// house is a whole auction house on stores of its own.
type house struct {
	testing.TB
	pool    *pgxpool.Pool
	store   *redis.Client
	limits  *limits.Limits
	people  *account.People
	handler *web.Server
	hub     *live.Hub
	log     *bytes.Buffer

	seller, buyer, other, admin, service who
}

// who is somebody with a token.
type who struct {
	id    int64
	token string
}

// open makes a house and people in it. Changes are made to what it is built from: each is a
// func(*web.Deps) or a func(*auctioneer.Options).
func open(t testing.TB, changes ...any) *house {
	t.Helper()
	return openOn(t, dbtest.URL(t), dbtest.Redis(t), changes...)
}

func openOn(t testing.TB, databaseURL string, store *redis.Client, changes ...any) *house {
	t.Helper()
	pool, err := db.OpenReader(databaseURL, 8)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	h := &house{TB: t, pool: pool, store: store, people: account.New(pool), log: &bytes.Buffer{}}
	log := slog.New(slog.NewJSONHandler(h.log, nil))
	metrics := prometheus.NewRegistry()
	identity := dbtest.Identity(t, pool, store)
	h.hub = live.New(live.Options{Database: pool, Redis: store, House: identity, Metrics: metrics, Log: log})
	options := auctioneer.Options{Database: pool, Announce: h.hub.Announce, Log: log, Metrics: metrics}
	for _, change := range changes {
		if change, ok := change.(func(*auctioneer.Options)); ok {
			change(&options)
		}
	}
	changesAuctions := auctioneer.New(options)
	limit := limits.Open(store, identity, log)
	h.limits = limit
	deps := web.Deps{
		Log: log, Metrics: metrics, People: h.people, Drafts: draft.New(pool), Catalog: catalog.New(pool),
		Limits: limit, Hub: h.hub,
		Auctioneer: changesAuctions, OpenSelling: true,
	}
	for _, change := range changes {
		switch change := change.(type) {
		case func(*auctioneer.Options):
		case func(*web.Deps):
			change(&deps)
		default:
			t.Fatalf("a house cannot be changed by a %T", change)
		}
	}
	h.handler = web.New(deps)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := changesAuctions.Stop(ctx); err != nil {
			t.Error(err)
		}
		if err := limit.Close(); err != nil {
			t.Error(err)
		}
	})
	h.seller, h.buyer, h.other = h.somebody(
		account.RoleSeller, false,
	), h.somebody(account.RoleUser, false), h.somebody(account.RoleUser, false)
	h.admin, h.service = h.somebody(account.RoleAdmin, false), h.somebody(account.RoleUser, true)
	return h
}

func (h *house) somebody(role account.Role, service bool) who {
	h.Helper()
	id, err := h.people.AddBidder(h.Context(), "somebody")
	if err != nil {
		h.Fatal(err)
	}
	h.exec("UPDATE users SET role = $2 WHERE id = $1", id, string(role))
	token, err := h.people.MakeToken(h.Context(), id, "", service)
	if err != nil {
		h.Fatal(err)
	}
	return who{id: id, token: token}
}

func (h *house) exec(statement string, arguments ...any) {
	h.Helper()
	if _, err := h.pool.Exec(h.Context(), statement, arguments...); err != nil {
		h.Fatal(err)
	}
}

// texts returns a query's texts.
func (h *house) texts(query string) []string {
	h.Helper()
	rows, err := h.pool.Query(h.Context(), query)
	if err != nil {
		h.Fatal(err)
	}
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		h.Fatal(err)
	}
	return texts
}

// lot opens a plain auction: dollars, start 1000, step 10, for an hour.
func (h *house) lot(changes ...func(map[string]any)) int64 {
	h.Helper()
	draft := map[string]any{
		"title": "Vintage watch", "startPrice": "1000.00", "minIncrement": "10.00",
		"endTime": time.Now().Add(time.Hour).Format(time.RFC3339Nano),
	}
	for _, change := range changes {
		change(draft)
	}
	answer := h.post("/auctions", h.seller, draft)
	answer.status(h, http.StatusCreated)
	return int64(answer.json(h)["id"].(float64))
}

// endedLot is a lot that is over.
func (h *house) endedLot() int64 {
	h.Helper()
	id := h.lot()
	h.exec(
		`UPDATE auctions SET status = 'CANCELLED', closed_at = clock_timestamp(), version = version + 1 WHERE id = $1`,
		id,
	)
	return id
}

func (h *house) bid(id int64, by who, amount any) answer {
	h.Helper()
	return h.post(bidsOf(id), by, map[string]any{"amount": amount}, key(uuid.NewString()))
}

// untilLimited asks until the answer is that somebody bids too often, while that somebody does
// nothing else.
func (h *house) untilLimited(bidderID int64, ask func() answer) answer {
	h.Helper()
	ctx, cancel := context.WithTimeout(h.Context(), 30*time.Second)
	defer cancel()
	var bidding sync.WaitGroup
	bidding.Go(func() {
		for ctx.Err() == nil {
			h.limits.Bid(ctx, bidderID, 1, uuid.New())
		}
	})
	defer bidding.Wait()
	defer cancel()
	for ctx.Err() == nil {
		if answer := ask(); answer.Code == http.StatusTooManyRequests {
			return answer
		}
	}
	h.Fatal("the limit does not hold")
	return answer{}
}

// holdBack makes everybody who has just tried to sign in wait for as long as after many tries.
func (h *house) holdBack() {
	h.Helper()
	places, err := h.store.Keys(h.Context(), "{place:*").Result()
	if err != nil || len(places) == 0 {
		h.Fatal(places, err)
	}
	for _, place := range places {
		tries := "40 " + strconv.FormatInt(h.store.Time(h.Context()).Val().UnixMicro(), 10)
		if err := h.store.Set(h.Context(), place, tries, time.Hour).Err(); err != nil {
			h.Fatal(err)
		}
	}
}

func bidsOf(id int64) string { return "/auctions/" + strconv.FormatInt(id, 10) + "/bids" }

// ask changes a request before it is sent.
type ask func(*http.Request)

func key(text string) ask { return header("Idempotency-Key", text) }

func header(name, value string) ask {
	return func(r *http.Request) { r.Header.Add(name, value) }
}

func (h *house) get(target string, asks ...ask) answer {
	h.Helper()
	return h.send(http.MethodGet, target, nil, asks...)
}

// post sends a value as JSON, or a string as it is.
func (h *house) post(target string, by who, body any, asks ...ask) answer {
	h.Helper()
	text, plain := body.(string)
	if !plain {
		encoded, err := json.Marshal(body)
		if err != nil {
			h.Fatal(err)
		}
		text = string(encoded)
	}
	own := []ask{header("Content-Type", "application/json")}
	if by.token != "" {
		own = append(own, header("Authorization", "Bearer "+by.token))
	}
	return h.send(http.MethodPost, target, strings.NewReader(text), append(own, asks...)...)
}

func (h *house) send(method, target string, body io.Reader, asks ...ask) answer {
	h.Helper()
	request := httptest.NewRequestWithContext(h.Context(), method, "http://house.test/", body)
	if parsed, err := request.URL.Parse(target); err == nil {
		request.URL = parsed
	} else {
		h.Fatal(err)
	}
	for _, ask := range asks {
		ask(request)
	}
	recorder := httptest.NewRecorder()
	h.handler.ServeHTTP(recorder, request)
	return answer{recorder}
}

type answer struct{ *httptest.ResponseRecorder }

func (a answer) status(t testing.TB, want int) {
	t.Helper()
	if a.Code != want {
		t.Fatalf("status is %d, want %d: %s", a.Code, want, a.Body)
	}
}

func (a answer) json(t testing.TB) map[string]any {
	t.Helper()
	var value map[string]any
	if err := json.Unmarshal(a.Body.Bytes(), &value); err != nil {
		t.Fatalf("the answer is not JSON: %v: %s", err, a.Body)
	}
	return value
}

// problem checks that the answer is a problem of a status and code, and returns it.
func (a answer) problem(t testing.TB, status int, code string) map[string]any {
	t.Helper()
	a.status(t, status)
	if media := a.Header().Get("Content-Type"); media != "application/problem+json" {
		t.Fatalf("content type is %q", media)
	}
	value := a.json(t)
	if value["code"] != code || value["status"] != float64(status) {
		t.Fatalf("problem is %s, want code %q", a.Body, code)
	}
	for _, member := range []string{"type", "title", "detail"} {
		if text, _ := value[member].(string); text == "" {
			t.Fatalf("problem has no %s: %s", member, a.Body)
		}
	}
	return value
}

// state is all that a refused request must leave as it was.
func (h *house) state() string {
	h.Helper()
	var state string
	err := h.pool.QueryRow(h.Context(), `SELECT concat_ws(' ',
		(SELECT count(*) FROM users), (SELECT count(*) FROM bids), (SELECT count(*) FROM outbox), (SELECT count(*)
		FROM tokens),
		(SELECT count(*) FROM sessions), (SELECT string_agg(a::text, ' ' ORDER BY id) FROM auctions a))`).Scan(&state)
	if err != nil {
		h.Fatal(err)
	}
	return state
}

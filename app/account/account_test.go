package account_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"martelo/app/account"
	"martelo/app/auction"
	"martelo/app/loop"
	"martelo/app/refusal"
	"martelo/db"
	"martelo/db/dbtest"
)

func ana() account.Account {
	return account.Account{Email: " Ana@Example.COM ", Name: " Ana ", Password: "a good long password"}
}

func TestSigningUpAndIn(t *testing.T) {
	t.Parallel()
	p := account.New(dbtest.Pool(t))
	person, err := p.SignUp(t.Context(), ana())
	if err != nil || person.Email != "ana@example.com" || person.Name != "Ana" || person.Role != account.RoleUser {
		t.Fatalf("%+v %v", person, err)
	}
	again, err := p.SignIn(t.Context(), "ANA@example.com", "a good long password")
	if err != nil || again.ID != person.ID {
		t.Errorf("%+v %v", again, err)
	}
	for email, password := range map[string]string{
		"ana@example.com": "a good long passworD", "eva@example.com": "a good long password", "": "", "a\x00b@c": "x",
		"\xff@x": "x", "ana@example.com\n": strings.Repeat("x", 1<<16),
	} {
		if _, err := p.SignIn(t.Context(), email, password); !errors.Is(err, account.ErrWrongPassword) {
			t.Errorf("%q signs in: %v", email, err)
		}
	}
	var wrong refusal.FieldErrors
	if _, err := p.SignUp(
		t.Context(), account.Account{Email: "ANA@EXAMPLE.com", Name: "B", Password: "another password"},
	); !errors.As(err, &wrong) || wrong[0].Field != "email" {
		t.Errorf("an address twice: %v", err)
	}
	// An accent is one character or two, depending on the system it was typed on.
	if _, err := p.SignUp(
		t.Context(), account.Account{Email: "jose@example.com", Name: "José", Password: "contrasen\u0303a"},
	); err != nil {
		t.Fatal(err)
	}
	if _, err := p.SignIn(t.Context(), "jose@example.com", "contrase\u00f1a"); err != nil {
		t.Errorf("the same password typed elsewhere: %v", err)
	}
}

func TestWhatMakesNoAccount(t *testing.T) {
	t.Parallel()
	p := account.New(dbtest.Pool(t))
	for _, c := range []struct {
		field  string
		change func(*account.Account)
	}{
		{"email", func(a *account.Account) { a.Email = "" }},
		{"email", func(a *account.Account) { a.Email = "ana" }},
		{"email", func(a *account.Account) { a.Email = "a@b@c" }},
		{"email", func(a *account.Account) { a.Email = "a b@c" }},
		{"email", func(a *account.Account) { a.Email = "a@" }},
		{"email", func(a *account.Account) { a.Email = "@a" }},
		{"email", func(a *account.Account) { a.Email = "a\x00@b.c" }},
		{"email", func(a *account.Account) { a.Email = "\xff@b.c" }},
		{"email", func(a *account.Account) { a.Email = strings.Repeat("a", 250) + "@b.cd" }},
		{"email", func(a *account.Account) { a.Email = "Ana <ana@example.com>" }},
		{"name", func(a *account.Account) { a.Name = " " }},
		{"name", func(a *account.Account) { a.Name = strings.Repeat("é", 101) }},
		{"name", func(a *account.Account) { a.Name = "a\nb" }},
		{"name", func(a *account.Account) { a.Name = "a\u202eb" }},
		{"password", func(a *account.Account) { a.Password = "1234567" }},
		{"password", func(a *account.Account) { a.Password = "Password123" }},
		{"email", func(a *account.Account) { a.Email = "adm\u0131n@example.com" }},
		{"password", func(a *account.Account) { a.Password = strings.Repeat("x", 201) }},
		{"password", func(a *account.Account) { a.Password = "\xff23456789" }},
		{"role", func(a *account.Account) { a.Role = "god" }},
	} {
		a := ana()
		c.change(&a)
		var wrong refusal.FieldErrors
		if _, err := p.SignUp(t.Context(), a); !errors.As(err, &wrong) || wrong[0].Field != c.field {
			t.Errorf("%+v: %v, want a refusal of %s", a, err, c.field)
		}
	}
	if _, err := p.SignUp(
		t.Context(),
		account.Account{
			Email: "x@y.z", Name: strings.Repeat("é", 100), Password: strings.Repeat("çé lá ", 33) + "éé",
			Role: account.RoleAdmin,
		},
	); err != nil {
		t.Errorf("the longest account: %v", err)
	}
}

func TestACrowdSignsInOrIsToldToComeBack(t *testing.T) {
	t.Parallel()
	p := account.New(dbtest.Pool(t))
	if _, err := p.SignUp(t.Context(), ana()); err != nil {
		t.Fatal(err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := p.SignIn(gone, "ana@example.com", "a good long password"); err == nil {
		t.Error("who has left is not served")
	}
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			if _, err := p.SignIn(t.Context(), "ana@example.com", "a good long password"); err != nil &&
				!errors.Is(err, auction.ErrUnavailable) {
				t.Errorf("in a crowd: %v", err)
			}
		})
	}
	all.Wait()
}

func bidder(t *testing.T, p *account.People) int64 {
	t.Helper()
	id, err := p.AddBidder(t.Context(), "somebody")
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestTokens(t *testing.T) {
	t.Parallel()
	pool := dbtest.Pool(t)
	p, elsewhere := account.New(pool), account.New(pool)
	id := bidder(t, p)
	token, err := p.MakeToken(t.Context(), id, " robot ", true)
	if err != nil {
		t.Fatal(err)
	}
	if random, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(token, "mrt_")); err != nil ||
		len(random) != 32 {
		t.Errorf("token is %q", token)
	}
	hash := sha256.Sum256([]byte(token))
	var stored int
	if err := pool.QueryRow(
		t.Context(), "SELECT count(*) FROM tokens t WHERE hash = $1 AND t::text NOT LIKE '%' || $2 || '%'", hash[:],
		token[4:],
	).Scan(&stored); err != nil || stored != 1 {
		t.Errorf("%d hashes are stored, %v", stored, err)
	}
	for _, node := range []*account.People{p, elsewhere} {
		if who, err := node.ByToken(t.Context(), token); err != nil || who.ID != id || !who.Service || who.MaySell() {
			t.Errorf("%+v %v", who, err)
		}
	}
	if err := p.StartSelling(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	if who, err := p.ByToken(t.Context(), token); err != nil || !who.MaySell() {
		t.Errorf("a seller from now on: %+v %v", who, err)
	}
	tokens, err := p.Tokens(t.Context(), id)
	if err != nil || len(tokens) != 1 || tokens[0].Name != "robot" || !tokens[0].Service {
		t.Fatalf("%+v %v", tokens, err)
	}
	if err := p.RevokeToken(t.Context(), bidder(t, p), tokens[0].ID); !errors.Is(err, account.ErrUnknownToken) {
		t.Errorf("revoked by somebody else: %v", err)
	}
	if err := p.RevokeToken(t.Context(), id, tokens[0].ID); err != nil {
		t.Fatal(err)
	}
	if _, err := p.ByToken(t.Context(), token); !errors.Is(err, account.ErrUnknownToken) {
		t.Errorf("a revoked token: %v", err)
	}
	for _, bad := range []string{
		"", "mrt_", token + "x", token[:46], "mrt_" + strings.Repeat("A", 43), strings.Repeat("x", 1<<16),
		strings.ToUpper(token), "\x00",
	} {
		if _, err := p.ByToken(t.Context(), bad); !errors.Is(err, account.ErrUnknownToken) {
			t.Errorf("%.50q is a token: %v", bad, err)
		}
	}
	for range 100 {
		if _, err := p.MakeToken(t.Context(), id, "", false); err != nil {
			t.Fatal(err)
		}
	}
	var wrong refusal.FieldErrors
	if _, err := p.MakeToken(t.Context(), id, "", false); !errors.As(err, &wrong) {
		t.Errorf("token 101: %v", err)
	}
}

func TestWhatIsKnownNeedsNoDatabase(t *testing.T) {
	t.Parallel()
	server := dbtest.StartPostgres(t)
	pool, err := db.Open(server.URL(), 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	p := account.New(pool)
	id := bidder(t, p)
	token, err := p.MakeToken(t.Context(), id, "", false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.ByToken(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	if found, err := p.Exists(t.Context(), 1); err != nil || found {
		t.Errorf("a user that does not exist: %v %v", found, err)
	}
	server.Kill()
	if who, err := p.ByToken(t.Context(), token); err != nil || who.ID != id {
		t.Errorf("a token just seen: %+v %v", who, err)
	}
	if found, err := p.Exists(t.Context(), id); err != nil || !found {
		t.Errorf("a bidder just added: %v %v", found, err)
	}
	if _, err := p.Exists(t.Context(), 1); !errors.Is(err, auction.ErrUnavailable) {
		t.Errorf("a bidder never seen: %v", err)
	}
	if _, err := p.SignIn(t.Context(), "ana@example.com", "whatever it is"); !errors.Is(err, auction.ErrUnavailable) {
		t.Errorf("signing in: %v", err)
	}
}

func TestSessionsRunOut(t *testing.T) {
	t.Parallel()
	pool := dbtest.Pool(t)
	s := account.New(pool).Sessions()
	ctx := t.Context()
	if err := s.CommitCtx(ctx, "a", []byte("one"), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := s.CommitCtx(ctx, "a", []byte("two"), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit("old", []byte("x"), time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if data, found, err := s.FindCtx(ctx, "a"); err != nil || !found || string(data) != "two" {
		t.Errorf("%q %v %v", data, found, err)
	}
	if _, found, err := s.Find("old"); err != nil || found {
		t.Errorf("a session that has run out: %v %v", found, err)
	}
	sweeping, stop := context.WithCancel(ctx)
	swept := make(chan struct{})
	go func() {
		s.Sweep(sweeping, loop.New("sweeper", slog.New(slog.DiscardHandler), prometheus.NewRegistry()))
		close(swept)
	}()
	for deadline := time.Now().Add(10 * time.Second); count(t, pool) != 1; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a session that has run out is not swept")
		}
	}
	stop()
	<-swept
	if err := s.Delete("a"); err != nil {
		t.Errorf("a session that was ended: %v", err)
	}
	// A page that was drawn while somebody signed out does not bring the session back.
	if err := s.CommitCtx(ctx, "a", []byte("three"), time.Now().Add(time.Hour)); err != nil {
		t.Error(err)
	}
	if data, found, err := s.FindCtx(ctx, "a"); err != nil || found {
		t.Errorf("an ended session came back: %q %v", data, err)
	}
}

func count(t *testing.T, pool *pgxpool.Pool) (sessions int) {
	t.Helper()
	if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM sessions").Scan(&sessions); err != nil {
		t.Fatal(err)
	}
	return sessions
}

package main_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"martelo/db/dbtest"
)

// refuses runs one of the program's commands that must fail, and returns its complaint.
func (c *town) refuses(args ...string) string {
	c.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = c.environment()
	out, err := cmd.CombinedOutput()
	if err == nil {
		c.Fatalf("martelo %s is not refused:\n%s", strings.Join(args, " "), out)
	}
	return string(out)
}

// visitor is somebody at a browser that follows to other pages and keeps cookies.
type visitor struct {
	*node
	client *http.Client
}

func (n *node) visitor() *visitor {
	jar, err := cookiejar.New(nil)
	if err != nil {
		n.Fatal(err)
	}
	return &visitor{node: n, client: &http.Client{Jar: jar, Timeout: answerWithin}}
}

// page asks for a page, or sends a form if there is one, and returns where that led.
func (v *visitor) page(path string, form url.Values) (status int, at, body string) {
	v.Helper()
	method, sent := http.MethodGet, io.Reader(nil)
	if form != nil {
		method, sent = http.MethodPost, strings.NewReader(form.Encode())
	}
	request, err := http.NewRequestWithContext(v.Context(), method, v.url+path, sent)
	if err != nil {
		v.Fatal(err)
	}
	request.Header.Set("Accept", "text/html")
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := v.client.Do(request)
	if err != nil {
		v.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		v.Fatal(err)
	}
	return response.StatusCode, response.Request.URL.Path, string(text)
}

func (v *visitor) signIn(email, password string) int {
	v.Helper()
	status, _, _ := v.page("/signin", url.Values{"email": {email}, "password": {password}, "next": {"/me"}})
	return status
}

// The operator's commands take hold on a node that serves.
func TestTheOperatorsCommands(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	town := newDefaultTown(t)
	node := town.start()
	const ana, first, second = "ana@house.example", "the first password", "the second password"
	id := town.command("user", "create", "--email", ana, "--name", "Ana", "--password", first)
	v := node.visitor()
	if status := v.signIn(ana, first); status != 200 {
		t.Fatalf("signing in is answered %d", status)
	}
	town.command("user", "password", "--email", " ANA@house.example", "--password", second)
	if _, at, _ := v.page("/me", nil); at != "/signin" {
		t.Errorf("the session goes on after a new password: at %s", at)
	}
	if old, now := v.signIn(ana, first), v.signIn(ana, second); old != 401 || now != 200 {
		t.Errorf("the old password is answered %d, the new one %d", old, now)
	}
	cmd := exec.Command(program, "user", "password", "--email", id)
	cmd.Env, cmd.Stdin = town.environment(), strings.NewReader(first+"\r\nand more\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if status := v.signIn(ana, first); status != 200 {
		t.Errorf("a password from the input is answered %d", status)
	}
	town.command("user", "sessions", "end", "--email", ana)
	if _, at, _ := v.page("/me", nil); at != "/signin" {
		t.Errorf("the session goes on: at %s", at)
	}
	v.signIn(ana, first)
	token := town.command("token", "create", "--user", ana)
	town.command("user", "block", "--email", ana)
	if _, at, _ := v.page("/me", nil); at != "/signin" {
		t.Errorf("a blocked person's session goes on: at %s", at)
	}
	if status := v.signIn(ana, first); status != 403 {
		t.Errorf("a blocked person signs in: %d", status)
	}
	auction := node.open(time.Hour)
	path := fmt.Sprintf("/auctions/%d/bids", auction.ID)
	bid := map[string]any{"amount": 2000}
	if r := node.do(t.Context(), "POST", path, token, bid, "Idempotency-Key", uuid.NewString()); r.status != 401 {
		t.Errorf("a blocked person's token bids: %d %s", r.status, r.body)
	}
	town.command("user", "unblock", "--email", ana)
	if status := v.signIn(ana, first); status != 200 {
		t.Errorf("no longer blocked: %d", status)
	}
	must[bidReply](t, node.do(t.Context(), "POST", path, token, bid, "Idempotency-Key", uuid.NewString()), 201)
	town.command("user", "role", "--email", ana, "--role", "seller")
	if _, _, body := v.page("/me", nil); !strings.Contains(body, "You can bid and sell.") {
		t.Error("the new role is not seen")
	}
	if shown := town.command("user", "show", "--email", ana); !strings.Contains(shown, "role: seller") ||
		!strings.Contains(shown, "id: "+id) || strings.Contains(shown, "argon2") {
		t.Errorf("shown is %s", shown)
	}
	town.command("user", "sessions", "end", "--email", ana, "--tokens")
	if shown := town.command("user", "show", "--email", ana); !strings.Contains(shown, "tokens: 0") {
		t.Errorf("shown is %s", shown)
	}
	for want, args := range map[string][]string{
		"among the first":  {"user", "password", "--email", ana, "--password", "password123"},
		"nobody here":      {"user", "block", "--email", "nobody@house.example"},
		"names the person": {"user", "unblock"},
		"Choose the role":  {"user", "role", "--email", ana, "--role", "god"},
		"after user comes": {"user", "remove"},
		"Enter a password": {"user", "password", "--email", ana},
		"--role names":     {"grant"},
	} {
		if said := town.refuses(args...); !strings.Contains(said, want) {
			t.Errorf("martelo %v says %q, want %q in it", args, said, want)
		}
	}
}

// The demo's accounts have a password that everybody may read: they are made only where nobody else
// is.
func TestTheDemoIsRefusedInARunningHouse(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	town := &town{T: t, database: dbtest.URL(t), redis: dbtest.RedisURL(t)}
	town.command("demo")
	town.command("demo")
	node := town.start()
	if status := node.visitor().signIn("house@demo.example", "martelo-demo"); status != 200 {
		t.Errorf("signing in on this machine is answered %d", status)
	}
	town.command("user", "create", "--email", "ana@house.example", "--name", "Ana", "--password", "a long password")
	if said := town.refuses("demo"); !strings.Contains(said, "no demo accounts") {
		t.Errorf("demo says %q", said)
	}
	empty := newDefaultTown(t)
	empty.refuses("demo")
	if said := empty.refuses(
		"user", "password", "--email", "seller@house.example", "--password", "martelo-demo",
	); !strings.Contains(said, "among the first") {
		t.Errorf("the demo's password for others: %q", said)
	}
}

// A node does all its work as a role that may change and remove next to nothing.
func TestTheHouseWorksWithTheLeastRights(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	town := newDefaultTown(t)
	owner, err := pgx.Connect(t.Context(), town.database)
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close(t.Context())
	role := "martelo test " + uuid.NewString()[:8] // a name that must be quoted
	quoted := pgx.Identifier{role}.Sanitize()
	if _, err := owner.Exec(t.Context(), "CREATE ROLE "+quoted+" LOGIN PASSWORD 'x'"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cleaning, stop := context.WithTimeout(context.Background(), answerWithin)
		defer stop()
		if conn, err := pgx.Connect(cleaning, town.database); err == nil {
			_, _ = conn.Exec(cleaning, "DROP OWNED BY "+quoted+"; DROP ROLE "+quoted)
			_ = conn.Close(cleaning)
		}
	})
	var self string
	if err := owner.QueryRow(t.Context(), "SELECT current_user").Scan(&self); err != nil {
		t.Fatal(err)
	}
	for name, why := range map[string]string{self: "make", "nobody of that name": "no role"} {
		if said := town.refuses("grant", "--role", name); !strings.Contains(said, why) {
			t.Errorf("a grant to %q: %s", name, said)
		}
	}
	town.command("grant", "--role", role)
	address, err := url.Parse(town.database)
	if err != nil {
		t.Fatal(err)
	}
	address.User = url.UserPassword(role, "x")
	query := address.Query()
	query.Del("user")
	address.RawQuery = query.Encode()
	node := town.start("DATABASE_URL=" + address.String())

	v := node.visitor()
	form := url.Values{
		"email": {"eva@house.example"}, "name": {"Eva"}, "password": {"a long password"}, "next": {"/me"},
	}
	if status, at, _ := v.page("/signup", form); status != 200 || at != "/me" {
		t.Fatalf("signing up: %d at %s", status, at)
	}
	var served string
	if err := owner.QueryRow(t.Context(), `SELECT coalesce(string_agg(DISTINCT usename, ','), '') FROM pg_stat_activity
		WHERE application_name = 'martelo'
		AND datname = current_database()`).Scan(&served); err != nil || served != role {
		t.Fatalf("the node works as %q (%v)", served, err)
	}
	v.page("/me/selling", url.Values{"seller-name": {"Eva's Attic"}})
	v.page("/me/tokens", url.Values{"name": {"robot"}})
	if status, _, body := v.page(
		"/me/password", url.Values{"old-password": {"a long password"}, "new-password": {"a longer password"}},
	); status != 200 || !strings.Contains(body, "is changed") {
		t.Errorf("changing the password: %d", status)
	}
	v.page("/signout", url.Values{})
	if status := v.signIn("eva@house.example", "a longer password"); status != 200 {
		t.Errorf("signing in: %d", status)
	}
	standard := node.open(3 * time.Second)
	hot := must[auctionReply](t, node.openHot(3*time.Second), http.StatusCreated)
	bidders := node.bidders(2)
	for i, amount := range []int64{1010, 1050, 1100} {
		for _, auction := range []auctionReply{standard, hot} {
			must[bidReply](t, node.bid(t.Context(), auction.ID, bidders[i%2], amount, uuid.New()), http.StatusCreated)
		}
	}
	moved, cancelled := node.open(time.Hour), node.open(time.Hour)
	for _, lane := range []string{"hot", "standard"} {
		if r := node.move(moved.ID, town.seller, lane); r.status != 200 {
			t.Errorf("moving: %d %s", r.status, r.body)
		}
	}
	if r := node.do(
		t.Context(), "POST", fmt.Sprintf("/auctions/%d/cancel", cancelled.ID), town.seller, nil,
	); r.status != 200 {
		t.Errorf("cancelling: %d %s", r.status, r.body)
	}
	for _, auction := range []auctionReply{standard, hot} {
		eventually(
			t, 10*time.Second, "the auction is closed",
			func() bool { return node.auction(auction.ID).Status == "CLOSED" },
		)
		id := fmt.Sprintf("auction-closed:%d", auction.ID)
		eventually(
			t, 10*time.Second, "the event is told",
			func() bool { return strings.Contains(strings.Join(node.lines(), "\n"), id) },
		)
	}
	eventually(t, 10*time.Second, "what was told is gone from the outbox", func() bool {
		left := -1
		return owner.QueryRow(t.Context(), "SELECT count(*) FROM outbox").Scan(&left) == nil && left == 0
	})
	for _, line := range node.lines() {
		if strings.Contains(line, "42501") || strings.Contains(line, "permission denied") {
			t.Errorf("a right is missing: %s", line)
		}
	}
	asRole, err := pgx.Connect(t.Context(), address.String())
	if err != nil {
		t.Fatal(err)
	}
	defer asRole.Close(t.Context())
	for _, statement := range []string{
		"UPDATE bids SET amount = 1", "DELETE FROM bids", "TRUNCATE bids", "DELETE FROM users",
		"TRUNCATE users CASCADE", "DELETE FROM auctions", "DELETE FROM lots",
		"TRUNCATE outbox", "UPDATE outbox SET topic = 'x'", "ALTER TABLE bids DISABLE TRIGGER ALL", "DROP TABLE bids",
		"UPDATE goose_db_version SET version_id = 1",
	} {
		if _, err := asRole.Exec(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "42501") {
			t.Errorf("%s: %v", statement, err)
		}
	}
}

// Wrong settings for sign-ins are refused in a sentence that names them.
func TestSettingsOfSigningIn(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	for _, wrong := range []string{
		"ATTEMPTS_PER_ADDRESS_MAX=0", "ATTEMPTS_PER_ADDRESS_MAX=-1", "ATTEMPTS_PER_ADDRESS_MAX=many",
		"ATTEMPTS_PER_ADDRESS_MAX=1000000",
		"CONTACT=" + strings.Repeat("x", 201), "CONTACT=a\nb",
	} {
		cmd := exec.Command(program, "serve")
		cmd.Env = append(
			[]string{"DATABASE_URL=postgres://nobody@127.0.0.1:1/none", "REDIS_URL=redis://127.0.0.1:1"}, wrong,
		)
		var said bytes.Buffer
		cmd.Stderr = &said
		name, _, _ := strings.Cut(wrong, "=")
		if err := cmd.Run(); err == nil || !strings.Contains(said.String(), name+" takes") {
			t.Errorf("%.60q: %v %s", wrong, err, said.String())
		}
	}
}

package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"martelo/db/dbtest"
)

// program is the real martelo, built once for all tests here.
var program string

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "martelo")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(folder, "martelo")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// startWithin is how long a node may take to serve, and leaveWithin the contract's time to leave.
const (
	startWithin = 20 * time.Second
	leaveWithin = 10 * time.Second
	// answerWithin is the contract's bound on any answer, whatever is away.
	answerWithin = 10 * time.Second
)

// town is the stores that nodes share, and the people in it.
type town struct {
	*testing.T
	database, redis string
	seller, service string // tokens
	nodes           []*node
}

// newTown migrates nothing: dbtest's databases are migrated. It makes a seller and a service with
// the program's own commands.
func newTown(t *testing.T, database, redis string) *town {
	town := &town{T: t, database: database, redis: redis}
	town.command(
		"user", "create", "--email", "seller@house.example", "--name", "Seller", "--password", "a long password",
		"--role", "seller",
	)
	town.command(
		"user", "create", "--email", "backend@house.example", "--name", "Backend", "--password", "a long password",
	)
	town.seller = town.command("token", "create", "--user", "seller@house.example")
	town.service = town.command("token", "create", "--user", "backend@house.example", "--service")
	return town
}

func (c *town) environment(more ...string) []string {
	return append(
		append(os.Environ(), "DATABASE_URL="+c.database, "REDIS_URL="+c.redis, "LISTEN_ADDR=127.0.0.1:0"), more...,
	)
}

// command runs one of the program's commands and returns what it printed.
func (c *town) command(args ...string) string {
	c.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = c.environment()
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		c.Fatalf("martelo %s: %v\n%s", strings.Join(args, " "), err, complaint.String())
	}
	return strings.TrimSpace(string(out))
}

// node is a running martelo serve.
type node struct {
	*town
	url  string
	cmd  *exec.Cmd
	left chan struct{} // closed when the process has ended
	mu   sync.Mutex
	log  []string
}

// start runs a node and returns when it serves.
func (c *town) start(more ...string) *node { return c.startQuiet("", more...) }

// startQuiet is start for a node whose log leaves out where it serves: it is told.
func (c *town) startQuiet(listen string, more ...string) *node {
	c.Helper()
	if listen != "" {
		more = append(more, "LISTEN_ADDR="+listen)
	}
	n := &node{town: c, cmd: exec.Command(program, "serve"), left: make(chan struct{})}
	n.cmd.Env = c.environment(more...)
	n.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stderr, err := n.cmd.StderrPipe()
	if err != nil {
		c.Fatal(err)
	}
	if err := n.cmd.Start(); err != nil {
		c.Fatal(err)
	}
	address := make(chan string, 1)
	go n.read(stderr, address)
	c.Cleanup(n.kill)
	if listen != "" {
		eventually(c, startWithin, "the node serves", func() bool {
			response, err := client.Get("http://" + listen + "/healthz")
			if err == nil {
				_ = response.Body.Close()
			}
			return err == nil
		})
		address <- listen
	}
	select {
	case a := <-address:
		n.url = "http://" + a
	case <-n.left:
		c.Fatalf("the node ended at its start:\n%s", strings.Join(n.lines(), "\n"))
	case <-time.After(startWithin):
		c.Fatal("the node does not serve")
	}
	c.nodes = append(c.nodes, n)
	return n
}

func (n *node) read(stderr io.Reader, address chan<- string) {
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		n.mu.Lock()
		n.log = append(n.log, lines.Text())
		n.mu.Unlock()
		var line struct{ Msg, Address string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "serving" {
			address <- line.Address
		}
	}
	_ = n.cmd.Wait()
	close(n.left)
}

func (n *node) lines() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.log...)
}

// kill ends the node as a crash does.
func (n *node) kill() {
	_ = n.cmd.Process.Signal(syscall.SIGKILL)
	<-n.left
}

// leave asks the node to stop and fails if it takes longer than the contract allows.
func (n *node) leave() {
	n.Helper()
	_ = n.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-n.left:
	case <-time.After(leaveWithin):
		n.Fatalf("the node did not leave within %s:\n%s", leaveWithin, strings.Join(tail(n.lines(), 5), "\n"))
	}
}

func tail(lines []string, n int) []string { return lines[max(0, len(lines)-n):] }

// client keeps connections of its own: a killed node must not poison another's.
var client = &http.Client{Timeout: answerWithin, Transport: &http.Transport{MaxIdleConnsPerHost: 256}}

// reply is an answer of the JSON API.
type reply struct {
	status   int
	header   http.Header
	body     []byte
	err      error // the connection broke, or nothing came in time
	took     time.Duration
	replayed bool
}

func (r reply) code() string {
	var problem struct{ Code string }
	_ = json.Unmarshal(r.body, &problem)
	return problem.Code
}

func (n *node) do(ctx context.Context, method, path, token string, body any, header ...string) reply {
	var sent io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return reply{err: err}
		}
		sent = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, n.url+path, sent)
	if err != nil {
		return reply{err: err}
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	begin := time.Now()
	response, err := client.Do(request)
	if err != nil {
		return reply{err: err, took: time.Since(begin)}
	}
	defer response.Body.Close()
	r := reply{
		status: response.StatusCode, header: response.Header,
		replayed: response.Header.Get("Idempotency-Replayed") == "true",
	}
	r.body, r.err = io.ReadAll(response.Body)
	r.took = time.Since(begin)
	return r
}

// must decodes an answer of the status expected.
func must[T any](t testing.TB, r reply, status int) (into T) {
	t.Helper()
	if r.err != nil || r.status != status {
		t.Fatalf("%d %v, want %d: %s", r.status, r.err, status, r.body)
	}
	if err := json.Unmarshal(r.body, &into); err != nil {
		t.Fatalf("%v: %s", err, r.body)
	}
	return into
}

type auctionReply struct {
	ID                                   int64
	SellerID                             int64
	CurrentPrice, MinimumBid, StartPrice string
	LeaderID                             *int64
	BidCount, Version                    int64
	Status                               string
	EndTime, ServerTime                  time.Time
}

type bidReply struct {
	ID, AuctionID, Seq, BidderID int64
	Amount                       string
	AcceptedAt                   time.Time
}

// bidders adds people to bid for.
func (n *node) bidders(count int) (ids []int64) {
	n.Helper()
	for i := range count {
		r := n.do(n.Context(), "POST", "/users", n.service, map[string]any{"name": fmt.Sprintf("Bidder %d", i)})
		ids = append(ids, must[struct{ ID int64 }](n, r, http.StatusCreated).ID)
	}
	return ids
}

// open opens an auction at 1000 in steps of 10 that ends after the given time, without soft close.
func (n *node) open(ends time.Duration) auctionReply {
	n.Helper()
	r := n.do(n.Context(), "POST", "/auctions", n.seller, map[string]any{
		"title": "Vintage watch", "startPrice": "1000.00", "minIncrement": 10,
		"endTime":   time.Now().Add(ends).UTC().Format(time.RFC3339Nano),
		"softClose": map[string]int{"windowSeconds": 0, "extendSeconds": 0},
	})
	return must[auctionReply](n, r, http.StatusCreated)
}

// bid sends a bid for somebody with a key.
func (n *node) bid(ctx context.Context, auctionID, bidder int64, amount int64, key uuid.UUID) reply {
	return n.do(ctx, "POST", fmt.Sprintf("/auctions/%d/bids", auctionID), n.service,
		map[string]any{"bidderId": bidder, "amount": amount}, "Idempotency-Key", key.String())
}

func (n *node) auction(id int64) auctionReply {
	n.Helper()
	return must[auctionReply](n, n.do(n.Context(), "GET", fmt.Sprintf("/auctions/%d", id), "", nil), http.StatusOK)
}

// bidLog reads the whole log through the API.
func (n *node) bidLog(id int64) (log []bidReply) {
	n.Helper()
	for after := int64(0); ; {
		r := n.do(n.Context(), "GET", fmt.Sprintf("/auctions/%d/bids?after=%d&limit=1000", id, after), "", nil)
		page := must[struct{ Bids []bidReply }](n, r, http.StatusOK).Bids
		log = append(log, page...)
		if len(page) == 0 {
			return log
		}
		after = page[len(page)-1].Seq
	}
}

// eventually waits for something that comes by itself, and fails when it does not come in time.
func eventually(t testing.TB, within time.Duration, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", within, what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func newDefaultTown(t *testing.T) *town { return newTown(t, dbtest.URL(t), dbtest.RedisURL(t)) }

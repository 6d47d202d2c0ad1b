package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"martelo/db/dbtest"
)

// sql runs statements, one by one, on the database, past the house.
func (c *town) sql(statements string) {
	c.Helper()
	conn, err := pgx.Connect(c.Context(), c.database)
	if err != nil {
		c.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(c.Context()))
	for statement := range strings.SplitSeq(statements, ";") {
		if _, err := conn.Exec(c.Context(), statement); err != nil {
			c.Fatalf("%s: %v", statement, err)
		}
	}
}

// pastTheRules runs statements that the table's triggers would refuse.
func (c *town) pastTheRules(statements string) {
	c.Helper()
	c.sql("ALTER TABLE auctions DISABLE TRIGGER USER; " + statements + "; ALTER TABLE auctions ENABLE TRIGGER USER")
}

type healthReply struct {
	Status string
	Away   []string
}

func (n *node) ready() (int, healthReply) {
	r := n.do(n.Context(), "GET", "/readyz", "", nil)
	var health healthReply
	_ = json.Unmarshal(r.body, &health)
	return r.status, health
}

// figure is a metric's value, labels and all.
func (n *node) figure(name string) (value float64) {
	r := n.do(n.Context(), "GET", "/metrics", "", nil)
	for line := range strings.Lines(string(r.body)) {
		if rest, found := strings.CutPrefix(line, name+" "); found {
			_, _ = fmt.Sscan(rest, &value)
		}
	}
	return value
}

// Events that go to the log are written whatever its level leaves out.
func TestEventsAreWrittenWhateverTheLogLevel(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	town := newDefaultTown(t)
	for _, level := range []string{"warn", "error"} {
		node := town.startQuiet(freeAddress(t), "LOG_LEVEL="+level, "DRAIN_DELAY=0s")
		auction, who := node.open(time.Second), node.bidders(1)
		must[bidReply](t, node.bid(t.Context(), auction.ID, who[0], 1010, uuid.New()), http.StatusCreated)
		eventually(t, 10*time.Second, "both events are in the log", func() bool { return len(node.told()) == 2 })
		for _, line := range node.lines() {
			if strings.Contains(line, `"level":"INFO"`) && !strings.Contains(line, `"msg":"event"`) {
				t.Errorf("%s lets through %s", level, line)
			}
		}
		node.leave()
	}
}

// Ready means that bids are taken, whatever keeps PostgreSQL from writing them, and once that is
// over they are taken again at once.
func TestReadyMeansThatBidsAreTaken(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	town := newTown(t, dbtest.StartPostgres(t).URL(), dbtest.RedisURL(t))
	node := town.start()
	auction, who := node.open(time.Hour), node.bidders(1)
	amount := int64(1000)
	bid := func() int {
		amount += 10
		return node.bid(t.Context(), auction.ID, who[0], amount, uuid.New()).status
	}
	if status := bid(); status != http.StatusCreated {
		t.Fatalf("at first a bid is %d", status)
	}
	for _, fault := range []struct{ name, begin, end string }{
		{"read-only", `ALTER DATABASE martelo SET default_transaction_read_only = on;
			SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'martelo'`,
			`SET default_transaction_read_only = off; ALTER DATABASE martelo RESET default_transaction_read_only`},
		{"no table of bids", `ALTER TABLE bids RENAME TO away`, `ALTER TABLE away RENAME TO bids`},
		{
			"no standby", `ALTER SYSTEM SET synchronous_standby_names = 'ghost'`,
			`ALTER SYSTEM RESET synchronous_standby_names`,
		},
	} {
		town.sql(fault.begin + "; SELECT pg_reload_conf()")
		eventually(t, 5*time.Second, fault.name+": not ready", func() bool {
			status, health := node.ready()
			return status == http.StatusServiceUnavailable && len(health.Away) == 1 && health.Away[0] == "postgresql"
		})
		if status := bid(); status != http.StatusServiceUnavailable {
			t.Errorf("%s: a bid is %d", fault.name, status)
		}
		town.sql(fault.end + "; SELECT pg_reload_conf()")
		over := time.Now()
		eventually(
			t, 10*time.Second, fault.name+": bids are taken again", func() bool { return bid() == http.StatusCreated },
		)
		if took := time.Since(over); took > 2*time.Second {
			t.Errorf("%s: bids are taken %s after it", fault.name, took)
		}
		eventually(t, 10*time.Second, fault.name+": ready again", func() bool {
			status, health := node.ready()
			return status == http.StatusOK && len(health.Away) == 0
		})
	}
}

// An auction in a currency that no list has any more is read, bid on, watched, closed and told like
// any other, and one row that cannot open or close stops no other.
func TestOneBadRowStopsNothing(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	town := newDefaultTown(t)
	node := town.start()
	who := node.bidders(7)
	for i, code := range []string{"HRK", "BGN", "ZWL", "SLL", "ANG", "CUC", "XQZ"} {
		auction := node.open(time.Hour)
		town.pastTheRules(fmt.Sprintf(`UPDATE auctions SET currency = '%s' WHERE id = %d`, code, auction.ID))
		if got := node.auction(auction.ID); got.CurrentPrice != "1000.00" {
			t.Errorf("%s: %+v", code, got)
		}
		must[bidReply](t, node.bid(t.Context(), auction.ID, who[i], 1010, uuid.New()), http.StatusCreated)
		for _, path := range []string{
			"/auctions", fmt.Sprintf("/auctions/%d", auction.ID), fmt.Sprintf("/auctions/%d/bids", auction.ID),
		} {
			for _, accept := range []string{"text/html", "application/json"} {
				r := node.do(t.Context(), "GET", path, "", nil, "Accept", accept)
				shown := strings.ReplaceAll(string(r.body), "1,010.00", "1010.00")
				if r.status != http.StatusOK || !strings.Contains(shown, "1010.00") {
					t.Errorf("%s: %s as %s is %d", code, path, accept, r.status)
				}
			}
		}
		if first := node.firstEvent(auction.ID); !strings.Contains(first, `"currentPrice":"1010.00"`) {
			t.Errorf("%s: its stream begins with %s", code, first)
		}
		if i == 0 {
			town.pastTheRules(fmt.Sprintf(`UPDATE auctions SET end_at = now() + interval '1 s',
				original_end_at = now() + interval '1 s' WHERE id = %d`, auction.ID))
			eventually(t, 15*time.Second, "it is told as closed", func() bool {
				return strings.Contains(strings.Join(node.told(), " "), fmt.Sprintf("auction-closed:%d", auction.ID))
			})
		}
	}

	stuck, late := node.open(time.Hour), node.open(time.Hour)
	town.pastTheRules(fmt.Sprintf(`UPDATE auctions SET status = 'SCHEDULED' WHERE id IN (%d, %d);
		ALTER TABLE auctions ADD CONSTRAINT it_does_not_open CHECK (id <> %d OR status <> 'OPEN') NOT VALID`,
		stuck.ID, late.ID, stuck.ID))
	ending := node.open(1500 * time.Millisecond)
	eventually(
		t, 10*time.Second, "another auction opens", func() bool { return node.auction(late.ID).Status == "OPEN" },
	)
	eventually(
		t, 10*time.Second, "another auction closes", func() bool { return node.auction(ending.ID).Status == "CLOSED" },
	)
	eventually(
		t, 10*time.Second, "what does not open is counted",
		func() bool { return node.figure("martelo_auctions_open_failures_total") > 0 },
	)
	if status, _ := node.ready(); status != http.StatusOK {
		t.Errorf("readyz is %d", status)
	}
}

// firstEvent is the first of an auction's stream.
func (n *node) firstEvent(id int64) string {
	n.Helper()
	ctx, cancel := context.WithTimeout(n.Context(), 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, "GET", fmt.Sprintf("%s/auctions/%d/events", n.url, id), nil)
	if err != nil {
		n.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	buffer := make([]byte, 4096)
	read, _ := response.Body.Read(buffer)
	return string(buffer[:read])
}

// A node that is told to stop says so to the balancer first and goes on serving, and one client
// that never finishes neither keeps it from leaving nor makes it fail.
func TestANodeLeavesInOrder(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	town := newDefaultTown(t)
	node := town.start("DRAIN_DELAY=1s")
	auction, who := node.open(time.Hour), node.bidders(1)
	stuck, err := net.Dial("tcp", strings.TrimPrefix(node.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer stuck.Close()
	_, _ = fmt.Fprintf(stuck, "POST /auctions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{", node.seller)
	must[bidReply](t, node.bid(t.Context(), auction.ID, who[0], 1010, uuid.New()), http.StatusCreated)

	began := time.Now()
	_ = node.cmd.Process.Signal(syscall.SIGTERM)
	fresh := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Second}
	statuses, lastSeen := map[int]int{}, time.Duration(0)
	for {
		response, err := fresh.Get(node.url + "/readyz")
		if err != nil {
			break
		}
		_ = response.Body.Close()
		statuses[response.StatusCode]++
		lastSeen = time.Since(began)
	}
	if statuses[http.StatusServiceUnavailable] < 10 || statuses[http.StatusOK] > 10 || lastSeen < 900*time.Millisecond {
		t.Errorf("readyz said %v until %s", statuses, lastSeen)
	}
	select {
	case <-node.left:
	case <-time.After(leaveWithin):
		t.Fatal("it did not leave in time")
	}
	if code := node.cmd.ProcessState.ExitCode(); code != 0 ||
		strings.Contains(strings.Join(node.lines(), "\n"), "undecided") {
		t.Errorf("it left with %d:\n%s", code, strings.Join(tail(node.lines(), 5), "\n"))
	}
}

// Redis that answers and takes no writes is away: nothing is counted there. Bids go on.
func TestRedisThatTakesNoWritesIsAway(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	town := newDefaultTown(t)
	store := dbtest.Redis(t)
	node := town.start()
	auction, who := node.open(time.Hour), node.bidders(1)
	amount := int64(1000)
	for _, fault := range []struct{ name, setting, bad, good string }{
		{"out of memory", "maxmemory", "1mb", "0"}, {"a follower", "replicaof", "127.0.0.1 1", "no one"},
		{"another password", "requirepass", "secret", ""},
	} {
		change := func(value string) {
			t.Helper()
			ask := store.ConfigSet(t.Context(), fault.setting, value).Err
			if fault.setting == "replicaof" {
				host, port, _ := strings.Cut(value, " ")
				ask = store.ReplicaOf(t.Context(), host, port).Err
			}
			if fault.setting == "requirepass" && value == "" {
				options := *store.Options()
				options.Password = fault.bad
				knows := redis.NewClient(&options)
				defer knows.Close()
				ask = knows.ConfigSet(t.Context(), fault.setting, value).Err
			}
			if err := ask(); err != nil {
				t.Fatalf("%s: %v", fault.name, err)
			}
		}
		change(fault.bad)
		if fault.setting == "requirepass" { // those who are in stay in
			store.Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
		}
		eventually(t, 5*time.Second, fault.name+": redis is away", func() bool {
			status, health := node.ready()
			return status == http.StatusOK && len(health.Away) == 1 && health.Away[0] == "redis"
		})
		amount += 10
		must[bidReply](t, node.bid(t.Context(), auction.ID, who[0], amount, uuid.New()), http.StatusCreated)
		change(fault.good)
		eventually(t, 5*time.Second, fault.name+": redis is back", func() bool {
			_, health := node.ready()
			return len(health.Away) == 0
		})
	}
}

package main_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"martelo/db/dbtest"
)

// convergeWithin is the promised two seconds (P8), and as much for a busy machine.
const convergeWithin = 4 * time.Second

// run runs statements on the town's database in one session.
func (c *town) run(statements ...string) {
	c.Helper()
	conn, err := pgx.Connect(c.Context(), c.database)
	if err != nil {
		c.Fatal(err)
	}
	defer conn.Close(context.Background())
	for _, statement := range statements {
		if _, err := conn.Exec(c.Context(), statement); err != nil {
			c.Fatalf("%s: %v", statement, err)
		}
	}
}

// ask reads one text from the town's database.
func (c *town) ask(query string) (text string) {
	c.Helper()
	conn, err := pgx.Connect(c.Context(), c.database)
	if err != nil {
		c.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := conn.QueryRow(c.Context(), query).Scan(&text); err != nil {
		c.Fatalf("%s: %v", query, err)
	}
	return text
}

func (c *town) store() *redis.Client {
	c.Helper()
	options, err := redis.ParseURL(c.redis)
	if err != nil {
		c.Fatal(err)
	}
	client := redis.NewClient(options)
	c.Cleanup(func() { _ = client.Close() })
	return client
}

// stream is a page's or a client's open stream, as it is read.
type stream struct {
	mu   sync.Mutex
	read []string
}

// listen reads the data of a stream's events, except the clock's, from now on until the test ends.
func (n *node) listen(path string) *stream {
	n.Helper()
	request, err := http.NewRequestWithContext(n.Context(), "GET", n.url+path, nil)
	if err != nil {
		n.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		n.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		n.Fatalf("%s: %d", path, response.StatusCode)
	}
	s := &stream{}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		lines := bufio.NewReader(response.Body)
		for text := ""; ; {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			if line != "\n" {
				text += line
				continue
			}
			if !strings.HasPrefix(text, "event: clock") {
				s.mu.Lock()
				s.read = append(s.read, text)
				s.mu.Unlock()
			}
			text = ""
		}
	}()
	n.Cleanup(func() {
		_ = response.Body.Close()
		<-ended
	})
	return s
}

func (s *stream) events() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.read...)
}

// last is the newest event, whole.
func (s *stream) last() string {
	if all := s.events(); len(all) > 0 {
		return all[len(all)-1]
	}
	return ""
}

// comesTo waits until the newest event holds the words.
func (s *stream) comesTo(t testing.TB, what string, words ...string) {
	t.Helper()
	deadline := time.Now().Add(convergeWithin)
	for {
		last, missing := s.last(), ""
		for _, word := range words {
			if !strings.Contains(last, word) {
				missing = word
			}
		}
		if missing == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %s is missing; the last was\n%s", what, missing, last)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// message is an announcement as a node of the town's house would make it, changed as given.
func (c *town) message(n *node, id int64, changes map[string]any) string {
	c.Helper()
	a := n.auction(id)
	fields := map[string]any{
		"house": c.ask("SELECT id::text FROM house"), "id": id, "version": a.Version, "seller": a.SellerID,
		"currency": "USD", "start": 100000,
		"increment": 1000, "price": 100000, "status": "OPEN", "lane": "standard",
		"startAt": time.Now().Add(-time.Hour).UnixMicro(),
		"endAt":   a.EndTime.UnixMicro(), "originalEndAt": a.EndTime.UnixMicro(),
	}
	for name, value := range changes {
		fields[name] = value
	}
	text, err := json.Marshal(fields)
	if err != nil {
		c.Fatal(err)
	}
	return string(text)
}

// publish says something on an auction's channel, and fails the test if no node hears it.
func (c *town) publish(store *redis.Client, id int64, message string) {
	c.Helper()
	heard := int64(0)
	eventually(c, 10*time.Second, "a node hears", func() bool {
		heard = store.Publish(c.Context(), fmt.Sprintf("auction:%d", id), message).Val()
		return heard > 0
	})
}

// Somebody publishes an end and a price that never were: within two seconds every viewer has what
// PostgreSQL has, in pages and streams, on every node, and what comes afterwards is shown.
func TestWhatWasNeverCommittedIsTakenBack(t *testing.T) {
	dbtest.Long(t)
	town := newDefaultTown(t)
	here, there := town.start(), town.start()
	store := town.store()
	lot := here.open(time.Hour)
	bidders := here.bidders(2)
	must[bidReply](t, here.bid(t.Context(), lot.ID, bidders[0], 1010, uuid.New()), http.StatusCreated)
	page := here.listen(fmt.Sprintf("/live?view=panel&locale=en-US&auctions=%d", lot.ID))
	api := there.listen(fmt.Sprintf("/auctions/%d/events", lot.ID))
	eventually(t, 10*time.Second, "both nodes listen", func() bool {
		channel := fmt.Sprintf("auction:%d", lot.ID)
		return store.PubSubNumSub(t.Context(), channel).Val()[channel] == 2
	})
	page.comesTo(t, "the page", `data-status="OPEN"`, "$1,010.00")
	api.comesTo(t, "the client", `"currentPrice":"1010.00"`)
	led := map[string]any{"leader": bidders[0], "paddle": 1, "bids": 1, "bidders": 1, "price": 999900}
	for what, changes := range map[string]map[string]any{
		"an end":                      {"version": 5000, "status": "CLOSED", "closedAt": lot.EndTime.UnixMicro()},
		"a price":                     {"version": 7000},
		"a price of the next version": {"version": here.auction(lot.ID).Version + 1},
	} {
		for name, value := range led {
			changes[name] = value
		}
		before := []string{here.metric("martelo_live_taken_back_total"), there.metric("martelo_live_taken_back_total")}
		town.publish(store, lot.ID, town.message(here, lot.ID, changes))
		eventually(t, convergeWithin, "it is heard and taken back", func() bool {
			return here.metric("martelo_live_taken_back_total") != before[0] &&
				there.metric("martelo_live_taken_back_total") != before[1]
		})
		page.comesTo(t, what, `data-status="OPEN"`, "$1,010.00", "data-confirmed")
		api.comesTo(t, what, `"currentPrice":"1010.00"`, `"status":"OPEN"`)
	}
	for what, message := range map[string]string{
		"another house's": town.message(
			here, lot.ID, map[string]any{"house": uuid.NewString(), "version": 9000, "price": 500000},
		),
		"an older release's": town.message(
			here, lot.ID, map[string]any{"house": "", "version": 9000, "price": 500000},
		),
		"below the start":     town.message(here, lot.ID, map[string]any{"version": 9000, "price": -5}),
		"beyond all counting": town.message(here, lot.ID, map[string]any{"version": int64(1<<63 - 1), "price": 500000}),
		"other terms": town.message(
			here, lot.ID, map[string]any{"version": 9000, "start": 50000, "price": 50000},
		),
	} {
		town.publish(store, lot.ID, message)
		if shown := page.last(); strings.Contains(shown, "5,000") {
			t.Errorf("%s message was believed", what)
		}
	}
	must[bidReply](t, there.bid(t.Context(), lot.ID, bidders[1], 1020, uuid.New()), http.StatusCreated)
	page.comesTo(t, "the next bid", "$1,020.00")
	api.comesTo(t, "the next bid", `"currentPrice":"1020.00"`)
	for _, shown := range append(page.events(), api.events()...) {
		if strings.Contains(shown, "5,000") || strings.Contains(shown, "5000.00") || strings.Contains(shown, "-0.05") {
			t.Errorf("shown: %s", shown)
		}
	}
	for _, name := range []string{
		"martelo_live_foreign_messages_total", "martelo_live_nonsense_total", "martelo_live_taken_back_total",
	} {
		if value := here.metric(name); value == "0" || value == "" {
			t.Errorf("%s is %q", name, value)
		}
	}
}

// metric reads a figure without labels.
func (n *node) metric(name string) string {
	n.Helper()
	r := n.do(n.Context(), "GET", "/metrics", "", nil)
	for line := range strings.Lines(string(r.body)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// PostgreSQL comes back without its newest commits while nodes run: bids, the close too. Viewers
// converge downward, and bids go on from there.
func TestLostCommitsAreTakenBack(t *testing.T) {
	dbtest.Long(t)
	town := newDefaultTown(t)
	here, there := town.start(), town.start()
	lot, other := here.open(time.Hour), here.open(time.Hour)
	bidders := here.bidders(2)
	for i := range 3 {
		must[bidReply](
			t, here.bid(t.Context(), lot.ID, bidders[i%2], int64(1100+100*i), uuid.New()), http.StatusCreated,
		)
	}
	both := fmt.Sprintf("%d,%d", lot.ID, other.ID) // a page whose lots are all over is told goodbye
	streams := []*stream{
		here.listen("/live?view=card&locale=en-US&auctions=" + both),
		there.listen("/live?view=card&locale=en-US&auctions=" + both),
	}
	for _, s := range streams {
		eventually(
			t, convergeWithin, "the price is shown",
			func() bool { return strings.Contains(strings.Join(s.events(), ""), "$1,300.00") },
		)
	}
	lower := fmt.Sprintf(`UPDATE auctions SET current_price = 110000, leader_id = %d, leader_paddle = 1, bid_count = 1,
		bidder_count = 1, status = 'OPEN',
		closed_at = NULL, version = 2 WHERE id = %d`, bidders[0], lot.ID)
	lose := func() {
		t.Helper()
		town.run("SET session_replication_role = replica", lower, fmt.Sprintf("DELETE FROM bids WHERE auction_id = "+
			"%d AND seq > 1", lot.ID),
			fmt.Sprintf("DELETE FROM outbox WHERE auction_id = %d", lot.ID))
		for _, s := range streams {
			s.comesTo(t, "what PostgreSQL has", `data-version="2"`, "$1,100.00", `data-status="OPEN"`, "data-confirmed")
		}
	}
	lose()
	if shown := there.auction(lot.ID); shown.CurrentPrice != "1100.00" {
		t.Errorf("%+v", shown)
	}
	must[bidReply](t, there.bid(t.Context(), lot.ID, bidders[1], 1120, uuid.New()), http.StatusCreated)
	for _, s := range streams {
		s.comesTo(t, "the next bid", `data-version="3"`, "$1,120.00")
	}
	town.run("SET session_replication_role = replica", fmt.Sprintf(
		`UPDATE auctions SET end_at = statement_timestamp(), original_end_at = statement_timestamp(),
		start_at = created_at - interval '1 hour', version = version + 1 WHERE id = %d`, lot.ID))
	for _, s := range streams {
		s.comesTo(t, "the end", `data-status="CLOSED"`)
	}
	lower = strings.Replace(
		lower, "version = 2",
		"version = 2, end_at = now() + interval '1 hour', original_end_at = now() + interval '1 hour'", 1,
	)
	lose()
	must[bidReply](t, here.bid(t.Context(), lot.ID, bidders[1], 1130, uuid.New()), http.StatusCreated)
	for _, s := range streams {
		s.comesTo(t, "a bid after the end that is lost", "$1,130.00")
	}
}

// twoHouses are two houses with the same numbers and epochs beside one Redis, in one database of it
// or in two.
func twoHouses(t *testing.T, sameDatabase bool) (ours, theirs *town) {
	t.Helper()
	address := dbtest.RedisURL(t)
	ours = newTown(t, dbtest.URL(t), address)
	if !sameDatabase {
		address = strings.TrimSuffix(address, "/0") + "/1"
	}
	theirs = newTown(t, dbtest.URL(t), address)
	theirs.command("house", "renew")
	for _, town := range []*town{ours, theirs} {
		town.run(
			"ALTER TABLE auctions ALTER COLUMN id RESTART WITH 77777777",
			"ALTER SEQUENCE auction_hot_epochs RESTART WITH 77777777",
		)
	}
	return ours, theirs
}

// Two houses share a Redis, and have an auction of the same number each: nothing of the one is
// shown in the other.
func TestTwoHousesOnOneRedisAreToldApart(t *testing.T) {
	dbtest.Long(t)
	for _, same := range []bool{false, true} {
		t.Run(fmt.Sprintf("same database %v", same), func(t *testing.T) {
			ours, theirs := twoHouses(t, same)
			here, there := ours.start(), theirs.start()
			lot, namesake := here.open(time.Hour), there.open(time.Hour)
			if lot.ID != namesake.ID {
				t.Fatal("they have other numbers")
			}
			api := here.listen(fmt.Sprintf("/auctions/%d/events", lot.ID))
			api.comesTo(t, "the first state", `"currentPrice":"1000.00"`)
			eventually(t, 10*time.Second, "the other house is heard", func() bool {
				bidder := there.bidders(1)[0]
				there.bid(t.Context(), namesake.ID, bidder, 1000*(2+there.auction(namesake.ID).BidCount), uuid.New())
				return here.metric("martelo_live_foreign_messages_total") != "0"
			})
			bidder := here.bidders(1)[0]
			must[bidReply](t, here.bid(t.Context(), lot.ID, bidder, 1010, uuid.New()), http.StatusCreated)
			api.comesTo(t, "our bid", `"currentPrice":"1010.00"`)
			for _, event := range api.events() {
				if !strings.Contains(event, `"currentPrice":"1000.00"`) &&
					!strings.Contains(event, `"currentPrice":"1010.00"`) {
					t.Errorf("shown: %s", event)
				}
			}
			if said := strings.Count(strings.Join(here.lines(), "\n"), "another house uses this Redis"); said != 1 {
				t.Errorf("it was said %d times", said)
			}

			hot, other := must[auctionReply](t, here.openHot(3*time.Second), 201), must[auctionReply](
				t, there.openHot(3*time.Second), 201,
			)
			bidder = here.bidders(1)[0]
			for i := range int64(5) {
				must[bidReply](t, here.bid(t.Context(), hot.ID, bidder, 1010+10*i, uuid.New()), http.StatusCreated)
				must[bidReply](
					t, there.bid(t.Context(), other.ID, there.bidders(1)[0], 2010+10*i, uuid.New()), http.StatusCreated,
				)
			}
			for _, end := range []struct {
				at    *node
				id    int64
				price string
			}{{here, hot.ID, "1050.00"}, {there, other.ID, "2050.00"}} {
				eventually(
					t, 15*time.Second, "it is closed", func() bool { return end.at.auction(end.id).Status == "CLOSED" },
				)
				if final := end.at.auction(end.id); final.CurrentPrice != end.price || final.BidCount != 5 ||
					len(end.at.bidLog(end.id)) != 5 {
					t.Errorf("%+v", final)
				}
				if stops := end.at.metric("martelo_hot_stops_total"); stops != "0" {
					t.Errorf("%s auctions were stopped", stops)
				}
			}
			house := ours.ask("SELECT id::text FROM house")
			eventually(t, 10*time.Second, "the event is told", func() bool {
				return strings.Contains(
					strings.Join(here.lines(), "\n"), "/houses/"+house+"/auctions/"+fmt.Sprint(hot.ID),
				)
			})
		})
	}
}

// A new house finds a Redis that kept what an old one had in it under the same numbers.
func TestANewHouseBesideAnOldRedis(t *testing.T) {
	dbtest.Long(t)
	old, fresh := twoHouses(t, true)
	gone := old.start()
	lot := must[auctionReply](t, gone.openHot(time.Hour), http.StatusCreated)
	bidder := gone.bidders(1)[0]
	for i := range int64(3) {
		must[bidReply](t, gone.bid(t.Context(), lot.ID, bidder, 5000+10*i, uuid.New()), http.StatusCreated)
	}
	gone.kill()
	node := fresh.start()
	again := must[auctionReply](t, node.openHot(time.Hour), http.StatusCreated)
	if again.ID != lot.ID {
		t.Fatal("they have other numbers")
	}
	bid := must[bidReply](t, node.bid(t.Context(), again.ID, node.bidders(1)[0], 1010, uuid.New()), http.StatusCreated)
	node.settled(again.ID)
	if shown := node.auction(again.ID); bid.Seq != 1 || shown.CurrentPrice != "1010.00" ||
		node.metric("martelo_hot_stops_total") != "0" {
		t.Errorf("%+v, %+v", bid, shown)
	}
}

// A copy of a house has its id. It is told so at its start and does not serve, until it has an id
// of its own; or until it is said to be the house itself in a new place, and then the other uses
// Redis no more.
func TestACopyIsToldApartFromItsHouse(t *testing.T) {
	dbtest.Long(t)
	address := dbtest.RedisURL(t)
	house, copied := newTown(t, dbtest.URL(t), address), newTown(t, dbtest.URL(t), address)
	id := house.ask("SELECT id::text FROM house")
	copied.run("UPDATE house SET id = '" + id + "'")
	original := house.start()
	refused := func() string {
		t.Helper()
		cmd := exec.Command(program, "serve")
		cmd.Env = copied.environment()
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Error("a copy was served")
		}
		return string(out)
	}
	if said := refused(); !strings.Contains(said, "martelo house renew") ||
		!strings.Contains(said, "martelo house claim") {
		t.Errorf("it was told: %s", said)
	}
	if renewed := copied.command("house", "renew"); renewed == id ||
		renewed != copied.ask("SELECT id::text FROM house") {
		t.Errorf("renewed: %q", renewed)
	}
	twin := copied.start()
	cmd := exec.Command(program, "house", "renew")
	cmd.Env = copied.environment()
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "stop the nodes first") {
		t.Errorf("renewed under a running node: %s", out)
	}
	twin.leave()
	copied.run("UPDATE house SET id = '" + id + "'")
	if said := copied.command("house", "claim"); said != id {
		t.Errorf("claimed: %q", said)
	}
	copied.start()
	eventually(t, 15*time.Second, "the other finds out", func() bool {
		return strings.Contains(string(original.do(t.Context(), "GET", "/readyz", "", nil).body), "redis")
	})
	lot := original.open(time.Hour)
	bidder := original.bidders(1)[0]
	must[bidReply](t, original.bid(t.Context(), lot.ID, bidder, 1010, uuid.New()), http.StatusCreated)
	hot := must[auctionReply](t, original.openHot(time.Hour), http.StatusCreated)
	if r := original.bid(t.Context(), hot.ID, bidder, 1010, uuid.New()); r.status != http.StatusServiceUnavailable {
		t.Errorf("the hot lane without Redis: %d %s", r.status, r.body)
	}
	if said := refusedBy(copied, "house", "sell"); !strings.Contains(said, "renew") ||
		!strings.Contains(said, "claim") {
		t.Errorf("told: %s", said)
	}
}

func refusedBy(c *town, args ...string) string {
	cmd := exec.Command(program, args...)
	cmd.Env = c.environment()
	out, _ := cmd.CombinedOutput()
	return string(out)
}

// A node that starts while PostgreSQL is away knows nothing of its house, and sends nothing to
// Redis, until it is there.
func TestAHouseIsKnownAsSoonAsPostgreSQLIsThere(t *testing.T) {
	dbtest.Long(t)
	postgres := dbtest.StartPostgres(t)
	town := newTown(t, postgres.URL(), dbtest.RedisURL(t))
	postgres.Stop()
	node := town.start()
	if keys := town.store().Keys(t.Context(), "*").Val(); len(keys) > 0 {
		t.Errorf("in Redis before the house is known: %v", keys)
	}
	postgres.Start()
	eventually(t, 15*time.Second, "the node is ready", func() bool {
		r := node.do(t.Context(), "GET", "/readyz", "", nil)
		return r.status == http.StatusOK && !strings.Contains(string(r.body), "redis")
	})
	lot := must[auctionReply](t, node.openHot(time.Hour), http.StatusCreated)
	must[bidReply](t, node.bid(t.Context(), lot.ID, node.bidders(1)[0], 1010, uuid.New()), http.StatusCreated)
	house := town.ask("SELECT id::text FROM house")
	for _, key := range town.store().Keys(t.Context(), "*").Val() {
		if !strings.Contains(key, house) {
			t.Errorf("the key %s does not name the house", key)
		}
	}
}

// While Redis has no memory left hot auctions end, are cancelled and leave the lane, with every bid
// that was answered.
func TestHotAuctionsEndWhileRedisIsFull(t *testing.T) {
	dbtest.Long(t)
	server := dbtest.StartRedis(t)
	town := newTown(t, dbtest.URL(t), server.URL())
	node := town.start()
	ends := must[auctionReply](t, node.openHot(3*time.Second), http.StatusCreated)
	moved, cancelled := must[auctionReply](
		t, node.openHot(time.Hour), 201,
	), must[auctionReply](t, node.openHot(time.Hour), 201)
	bidder := node.bidders(1)[0]
	for _, lot := range []auctionReply{ends, moved, cancelled} {
		must[bidReply](t, node.bid(t.Context(), lot.ID, bidder, 1010, uuid.New()), http.StatusCreated)
	}
	store := town.store()
	for name, value := range map[string]string{"maxmemory-policy": "noeviction", "maxmemory": "1mb"} {
		if err := store.ConfigSet(t.Context(), name, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Set(t.Context(), "one more", strings.Repeat("x", 1000), 0).Err(); err == nil {
		t.Fatal("Redis has memory left")
	}
	if r := node.bid(t.Context(), moved.ID, bidder, 1020, uuid.New()); r.status != http.StatusServiceUnavailable {
		t.Errorf("a bid for which Redis has no memory: %d %s", r.status, r.body)
	}
	if r := node.move(moved.ID, town.seller, "standard"); r.status != http.StatusOK {
		t.Errorf("moving: %d %s", r.status, r.body)
	}
	must[bidReply](t, node.bid(t.Context(), moved.ID, bidder, 1020, uuid.New()), http.StatusCreated)
	town.run("UPDATE users SET role = 'admin' WHERE email = 'seller@house.example'")
	// The node asks for the role again after some seconds.
	eventually(t, 15*time.Second, "an admin cancels", func() bool {
		r := node.do(t.Context(), "POST", fmt.Sprintf("/auctions/%d/cancel", cancelled.ID), town.seller, nil)
		if r.status != http.StatusOK && r.status != http.StatusForbidden && r.status != http.StatusConflict {
			t.Errorf("cancelling: %d %s", r.status, r.body)
		}
		return r.status == http.StatusOK
	})
	eventually(t, 10*time.Second, "it is closed", func() bool { return node.auction(ends.ID).Status == "CLOSED" })
	for _, lot := range []auctionReply{ends, cancelled} {
		if final := node.auction(lot.ID); final.BidCount != 1 || final.CurrentPrice != "1010.00" ||
			*final.LeaderID != bidder {
			t.Errorf("%+v", final)
		}
	}
}

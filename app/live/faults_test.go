package live_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"martelo/app/auction"
	"martelo/app/live"
	"martelo/db"
	"martelo/db/dbtest"
)

// rumour is an auction's next state that no database knows of, so that it can only have come by
// announcement.
func rumour(u auction.Update) auction.Update {
	u.State.Version++
	u.State.EndAt = u.State.EndAt.Add(time.Minute)
	return u
}

// What one node announces, the viewers of another see, on a channel of the contract's name.
func TestAnnouncementsReachOtherNodes(t *testing.T) {
	t.Parallel()
	house := newHouse(t, dbtest.Pool(t), 1)
	here, there := run(t, house.pool, dbtest.Redis(t), nil), run(t, house.pool, dbtest.Redis(t), nil)
	here.redisReady()
	there.redisReady()
	id := house.ids[0]
	viewer := there.watch(id)
	viewer.sees(id, 1, patience)
	channel := "auction:" + strconv.FormatInt(id, 10)
	heard := dbtest.Redis(t).Subscribe(t.Context(), channel)
	defer heard.Close()
	eventually(t, patience, func() error { // the node's own subscription beside ours
		count, err := dbtest.Redis(t).PubSubNumSub(t.Context(), channel).Result()
		if err == nil && count[channel] < 2 {
			err = errors.New("nobody listens yet")
		}
		return err
	})
	u := rumour(house.bid(id))
	here.Announce(u)
	viewer.sees(id, u.State.Version, promised)
	for {
		received, err := heard.Receive(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if message, ok := received.(*redis.Message); ok {
			if got, err := live.DecodeWire(here.House(), id, message.Payload); err != nil || got.State != u.State {
				t.Errorf("%s carried %+v, %v", message.Channel, got, err)
			}
			return
		}
	}
}

// A publisher that dies between its commit and its announcement: nobody is told, and everybody sees
// it within two seconds.
func TestUnannouncedChangeIsFound(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	house := newHouse(t, dbtest.Pool(t), 2)
	node := run(t, house.pool, dbtest.Redis(t), nil).redisReady()
	viewer := node.watch(house.ids...)
	for range 3 {
		u := house.bid(house.ids[1])
		viewer.sees(house.ids[1], u.State.Version, promised)
	}
	last := house.cancel(house.ids[0])
	viewer.sees(house.ids[0], last.State.Version, promised)
}

// Without Redis viewers are two seconds behind at most; when it is back, announcements arrive
// again.
func TestRedisStopsAndComesBack(t *testing.T) {
	t.Parallel()
	house := newHouse(t, dbtest.Pool(t), 1)
	server := dbtest.StartRedis(t)
	here, there := run(t, house.pool, redisAt(t, server.URL()), nil), run(t, house.pool, redisAt(t, server.URL()), nil)
	here.redisReady()
	there.redisReady()
	id := house.ids[0]
	viewer := there.watch(id)
	viewer.sees(id, 1, patience)
	server.Kill()
	for range 3 {
		u := house.bid(id)
		announce(t, here, u)
		viewer.sees(id, u.State.Version, promised)
	}
	server.Start()
	here.redisReady()
	there.redisReady()
	u := rumour(house.read(id))
	eventually(t, patience, func() error { // until the subscription holds again
		here.Announce(u)
		if n, _ := viewer.seen(id); n.Version < u.State.Version {
			return errors.New("no announcement arrives")
		}
		return nil
	})
}

// announce fails the test when announcing takes long: it is on the way of a bid's answer.
func announce(t *testing.T, n *node, u auction.Update) {
	t.Helper()
	began := time.Now()
	n.Announce(u)
	if took := time.Since(began); took > 100*time.Millisecond {
		t.Errorf("announcing took %v", took)
	}
}

// A link to Redis on which nothing arrives any more, and nothing fails: the node notices, and
// viewers stay within two seconds.
func TestHalfOpenLinkIsNoticed(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	house := newHouse(t, dbtest.Pool(t), 1)
	server := dbtest.StartRedis(t)
	options, err := redis.ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	link := newLink(t, options.Addr)
	here, there := run(t, house.pool, redisAt(t, server.URL()), nil), run(
		t, house.pool, redisAt(t, "redis://"+link.address()), nil,
	)
	here.redisReady()
	there.redisReady()
	id := house.ids[0]
	viewer := there.watch(id)
	viewer.sees(id, 1, patience)
	link.swallow(true)
	swallowed := time.Now()
	for range 2 {
		u := house.bid(id)
		here.Announce(u)
		viewer.sees(id, u.State.Version, promised)
	}
	eventually(t, patience, func() error {
		if !there.Slow() {
			return errors.New("the dead link was not noticed")
		}
		return nil
	})
	if took := time.Since(swallowed); took > 4*time.Second {
		t.Errorf("the dead link was noticed after %v", took)
	}
	link.swallow(false)
	there.redisReady()
	u := house.bid(id)
	here.Announce(u)
	viewer.sees(id, u.State.Version, promised)
}

// A viewer whose connection is cut has the newest state as soon as it is back.
func TestCutConnection(t *testing.T) {
	t.Parallel()
	house := newHouse(t, dbtest.Pool(t), 1)
	node := run(t, house.pool, dbtest.Redis(t), nil)
	id := house.ids[0]
	first := node.watch(id)
	first.sees(id, 1, patience)
	if err := first.conn.(*net.TCPConn).SetLinger(0); err != nil {
		t.Fatal(err)
	}
	first.conn.Close()
	u := house.bid(id)
	node.Announce(u)
	node.watch(id).sees(id, u.State.Version, promised)
}

// While PostgreSQL is away viewers keep what they have, nobody new is told a lie, and the log is
// not flooded.
func TestPostgresStopsAndComesBack(t *testing.T) {
	t.Parallel()
	server := dbtest.StartPostgres(t)
	pool, err := db.Open(server.URL(), 10)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	house := newHouse(t, pool, 2)
	log := &quiet{}
	node := run(t, pool, dbtest.Redis(t), func(h *live.Hub) { h.LogTo(log) }).redisReady()
	id := house.ids[0]
	viewer := node.watch(id)
	viewer.sees(id, 1, patience)
	server.Kill()
	eventually(t, patience, func() error {
		if node.metric("martelo_live_degraded", "postgresql") != 1 {
			return errors.New("nobody noticed")
		}
		return nil
	})
	node.watch(id).sees(id, 1, patience) // known here
	conn := node.dial(house.ids[1:])     // not known here
	defer conn.Close()
	answer := make([]byte, len("HTTP/1.1 503"))
	if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != "HTTP/1.1 503" {
		t.Errorf("an unknown auction without PostgreSQL: %q, %v", answer, err)
	}
	server.Start()
	var u auction.Update
	eventually(t, patience, func() error { // its first connections find the pool full of dead ones
		return pool.Ping(t.Context())
	})
	u = house.bid(id)
	viewer.sees(id, u.State.Version, promised)
	if lines := log.count(); lines > 10 {
		t.Errorf("an outage took %d lines of log: %q", lines, log.lines)
	}
}

// A Redis that hangs makes announcing neither slow nor greedy.
func TestHangingRedisHoldsNothingUp(t *testing.T) {
	t.Parallel()
	house := newHouse(t, dbtest.Pool(t), 1)
	server := dbtest.StartRedis(t)
	node := run(t, house.pool, redisAt(t, server.URL()), nil).redisReady()
	server.Pause()
	u := house.read(house.ids[0])
	began := time.Now()
	const many = 2 * live.UnpublishedMax
	for i := range int64(many) {
		u.State.ID = i + 1
		node.Announce(u)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("%d announcements took %v", many, took)
	}
	if waiting := node.Unpublished(); waiting > live.UnpublishedMax {
		t.Errorf("%d announcements wait", waiting)
	}
	server.Resume()
	node.redisReady()
}

// Anything may be published on a channel. What makes no sense changes nothing.
func TestNonsenseFromRedisIsRefused(t *testing.T) {
	t.Parallel()
	house := newHouse(t, dbtest.Pool(t), 1)
	client := dbtest.Redis(t)
	node := run(t, house.pool, client, nil).redisReady()
	id := house.ids[0]
	viewer := node.watch(id)
	viewer.sees(id, 1, patience)
	nonsense := []string{
		"", "{", "7", `{"house":"` + node.House() + `","id":1,"version":99,"currency":"USD","status":"OPEN"}`,
	}
	eventually(t, patience, func() error { // until the subscription holds
		for _, message := range nonsense {
			if err := client.Publish(t.Context(), live.ChannelOf(id), message).Err(); err != nil {
				return err
			}
		}
		if node.metric("martelo_live_nonsense_total", "") < float64(len(nonsense)) {
			return errors.New("not heard")
		}
		return nil
	})
	u := house.bid(id)
	viewer.sees(id, u.State.Version, promised)
}

func redisAt(t *testing.T, url string) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { client.Close() })
	return client
}

// link is a TCP connection's way to a server that can swallow whatever is sent, in both directions,
// without anybody being told.
type link struct {
	listener net.Listener
	to       string
	running  sync.WaitGroup

	mu    sync.Mutex
	lost  bool
	conns []net.Conn
}

func newLink(t *testing.T, to string) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &link{listener: listener, to: to}
	l.running.Go(l.accept)
	t.Cleanup(func() {
		listener.Close()
		l.mu.Lock()
		for _, conn := range l.conns {
			conn.Close()
		}
		l.mu.Unlock()
		l.running.Wait()
	})
	return l
}

func (l *link) address() string { return l.listener.Addr().String() }

// swallow makes the link lose everything, also what new connections send, or carry again.
// Connections that lost something stay dead.
func (l *link) swallow(lost bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = lost
}

func (l *link) accept() {
	for {
		near, err := l.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", l.to)
		if err != nil {
			near.Close()
			continue
		}
		l.mu.Lock()
		l.conns = append(l.conns, near, far)
		l.mu.Unlock()
		l.running.Go(func() { l.carry(near, far) })
		l.running.Go(func() { l.carry(far, near) })
	}
}

func (l *link) carry(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	buffer := make([]byte, 32<<10)
	dead := false
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		l.mu.Lock()
		dead = dead || l.lost
		l.mu.Unlock()
		if dead {
			continue
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// One row that cannot be read hides no other: those who ask for others are answered, and the
// comparison goes on.
func TestARowThatCannotBeReadHidesNoOther(t *testing.T) {
	t.Parallel()
	pool := dbtest.Pool(t)
	house := newHouse(t, pool, 4)
	bad := house.ids[1]
	if _, err := pool.Exec(
		t.Context(), fmt.Sprintf(`ALTER TABLE auctions DROP CONSTRAINT auctions_times_finite;
			UPDATE auctions SET end_at = 'infinity', version = version + 1 WHERE id = %d`, bad), // from before it
	); err != nil {
		t.Fatal(err)
	}
	node := run(t, pool, dbtest.Redis(t), nil)
	others := []int64{house.ids[0], house.ids[2], house.ids[3]}
	if missing, err := node.Known(t.Context(), others); err != nil || len(missing) != 0 {
		t.Errorf("the others: %v %v", missing, err)
	}
	if missing, err := node.Known(t.Context(), house.ids); err != nil || len(missing) != 1 || missing[0] != bad {
		t.Errorf("all: %v %v", missing, err)
	}
}

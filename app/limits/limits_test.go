package limits_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"martelo/app/account"
	"martelo/app/identity"
	"martelo/app/limits"
	"martelo/db/dbtest"
)

func open(t *testing.T, client *redis.Client) *limits.Limits {
	t.Helper()
	return openIn(t, client, dbtest.Identity(t, dbtest.Pool(t), client))
}

// openIn opens the limits of a node of the house.
func openIn(t *testing.T, client *redis.Client, house *identity.House) *limits.Limits {
	t.Helper()
	return opened(t, limits.Open(client, house, slog.New(slog.DiscardHandler)))
}

// patient is open for what Redis counts however long it takes.
func patient(t *testing.T, client *redis.Client) *limits.Limits {
	t.Helper()
	return patientIn(t, client, dbtest.Identity(t, dbtest.Pool(t), client))
}

func patientIn(t *testing.T, client *redis.Client, house *identity.House) *limits.Limits {
	t.Helper()
	return opened(t, limits.OpenPatient(client, house, slog.New(slog.DiscardHandler)))
}

func opened(t *testing.T, l *limits.Limits) *limits.Limits {
	t.Helper()
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := l.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l
}

// within runs something that must be over in less than a second to mean anything, again until it
// is: the machine may be busy.
func within(t *testing.T, try func(bidder int64)) {
	t.Helper()
	for bidder := int64(1); ; bidder++ {
		if t.Context().Err() != nil {
			t.Fatal("the machine is too busy")
		}
		begin := time.Now()
		try(bidder)
		if time.Since(begin) < 500*time.Millisecond {
			return
		}
	}
}

func TestFiveDifferentBidsASecond(t *testing.T) {
	t.Parallel()
	l := patient(t, dbtest.Redis(t))
	var waits []time.Duration
	within(t, func(bidder int64) {
		waits = nil
		for range 8 {
			waits = append(waits, l.Bid(t.Context(), bidder, 42, uuid.New()))
		}
	})
	for i, wait := range waits {
		if refused := wait > 0; refused != (i >= 5) || wait > time.Second {
			t.Fatalf("waits are %v, want 5 zeros", waits)
		}
	}
}

func TestCopiesOfABidCountOnce(t *testing.T) {
	t.Parallel()
	l := patient(t, dbtest.Redis(t))
	var copies, others, copyAfter, sameKeyElsewhere int
	within(t, func(bidder int64) {
		copies, others, copyAfter, sameKeyElsewhere = 0, 0, 0, 0
		key := uuid.New()
		for range 20 {
			if l.Bid(t.Context(), bidder, 42, key) == 0 {
				copies++
			}
		}
		for range 6 {
			if l.Bid(t.Context(), bidder, 42, uuid.New()) == 0 {
				others++
			}
		}
		if l.Bid(t.Context(), bidder, 42, key) == 0 {
			copyAfter++
		}
		if l.Bid(t.Context(), bidder, 43, key) == 0 {
			sameKeyElsewhere++
		}
	})
	if copies != 20 || others != 4 || copyAfter != 1 || sameKeyElsewhere != 0 {
		t.Errorf(
			"let through: %d of 20 copies, %d of 4 others, %d of 1 copy after them, %d of 0 bids elsewhere", copies,
			others, copyAfter, sameKeyElsewhere,
		)
	}
}

func TestFiftyRequestsASecondWithAllCopies(t *testing.T) {
	t.Parallel()
	l := patient(t, dbtest.Redis(t))
	passed := 0
	within(t, func(bidder int64) {
		passed = 0
		key := uuid.New()
		for range 60 {
			if l.Bid(t.Context(), bidder, 42, key) == 0 {
				passed++
			}
		}
	})
	if passed != 50 {
		t.Errorf("%d requests passed, want 50", passed)
	}
}

func TestARefusedBidIsNotRecorded(t *testing.T) {
	t.Parallel()
	client := dbtest.Redis(t)
	l := patient(t, client)
	var memory string
	var kept time.Duration
	var last, refused uuid.UUID
	within(t, func(bidder int64) {
		for range 5 {
			last = uuid.New()
			l.Bid(t.Context(), bidder, 42, last)
		}
		refused = uuid.New()
		for range 10 {
			l.Bid(t.Context(), bidder, 42, refused)
		}
		key := client.Keys(t.Context(), fmt.Sprintf("bidder:{recent}:*:%d", bidder)).Val()[0]
		memory, kept = client.Get(t.Context(), key).Val(), client.PTTL(t.Context(), key).Val()
	})
	if !strings.Contains(memory, "42:"+last.String()) || strings.Contains(memory, refused.String()) {
		t.Errorf("of accepted %s and refused %s the memory is %q", last, refused, memory)
	}
	if bids, requests, _ := strings.Cut(memory, "|"); strings.Count(bids, ";") != 5 ||
		len(strings.Fields(requests)) != 5 {
		t.Errorf("the memory of five bids is %q", memory)
	}
	if kept <= 0 || kept > time.Second {
		t.Errorf("the memory is kept for %v", kept)
	}
}

// A clock of Redis that has gone back locks nobody out for as long as it went.
func TestAClockThatWentBackIsForgiven(t *testing.T) {
	t.Parallel()
	client := dbtest.Redis(t)
	l := patient(t, client)
	const later = "9000000000000000"
	bids, requests := "", ""
	for range 5 {
		bids += later + " 42:" + uuid.NewString() + ";"
		requests += later + " "
	}
	l.Bid(t.Context(), 7, 42, uuid.New())
	key := client.Keys(t.Context(), "bidder:{recent}:*:7").Val()[0]
	if err := client.Set(t.Context(), key, bids+"|"+requests, time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
	if wait := l.Bid(t.Context(), 7, 42, uuid.New()); wait != 0 {
		t.Errorf("a bidder is to wait for %v", wait)
	}
}

// Two houses that share a Redis count for themselves, though their bidders have the same numbers.
func TestTwoHousesCountApart(t *testing.T) {
	t.Parallel()
	client := dbtest.Redis(t)
	pool, other := dbtest.Pool(t), dbtest.Pool(t)
	if _, err := identity.Renew(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	ours, theirs := patientIn(t, client, dbtest.Identity(t, pool, client)), patientIn(
		t, client, dbtest.Identity(t, other, client),
	)
	within(t, func(bidder int64) {
		for range 5 {
			ours.Bid(t.Context(), bidder, 42, uuid.New())
		}
		if ours.Bid(t.Context(), bidder, 42, uuid.New()) == 0 || theirs.Bid(t.Context(), bidder, 42, uuid.New()) != 0 {
			t.Error("the other house's bidder pays for ours, or nobody does")
		}
	})
	try := limits.Try{Address: "192.0.2.1", Email: account.CanonicalEmail("ana@example.com")}
	for range 10 {
		ours.SignIn(t.Context(), try)
	}
	if ours.SignIn(t.Context(), try) == 0 || theirs.SignIn(t.Context(), try) != 0 {
		t.Error("tries to sign in at one house count at the other, or nowhere")
	}
	ours.SignedIn(t.Context(), try)
	if ours.SignIn(t.Context(), try) != 0 {
		t.Error("the tries of who has signed in are not forgotten")
	}
}

func TestManyWhoAskTogetherAreCountedApart(t *testing.T) {
	t.Parallel()
	l := patient(t, dbtest.Redis(t))
	const bidders, bids = 40, 8
	var passed [bidders]atomic.Int64
	within(t, func(first int64) {
		clear(passed[:])
		var all sync.WaitGroup
		for i := range bidders * bids {
			all.Go(func() {
				if l.Bid(t.Context(), 1000*first+int64(i%bidders), 42, uuid.New()) == 0 {
					passed[i%bidders].Add(1)
				}
			})
		}
		all.Wait()
	})
	for i := range passed {
		if n := passed[i].Load(); n != 5 {
			t.Errorf("%d of bidder %d's bids passed, want 5", n, i)
		}
	}
}

func TestTheWaitIsLongEnough(t *testing.T) {
	t.Parallel()
	l := patient(t, dbtest.Redis(t))
	for range 5 {
		l.Bid(t.Context(), 7, 42, uuid.New())
	}
	key := uuid.New()
	var wait time.Duration
	for tries := 0; wait == 0; tries++ { // until five bids came within a second
		if tries > 1000 {
			t.Fatal("no bid is one too many")
		}
		wait = l.Bid(t.Context(), 7, 42, key)
		if wait == 0 {
			key = uuid.New()
		}
	}
	// The span that is under test, not a guess at when something is done.
	timer := time.NewTimer(wait + 10*time.Millisecond)
	<-timer.C
	if again := l.Bid(t.Context(), 7, 42, key); again != 0 {
		t.Errorf("after %v still to wait %v", wait, again)
	}
}

func TestTwoNodesCountTogether(t *testing.T) {
	t.Parallel()
	client := dbtest.Redis(t)
	house := dbtest.Identity(t, dbtest.Pool(t), client)
	one, two := patientIn(t, client, house), patientIn(t, client, house)
	passed := 0
	within(t, func(bidder int64) {
		passed = 0
		for i := range 10 {
			node := one
			if i%2 == 1 {
				node = two
			}
			if node.Bid(t.Context(), bidder, 42, uuid.New()) == 0 {
				passed++
			}
		}
	})
	if passed != 5 {
		t.Errorf("%d passed, want 5", passed)
	}
}

func TestBiddersDoNotCountForEachOther(t *testing.T) {
	t.Parallel()
	l := open(t, dbtest.Redis(t))
	for bidder := range int64(50) {
		if wait := l.Bid(t.Context(), 1000+bidder, 42, uuid.New()); wait != 0 {
			t.Fatalf("bidder %d waits %v", bidder, wait)
		}
	}
}

// countedHere checks that without Redis nobody is held up, and that this node holds the limits by
// itself.
func countedHere(t *testing.T, l *limits.Limits) {
	t.Helper()
	const bids, slowestMost = 200, 400 * time.Millisecond // askWithin, on a busy machine
	var all sync.WaitGroup
	slowest := make([]time.Duration, bids)
	for i := range bids {
		all.Go(func() {
			begin := time.Now()
			l.Bid(t.Context(), 99, 42, uuid.New())
			slowest[i] = time.Since(begin)
		})
	}
	all.Wait()
	for _, took := range slowest {
		if took > slowestMost {
			t.Fatalf("a bid was held up for %v", took)
		}
	}
	begin := time.Now()
	for range 20 {
		l.Bid(t.Context(), 99, 42, uuid.New())
	}
	// With the breaker open, at most one of these asks Redis.
	if took := time.Since(begin); took > slowestMost {
		t.Errorf("twenty bids in a row took %v with the breaker open", took)
	}
	var different, copies int
	within(t, func(bidder int64) {
		different, copies = 0, 0
		key := uuid.New()
		for range 20 {
			if l.Bid(t.Context(), -bidder, 42, key) == 0 {
				copies++
			}
		}
		for range 20 {
			if l.Bid(t.Context(), -bidder, 42, uuid.New()) == 0 {
				different++
			}
		}
	})
	if copies != 20 || different != 4 {
		t.Errorf("without Redis %d of 20 copies and %d of 20 bids passed, want 20 and 4", copies, different)
	}
	tries := 0
	for l.SignIn(t.Context(), limits.Try{Address: "192.0.2.77", Email: "ana@example.com"}) == 0 {
		if tries++; tries > 20 {
			t.Fatal("without Redis nobody stops guessing")
		}
	}
	if wait := l.SignIn(t.Context(), limits.Try{Address: "192.0.2.78", Email: "ana@example.com"}); wait != 0 {
		t.Errorf("without Redis an address without failures waits %v", wait)
	}
}

// holds waits until the limit is in force.
func holds(t *testing.T, l *limits.Limits) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for l.Bid(ctx, 7777, 42, uuid.New()) == 0 {
		if ctx.Err() != nil {
			t.Fatal("Redis is back but the limit does not hold")
		}
	}
}

func TestAPausedRedisHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	server := dbtest.StartRedis(t)
	options, err := redis.ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	l := open(t, redis.NewClient(options))
	holds(t, l)
	server.Pause()
	countedHere(t, l)
	server.Resume()
	holds(t, l)
}

func TestAStoppedRedisHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	server := dbtest.StartRedis(t)
	options, err := redis.ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	l := open(t, redis.NewClient(options))
	holds(t, l)
	server.Stop()
	countedHere(t, l)
	server.Start()
	holds(t, l)
}

// A Redis that answers and takes no writes is as good as none, and the log and the gauge say so.
func TestARedisThatTakesNoWrites(t *testing.T) {
	t.Parallel()
	for name, command := range map[string][]any{
		"a replica": {"REPLICAOF", "127.0.0.1", "1"}, "out of memory": {"CONFIG", "SET", "maxmemory", "1"},
	} {
		client := dbtest.StartRedis(t)
		options, err := redis.ParseURL(client.URL())
		if err != nil {
			t.Fatal(err)
		}
		asking := redis.NewClient(options)
		t.Cleanup(func() { _ = asking.Close() })
		if err := asking.Do(t.Context(), command...).Err(); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		metrics := prometheus.NewRegistry()
		house := dbtest.Identity(t, dbtest.Pool(t), dbtest.Redis(t))
		l := limits.Open(asking, house, slog.New(slog.NewTextHandler(&log, nil))).WithMetrics(metrics)
		countedHere(t, l)
		if !strings.Contains(log.String(), "Redis refuses to count") ||
			strings.Contains(log.String(), "does not answer") {
			t.Errorf("%s: the log says %s", name, log.String())
		}
		if got := gauge(t, metrics); got != 1 {
			t.Errorf("%s: the gauge is %v", name, got)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

func gauge(t *testing.T, metrics *prometheus.Registry) float64 {
	t.Helper()
	families, err := metrics.Gather()
	if err != nil || len(families) != 1 || families[0].GetName() != "martelo_limits_local" {
		t.Fatalf("%v %v", families, err)
	}
	return families[0].GetMetric()[0].GetGauge().GetValue()
}

// guess tries until it is held back, and returns how often it could.
func guess(t *testing.T, l *limits.Limits, try limits.Try) (tries int) {
	t.Helper()
	for l.SignIn(t.Context(), try) == 0 {
		if tries++; tries > 30 {
			t.Fatalf("nobody stops %+v", try)
		}
	}
	return tries
}

func TestTriesToSignIn(t *testing.T) {
	t.Parallel()
	client := dbtest.Redis(t)
	l := open(t, client)
	stranger := limits.Try{Address: "192.0.2.1", Email: "ana@example.com"}
	if tries := guess(t, l, stranger); tries < 5 {
		t.Errorf("stopped after %d tries", tries)
	}
	// Other spellings of the address are the same address.
	for _, same := range []string{"::ffff:192.0.2.1", "::ffff:c000:201"} {
		if l.SignIn(t.Context(), limits.Try{Address: same, Email: stranger.Email}) == 0 {
			t.Errorf("%s is a way around", same)
		}
	}
	elsewhere, known := limits.Try{Address: "192.0.2.2", Email: stranger.Email}, limits.Try{
		Address: stranger.Address, Email: stranger.Email, Device: "known",
	}
	for range 3 {
		if wait := l.SignIn(t.Context(), elsewhere); wait != 0 {
			t.Errorf("an address without failures waits %v", wait)
		}
	}
	if wait := l.SignIn(t.Context(), known); wait != 0 {
		t.Errorf("a known browser waits %v", wait)
	}
	if guess(t, l, known) == 0 {
		t.Error("a known browser has no tries")
	}
	l.SignedIn(t.Context(), known)
	if l.SignIn(t.Context(), known) != 0 {
		t.Error("whoever has shown up is no longer held back")
	}
	if l.SignIn(t.Context(), stranger) == 0 {
		t.Error("a sign-in elsewhere forgave the stranger")
	}
	if l.SignUp(t.Context(), stranger.Address) != 0 {
		t.Error("tries at one account keep a neighbour from making one")
	}
	keys, err := client.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if strings.Contains(strings.ToLower(key), "ana@") || strings.Contains(key, "known") {
			t.Errorf("an e-mail address or a secret is in Redis: %s", key)
		}
	}
}

// The delay grows with each try, in Redis and on a node alike, and what is refused counts for
// nothing.
func TestTheDelayGrows(t *testing.T) {
	t.Parallel()
	client := dbtest.Redis(t)
	l := open(t, client)
	try := limits.Try{Address: "192.0.2.1", Email: "ana@example.com"}
	guess(t, l, try)
	place := client.Keys(t.Context(), "{place:*").Val()[0]
	for tries, want := range map[int]time.Duration{
		6: time.Second, 7: 2 * time.Second, 10: 16 * time.Second, 40: 15 * time.Minute, 4000: 15 * time.Minute,
	} {
		now := client.Time(t.Context()).Val()
		memory := strconv.Itoa(tries) + " " + strconv.FormatInt(now.UnixMicro(), 10)
		if err := client.Set(t.Context(), place, memory, time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if wait := l.SignIn(t.Context(), try); wait > want || wait < want-800*time.Millisecond {
				t.Errorf("after %d tries the wait is %v, want %v", tries, wait, want)
			}
		}
		ago := now.Add(-want - time.Second).UnixMicro()
		if err := client.Set(
			t.Context(), place, strconv.Itoa(tries)+" "+strconv.FormatInt(ago, 10), time.Hour,
		).Err(); err != nil {
			t.Fatal(err)
		}
		if wait := l.SignIn(t.Context(), try); wait != 0 {
			t.Errorf("after the delay of %d tries the wait is %v", tries, wait)
		}
	}
}

func TestAVenueHasASetting(t *testing.T) {
	t.Parallel()
	for most, want := range map[int]int{60: 60, 200: 200} {
		l := patient(t, dbtest.Redis(t)).WithAttemptsPerAddress(most)
		passed := 0
		for i := range want + 30 {
			// One household: the addresses differ below the /64, and in their zone.
			if l.SignUp(t.Context(), fmt.Sprintf("2001:db8:0:%d::%x%%eth0", most, i)) == 0 {
				passed++
			}
		}
		if passed < want || passed > want+10 { // a busy machine takes a while, and the limit refills
			t.Errorf("%d passed with a setting of %d", passed, most)
		}
	}
}

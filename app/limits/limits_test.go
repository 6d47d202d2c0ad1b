package limits_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

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
	l := limits.Open(client, house, slog.New(slog.DiscardHandler))
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

// within runs something that must be over in less than a second to mean anything, again until it is: the machine may be busy.
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
	l := open(t, dbtest.Redis(t))
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
	l := open(t, dbtest.Redis(t))
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
		t.Errorf("let through: %d of 20 copies, %d of 4 others, %d of 1 copy after them, %d of 0 bids elsewhere", copies, others, copyAfter, sameKeyElsewhere)
	}
}

func TestFiftyRequestsASecondWithAllCopies(t *testing.T) {
	t.Parallel()
	l := open(t, dbtest.Redis(t))
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
	l := open(t, client)
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
	if bids, requests, _ := strings.Cut(memory, "|"); strings.Count(bids, ";") != 5 || len(strings.Fields(requests)) != 5 {
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
	l := open(t, client)
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
	ours, theirs := openIn(t, client, dbtest.Identity(t, pool, client)), openIn(t, client, dbtest.Identity(t, other, client))
	within(t, func(bidder int64) {
		for range 5 {
			ours.Bid(t.Context(), bidder, 42, uuid.New())
		}
		if ours.Bid(t.Context(), bidder, 42, uuid.New()) == 0 || theirs.Bid(t.Context(), bidder, 42, uuid.New()) != 0 {
			t.Error("the other house's bidder pays for ours, or nobody does")
		}
	})
	for range 10 {
		ours.Attempt(t.Context(), "192.0.2.1", "ana@example.com")
	}
	if ours.Attempt(t.Context(), "192.0.2.1", "ana@example.com") == 0 || theirs.Attempt(t.Context(), "192.0.2.1", "ana@example.com") != 0 {
		t.Error("tries to sign in at one house count at the other, or nowhere")
	}
	ours.SignedIn(t.Context(), "ana@example.com")
	if ours.Attempt(t.Context(), "192.0.2.1", "ana@example.com") != 0 {
		t.Error("the tries of who has signed in are not forgotten")
	}
}

func TestManyWhoAskTogetherAreCountedApart(t *testing.T) {
	t.Parallel()
	l := open(t, dbtest.Redis(t))
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
	l := open(t, dbtest.Redis(t))
	for range 5 {
		l.Bid(t.Context(), 7, 42, uuid.New())
	}
	key := uuid.New()
	wait := l.Bid(t.Context(), 7, 42, key)
	if wait == 0 {
		return // the machine was too busy to bid five times in a second
	}
	timer := time.NewTimer(wait + 10*time.Millisecond) // the span that is under test, not a guess at when something is done
	<-timer.C
	if again := l.Bid(t.Context(), 7, 42, key); again != 0 {
		t.Errorf("after %v still to wait %v", wait, again)
	}
}

func TestTwoNodesCountTogether(t *testing.T) {
	t.Parallel()
	client := dbtest.Redis(t)
	house := dbtest.Identity(t, dbtest.Pool(t), client)
	one, two := openIn(t, client, house), openIn(t, client, house)
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

// lifted checks that many bids by one bidder pass, none of them held up, while Redis is in trouble.
func lifted(t *testing.T, l *limits.Limits) {
	t.Helper()
	const bids, slowestMost = 200, 400 * time.Millisecond // askWithin, on a busy machine
	var all sync.WaitGroup
	slowest := make([]time.Duration, bids)
	for i := range bids {
		all.Go(func() {
			begin := time.Now()
			if wait := l.Bid(t.Context(), 99, 42, uuid.New()); wait != 0 {
				t.Errorf("without Redis a bid waits %v", wait)
			}
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
	lifted(t, l)
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
	lifted(t, l)
	if wait := l.Attempt(t.Context(), "192.0.2.1", "ana@example.com"); wait != 0 {
		t.Errorf("without Redis a sign-in waits %v", wait)
	}
	server.Start()
	holds(t, l)
}

func TestTriesToSignIn(t *testing.T) {
	t.Parallel()
	client := dbtest.Redis(t)
	l := open(t, client)
	tries := 0
	for l.Attempt(t.Context(), "192.0.2.1", " Ana@Example.com") == 0 {
		if tries++; tries > 20 {
			t.Fatal("nobody is stopped")
		}
	}
	if tries < 10 {
		t.Errorf("stopped after %d tries", tries)
	}
	if l.Attempt(t.Context(), "192.0.2.2", "ana@example.com") == 0 {
		t.Error("another address is no way around")
	}
	l.SignedIn(t.Context(), "ana@example.com")
	if l.Attempt(t.Context(), "192.0.2.2", "ana@example.com") != 0 {
		t.Error("whoever has shown up is no longer held back")
	}
	stopped := false
	for i := range 80 {
		// One household: the addresses differ below the /64.
		if l.Attempt(t.Context(), "2001:db8::"+string("0123456789abcdef"[i%16]), uuid.NewString()) > 0 {
			stopped = true
			break
		}
	}
	if !stopped {
		t.Error("an address may try for ever")
	}
	keys, err := client.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if strings.Contains(strings.ToLower(key), "ana@") {
			t.Errorf("an e-mail address is in Redis: %s", key)
		}
	}
}

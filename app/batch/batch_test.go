package batch_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"martelo/app/batch"
)

func ExampleQueue() {
	queue := batch.New[string, int](10, 100)
	var started sync.WaitGroup
	for i := range 3 {
		start, err := queue.Add("key", i)
		if err != nil {
			fmt.Println(err)
		}
		if start {
			started.Go(func() {
				for items := queue.Take(); items != nil; items = queue.Take() {
					for _, item := range items {
						fmt.Println("worked on", item)
					}
				}
			})
		}
	}
	started.Wait()
	// Output:
	// worked on 0
	// worked on 1
	// worked on 2
}

type item struct{ key, number int }

// Whatever is added comes out once, in the order of its key, in batches that are not too large.
func TestNothingIsLostOrTurned(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		batchMax, keyMax := rapid.IntRange(1, 20).Draw(t, "batchMax"), rapid.IntRange(1, 30).Draw(t, "keyMax")
		queue := batch.New[int, item](batchMax, keyMax)
		added, taken, waiting := map[int]int{}, map[int]int{}, map[int]int{}
		working := false
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "add") {
				key, n := rapid.IntRange(0, 5).Draw(t, "key"), rapid.IntRange(1, 4).Draw(t, "n")
				var items []item
				for i := range n {
					items = append(items, item{key, added[key] + i})
				}
				start, err := queue.Add(key, items...)
				if full := waiting[key]+n > keyMax; full != errors.Is(err, batch.ErrFull) {
					t.Fatalf("with %d of %d waiting, %d more: %v", waiting[key], keyMax, n, err)
				}
				if err != nil {
					continue
				}
				if start == working {
					t.Fatalf("start is %v while a worker is %v", start, working)
				}
				added[key], waiting[key], working = added[key]+n, waiting[key]+n, true
				continue
			}
			if !working {
				continue
			}
			items := queue.Take()
			working = items != nil
			if len(items) > batchMax {
				t.Fatalf("a batch of %d, at most %d", len(items), batchMax)
			}
			for _, it := range items {
				if it.number != taken[it.key] {
					t.Fatalf("key %d: %d came after %d were taken", it.key, it.number, taken[it.key])
				}
				taken[it.key]++
				waiting[it.key]--
			}
			if items == nil &&
				slices.Max([]int{waiting[0], waiting[1], waiting[2], waiting[3], waiting[4], waiting[5]}) > 0 {
				t.Fatalf("nothing was taken while %v wait", waiting)
			}
		}
	})
}

// A key with a backlog makes no other wait: what comes while it has one is in the next batch.
func TestABacklogMakesNoOtherWait(t *testing.T) {
	t.Parallel()
	queue := batch.New[int, item](64, 4096)
	for i := range 4000 {
		if _, err := queue.Add(0, item{0, i}); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 20 {
		for key := 1; key <= 10; key++ {
			if _, err := queue.Add(key, item{key, round}); err != nil {
				t.Fatal(err)
			}
		}
		items := queue.Take()
		if len(items) != 64 {
			t.Fatalf("a batch of %d is not full", len(items))
		}
		for key := 1; key <= 10; key++ {
			if !slices.Contains(items, item{key, round}) {
				t.Fatalf("round %d: key %d waits behind the backlog of another", round, key)
			}
		}
	}
}

// More keys than fit into a batch take turns.
func TestManyKeysTakeTurns(t *testing.T) {
	t.Parallel()
	queue := batch.New[int, item](8, 100)
	for key := range 100 {
		for i := range 10 {
			if _, err := queue.Add(key, item{key, i}); err != nil {
				t.Fatal(err)
			}
		}
	}
	last := map[int]int{}
	for turn := 0; turn < 50; turn++ {
		for _, it := range queue.Take() {
			last[it.key] = turn
		}
	}
	if len(last) != 100 {
		t.Errorf("after 50 batches of 2 keys each, %d of 100 keys had a turn", len(last))
	}
}

func TestEachKeyHasItsOwnWorker(t *testing.T) {
	t.Parallel()
	queues := batch.NewKeyed[int, item](2, 3)
	for key := range 2 {
		if start, err := queues.Add(key, item{key, 0}, item{key, 1}, item{key, 2}); err != nil || !start {
			t.Fatalf("key %d: start %v, %v", key, start, err)
		}
	}
	if start, err := queues.Add(0, item{0, 3}); !errors.Is(err, batch.ErrFull) || start {
		t.Errorf("a fourth item of three at most: start %v, %v", start, err)
	}
	for _, want := range [][]item{{{0, 0}, {0, 1}}, {{0, 2}}} {
		if got := queues.Take(0); !slices.Equal(got, want) {
			t.Errorf("took %v, not %v", got, want)
		}
	}
	if !queues.Working(0) || queues.Take(0) != nil || queues.Working(0) || queues.Len() != 1 {
		t.Error("a key that has nothing left keeps its worker")
	}
	if start, err := queues.Add(0, item{0, 4}); err != nil || !start {
		t.Errorf("a key whose worker has ended needs another: start %v, %v", start, err)
	}
}

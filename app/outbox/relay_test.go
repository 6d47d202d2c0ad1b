package outbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"martelo/app/outbox"
	"martelo/db"
	"martelo/db/dbtest"
)

// told is a consumer that remembers, and fails when it is told to.
type told struct {
	mu       sync.Mutex
	events   []outbox.Event
	refused  []string // topics of which no event is acknowledged
	failFrom int      // events of one Publish from this one on are not acknowledged; 0: none fail
}

func (s *told) Publish(_ context.Context, events []outbox.Event) []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	outcome := make([]error, len(events))
	for i, e := range events {
		if s.failFrom > 0 && i+1 >= s.failFrom || slices.Contains(s.refused, e.Topic) {
			outcome[i] = errors.New("the broker is away")
		} else {
			s.events = append(s.events, e)
		}
	}
	return outcome
}

func (s *told) ids() (ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		ids = append(ids, e.ID)
	}
	return ids
}

// fill writes auctions with bids of 1.10, 1.20 …, closed, with the rows that their writers would
// have left.
func fill(t testing.TB, pool *pgxpool.Pool, auctions, bids int) (ids []int64) {
	user, err := db.New(pool).UserInsert(t.Context(), db.UserInsertParams{Name: "somebody", Role: "seller"})
	if err != nil {
		t.Fatal(err)
	}
	bidder, err := db.New(pool).UserInsert(t.Context(), db.UserInsertParams{Name: "somebody", Role: "user"})
	if err != nil {
		t.Fatal(err)
	}
	for range auctions {
		var id int64
		if err := pool.QueryRow(t.Context(), `
			INSERT INTO auctions (seller_id, currency, currency_digits, start_price, min_increment, current_price,
			leader_id, leader_paddle,
			    bid_count, bidder_count, status, start_at, end_at, original_end_at, closed_at)
			VALUES ($1, 'USD', 2, 100, 10, 100 + 10 * $3, CASE WHEN $3 > 0 THEN $2::bigint END, CASE WHEN $3 > 0
			THEN 1 END, $3, LEAST($3, 1), 'CLOSED',
			    now() - interval '2 hours', now() - interval '1 hour', now() - interval '1 hour', now())
			RETURNING id`, user.ID, bidder.ID, bids).Scan(&id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
		for _, sql := range []string{
			fmt.Sprintf(`INSERT INTO bids (auction_id, seq, bidder_id, paddle, amount, request_id, accepted_at)
				SELECT %d, n, %d, 1, 100 + 10 * n, gen_random_uuid(), now() FROM generate_series(1, %d)
				AS n`, id, bidder.ID, bids),
			fmt.Sprintf(
				`INSERT INTO outbox (topic, auction_id, first_seq, last_seq) SELECT 'bid-accepted', %d, n, n
					FROM generate_series(1, %d) AS n`,
				id, bids,
			),
			fmt.Sprintf(`INSERT INTO outbox (topic, auction_id) VALUES ('auction-closed', %d)`, id),
		} {
			if _, err := pool.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
	}
	return ids
}

func relay(pool *pgxpool.Pool, sink outbox.Sink) *outbox.Relay {
	return outbox.NewRelay(pool, sink, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
}

func drain(t testing.TB, r *outbox.Relay) {
	for more := true; more; {
		var err error
		if more, err = r.Turn(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func waiting(t testing.TB, pool *pgxpool.Pool) int64 {
	var rows int64
	if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM outbox").Scan(&rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

// inOrder checks that each auction's events came in the order of its history, with nothing missing;
// repeats only repeat what came.
func inOrder(t testing.TB, ids []string, auctions []int64, bids int) {
	for _, id := range auctions {
		var want, got []string
		for n := range bids {
			want = append(want, fmt.Sprintf("bid-accepted:%d:%d", id, n+1))
		}
		want = append(want, fmt.Sprintf("auction-closed:%d", id))
		for _, e := range ids {
			if strings.HasPrefix(e, fmt.Sprintf("bid-accepted:%d:", id)) || e == want[bids] {
				if !slices.Contains(got, e) {
					got = append(got, e)
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("auction %d was told as %v", id, got)
		}
	}
}

func TestEventsHaveTheContractsShape(t *testing.T) {
	pool := dbtest.Pool(t)
	sold, unsold := fill(t, pool, 1, 1)[0], fill(t, pool, 1, 0)[0]
	sink := &told{}
	drain(t, relay(pool, sink))
	if len(sink.events) != 3 {
		t.Fatalf("%d events", len(sink.events))
	}
	for i, want := range []string{
		fmt.Sprintf(`"data":{"auctionId":%d,"seq":1,"bidderId":`, sold),
		fmt.Sprintf(`"data":{"auctionId":%d,"sellerId":`, sold),
		`"winnerId":null,"hammerPrice":null,"currency":"USD","bidCount":0,"closedAt":"`,
	} {
		if !strings.Contains(string(sink.events[i].Value), want) {
			t.Errorf("event %d is %s", i, sink.events[i].Value)
		}
	}
	if e := sink.events[2]; e.Topic != "auction-closed" || e.Key != fmt.Sprint(unsold) {
		t.Errorf("%+v", e)
	}
	var envelope map[string]any
	if err := json.Unmarshal(sink.events[0].Value, &envelope); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"specversion": "1.0", "type": "bid-accepted", "id": fmt.Sprintf("bid-accepted:%d:1", sold),
		"datacontenttype": "application/json",
	} {
		if envelope[key] != want {
			t.Errorf("%s is %v", key, envelope[key])
		}
	}
	data := envelope["data"].(map[string]any)
	if at, err := time.Parse(time.RFC3339Nano, data["acceptedAt"].(string)); err != nil || data["amount"] != "1.10" ||
		at.Location() != time.UTC {
		t.Errorf("%v", data)
	}
}

// A sink that fails in the middle gets the rest later, in order; nothing is lost, and only what was
// not acknowledged comes again.
func TestAFailureStopsAndIsMadeGood(t *testing.T) {
	pool := dbtest.Pool(t)
	auctions := fill(t, pool, 5, 6)
	sink := &told{failFrom: 10}
	r := relay(pool, sink)
	if more, err := r.Turn(t.Context()); more || err != nil {
		t.Fatalf("more: %v, %v", more, err)
	}
	if left := waiting(t, pool); left != 35-9 {
		t.Fatalf("%d rows wait after 9 of 35 were acknowledged", left)
	}
	sink.failFrom = 0
	drain(t, r)
	if ids := sink.ids(); len(ids) != 35 {
		t.Errorf("%d events for 35 facts", len(ids))
	}
	inOrder(t, sink.ids(), auctions, 6)
	if left := waiting(t, pool); left != 0 {
		t.Errorf("%d rows are left", left)
	}
}

// Several nodes relay at once, and some die between the hand-over and the deletion: each auction's
// events still come in order, none is lost.
func TestManyRelaysKeepTheOrder(t *testing.T) {
	pool := dbtest.Pool(t)
	auctions := fill(t, pool, 8, 5)
	sink := &told{}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for range 3 {
		running.Go(func() { relay(pool, sink).Run(ctx) })
	}
	running.Go(func() { relay(pool, dying{sink}).Run(ctx) })
	deadline := time.Now().Add(20 * time.Second)
	for waiting(t, pool) > 0 {
		if time.Now().After(deadline) {
			t.Fatalf("%d events are not told", waiting(t, pool))
		}
		time.Sleep(5 * time.Millisecond)
	}
	stop()
	running.Wait()
	inOrder(t, sink.ids(), auctions, 5)
}

// dying tells the consumer and crashes before it can say so.
type dying struct{ sink outbox.Sink }

func (d dying) Publish(ctx context.Context, events []outbox.Event) []error {
	outcome := d.sink.Publish(ctx, events)
	for i := range outcome {
		outcome[i] = errors.New("crashed")
	}
	return outcome
}

func TestKafkaKeepsEachAuctionInOnePartitionInOrder(t *testing.T) {
	cluster, err := kfake.NewCluster(
		kfake.NumBrokers(2), kfake.SeedTopics(4, outbox.TopicBidAccepted, outbox.TopicAuctionClosed),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	pool := dbtest.Pool(t)
	auctions := fill(t, pool, 6, 7)
	sink, err := outbox.NewKafkaSink(cluster.ListenAddrs())
	if err != nil {
		t.Fatal(err)
	}
	defer sink.Close()
	drain(t, relay(pool, sink))

	client, err := kgo.NewClient(
		kgo.SeedBrokers(cluster.ListenAddrs()...),
		kgo.ConsumeTopics(outbox.TopicBidAccepted, outbox.TopicAuctionClosed),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	next, partition, closed := map[string]int{}, map[string]int32{}, map[string]int{}
	for seen := 0; seen < 6*8; {
		fetches := client.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			seen++
			key := string(r.Key)
			if r.Topic == outbox.TopicAuctionClosed {
				closed[key]++
				return
			}
			next[key]++
			if was, ok := partition[key]; ok && was != r.Partition ||
				!strings.Contains(string(r.Value), fmt.Sprintf(`"seq":%d,`, next[key])) {
				t.Errorf("auction %s, partition %d: %s", key, r.Partition, r.Value)
			}
			partition[key] = r.Partition
		})
	}
	for _, id := range auctions {
		if closed[fmt.Sprint(id)] != 1 {
			t.Errorf("auction %d was told closed %d times", id, closed[fmt.Sprint(id)])
		}
	}
}

// What a turn costs must not grow with an auction's log: a plan that joins its ranges with every
// bid passes all other tests.
func TestATurnReadsOnlyItsBids(t *testing.T) {
	t.Parallel()
	pool := dbtest.Pool(t)
	const bids = 5000
	id := fill(t, pool, 1, bids)[0]
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	for _, sql := range []string{"ANALYZE", "PREPARE read (bigint[], bigint[], bigint[]) AS " + db.OutboxBids} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	var ids, firsts, lasts []string
	for seq := bids - 99; seq <= bids; seq += 2 {
		ids, firsts, lasts = append(ids, fmt.Sprint(id)), append(firsts, fmt.Sprint(seq)), append(
			lasts, fmt.Sprint(seq+1),
		)
	}
	array := func(of []string) string { return "'{" + strings.Join(of, ",") + "}'" }
	var text string
	if err := conn.QueryRow(
		t.Context(),
		fmt.Sprintf(
			"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE read (%s, %s, %s)", array(ids), array(firsts), array(lasts),
		),
	).Scan(&text); err != nil {
		t.Fatal(err)
	}
	type node struct {
		Relation string  `json:"Relation Name"`
		Rows     float64 `json:"Actual Rows"`
		Removed  float64 `json:"Rows Removed by Filter"`
		Loops    float64 `json:"Actual Loops"`
		Plans    []node
	}
	var plans []struct{ Plan node }
	if err := json.Unmarshal([]byte(text), &plans); err != nil {
		t.Fatal(err)
	}
	read := 0.0
	var walk func(n node)
	walk = func(n node) {
		if n.Relation == "bids" {
			read += (n.Rows + n.Removed) * n.Loops
		}
		for _, under := range n.Plans {
			walk(under)
		}
	}
	walk(plans[0].Plan)
	if read != 100 {
		t.Errorf("%v bids were read for 100 events:\n%s", read, text)
	}
}

// A turn for each batch of bids would take the disk's fsyncs from the bids themselves.
func TestTurnsFollowAtOnceOnlyWhenTheyAreFull(t *testing.T) {
	t.Parallel()
	pool := dbtest.Pool(t)
	fill(t, pool, 1, 1500)
	r := relay(pool, &told{})
	for _, want := range []struct {
		more bool
		left int64
	}{{true, 501}, {false, 0}, {false, 0}} {
		more, err := r.Turn(t.Context())
		if err != nil || more != want.more {
			t.Errorf("more: %v, want %v (%v)", more, want.more, err)
		}
		if left := waiting(t, pool); left != want.left {
			t.Errorf("%d rows wait, want %d", left, want.left)
		}
	}
}

// A topic that nobody takes holds no other up, however much of it waits; when it is taken again
// nothing is missing.
func TestATopicThatIsRefusedHoldsNoOtherUp(t *testing.T) {
	t.Parallel()
	pool := dbtest.Pool(t)
	auctions := fill(t, pool, 2, 1200) // more than a turn takes, before the first row of the other topic
	sink := &told{refused: []string{outbox.TopicBidAccepted}}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	metrics := prometheus.NewRegistry()
	running.Go(func() { outbox.NewRelay(pool, sink, slog.New(slog.DiscardHandler), metrics).Run(ctx) })
	eventually(t, "the closings are told", func() bool { return len(sink.ids()) == 2 })
	eventually(
		t, "the failures are counted",
		func() bool { return figure(t, metrics, "martelo_loop_failures_total", "relay bid-accepted") > 1 },
	)
	eventually(
		t, "the backlog is seen", func() bool { return figure(t, metrics, "martelo_outbox_waiting_rows", "") >= 2400 },
	)
	sink.mu.Lock()
	sink.refused = nil
	sink.mu.Unlock()
	eventually(t, "the rest is told", func() bool { return waiting(t, pool) == 0 })
	stop()
	running.Wait()
	for _, id := range auctions {
		next := 1
		for _, told := range sink.ids() {
			if told == fmt.Sprintf("bid-accepted:%d:%d", id, next) {
				next++
			}
		}
		if next != 1201 {
			t.Errorf("auction %d was told up to bid %d, in order", id, next-1)
		}
	}
}

// A row whose facts are missing, or cannot be read, keeps its own auction's later events of its
// topic, and nothing else.
func TestARowThatCannotBeReadHoldsOnlyItsAuctionUp(t *testing.T) {
	t.Parallel()
	pool := dbtest.Pool(t)
	auctions := fill(t, pool, 4, 3)
	for _, sql := range []string{
		fmt.Sprintf(`INSERT INTO outbox (topic, auction_id, first_seq, last_seq)
			VALUES ('bid-accepted', %d, 99, 99), ('auction-closed', 77, NULL, NULL)`, auctions[0]),
		fmt.Sprintf(
			`UPDATE outbox SET last_seq = 50 WHERE topic = 'bid-accepted' AND auction_id = %d AND first_seq = 2`,
			auctions[1],
		),
		`ALTER TABLE auctions DISABLE TRIGGER USER`,
		`ALTER TABLE auctions DROP CONSTRAINT auctions_times_finite`,                         // a row from before it
		fmt.Sprintf(`UPDATE auctions SET start_at = '-infinity' WHERE id = %d`, auctions[2]), // no time.Time holds it
		fmt.Sprintf(`UPDATE auctions SET currency = 'HRK' WHERE id = %d`, auctions[3]),       // no list has it any more
	} {
		if _, err := pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	sink, metrics := &told{}, prometheus.NewRegistry()
	r := outbox.NewRelay(pool, sink, slog.New(slog.DiscardHandler), metrics)
	for range 2 {
		drain(t, r)
	}
	want := []string{fmt.Sprintf("bid-accepted:%d:1", auctions[1]), fmt.Sprintf("auction-closed:%d", auctions[1])}
	for _, id := range []int64{auctions[0], auctions[3]} {
		want = append(want, fmt.Sprintf("auction-closed:%d", id))
		for seq := range 3 {
			want = append(want, fmt.Sprintf("bid-accepted:%d:%d", id, seq+1))
		}
	}
	got := sink.ids()
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("told are %v,\nwant %v", got, want)
	}
	if aside := figure(t, metrics, "martelo_outbox_set_aside_total", ""); aside != 5 {
		t.Errorf("%v set aside", aside)
	}
	if left := waiting(t, pool); left != 1+2+1+4 {
		t.Errorf("%d rows are left", left)
	}
}

func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it did not come to that: " + what)
		}
	}
}

// figure is a metric's value, of the loop named unless that is "".
func figure(t testing.TB, metrics *prometheus.Registry, name, loop string) float64 {
	t.Helper()
	families, err := metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == name && (loop == "" || metric.GetLabel()[0].GetValue() == loop) {
				return metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
			}
		}
	}
	return 0
}

// A topic that the brokers refuse leaves the other topic's events alone, and is made good.
func TestKafkaTopicsGoTheirOwnWays(t *testing.T) {
	t.Parallel()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1),
		kfake.SeedTopics(2, outbox.TopicBidAccepted, outbox.TopicAuctionClosed),
		kfake.MaxVersions(kversion.V3_5_0())) // whose requests name topics, not their ids
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	var refuses atomic.Bool
	refuses.Store(true)
	cluster.ControlKey(int16(kmsg.Produce), func(request kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		produce := request.(*kmsg.ProduceRequest)
		if !refuses.Load() || len(produce.Topics) == 0 || produce.Topics[0].Topic != outbox.TopicBidAccepted {
			return nil, nil, false
		}
		response := produce.ResponseKind().(*kmsg.ProduceResponse)
		for _, topic := range produce.Topics {
			answer := kmsg.NewProduceResponseTopic()
			answer.Topic = topic.Topic
			for _, partition := range topic.Partitions {
				refused := kmsg.NewProduceResponseTopicPartition()
				refused.Partition, refused.ErrorCode = partition.Partition, kerr.TopicAuthorizationFailed.Code
				answer.Partitions = append(answer.Partitions, refused)
			}
			response.Topics = append(response.Topics, answer)
		}
		return response, nil, true
	})
	pool := dbtest.Pool(t)
	fill(t, pool, 3, 4)
	sink, err := outbox.NewKafkaSink(cluster.ListenAddrs())
	if err != nil {
		t.Fatal(err)
	}
	defer sink.Close()
	r := relay(pool, sink)
	if _, err := r.Turn(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := waiting(t, pool); left != 12 {
		t.Errorf("%d rows wait, want the 12 of the topic that is refused", left)
	}
	refuses.Store(false)
	eventually(t, "the rest is taken", func() bool {
		_, err := r.Turn(t.Context())
		return err == nil && waiting(t, pool) == 0
	})
}

package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// LogSink writes each event as a line of the program's log. It writes past the log's level: what is
// not written is lost.
type LogSink struct{ Handler slog.Handler }

// Publish writes the events. One that cannot be written is not acknowledged, nor are those after
// it.
func (s LogSink) Publish(ctx context.Context, events []Event) []error {
	outcome := make([]error, len(events))
	var failed error
	for i, e := range events {
		if failed == nil {
			line := slog.NewRecord(time.Now(), slog.LevelInfo, "event", 0)
			line.AddAttrs(
				slog.String("topic", e.Topic), slog.String("key", e.Key), slog.String("eventId", e.ID),
				slog.Any("value", json.RawMessage(e.Value)))
			failed = s.Handler.Handle(ctx, line)
		}
		outcome[i] = failed
	}
	return outcome
}

// errUnfinished says that a topic's brokers have not answered about earlier events. Until they do
// they are given no more.
var errUnfinished = errors.New("the brokers have not answered yet")

// KafkaSink writes each event to the Kafka topic of its name, keyed by auction, so that a partition
// keeps each auction's order. Each topic has a client of its own: one that is full of what its
// brokers do not take leaves room to the others.
type KafkaSink struct{ clients map[string]*kgo.Client }

// NewKafkaSink makes a sink for the brokers given as host:port. It connects when first used. The
// producer is idempotent and waits for all in-sync replicas (the library's defaults), so a retry
// inside it neither repeats nor reorders.
func NewKafkaSink(brokers []string) (*KafkaSink, error) {
	s := &KafkaSink{clients: map[string]*kgo.Client{}}
	for _, topic := range Topics {
		client, err := kgo.NewClient(
			kgo.SeedBrokers(brokers...), kgo.AllowAutoTopicCreation(), kgo.RecordDeliveryTimeout(publishWithin),
		)
		if err != nil {
			s.Close()
			return nil, fmt.Errorf("outbox: KAFKA_BROKERS: %w", err)
		}
		s.clients[topic] = client
	}
	return s, nil
}

// Publish hands the events to the brokers and waits until they have them, or ctx ends: brokers that
// have taken a request and do not answer would keep the library waiting for longer.
func (s *KafkaSink) Publish(ctx context.Context, events []Event) []error {
	outcome := make([]error, len(events))
	type answer struct {
		event int
		err   error
	}
	answers := make(chan answer, len(events)) // nobody waits in it, also when we have gone
	busy := map[string]bool{}
	for topic, client := range s.clients {
		busy[topic] = client.BufferedProduceRecords() > 0
	}
	sent := 0
	for i, e := range events {
		outcome[i] = errUnfinished
		client := s.clients[e.Topic]
		if client == nil || busy[e.Topic] {
			continue
		}
		sent++
		client.TryProduce(ctx, &kgo.Record{
			Topic: e.Topic, Key: []byte(e.Key), Value: e.Value,
			Headers: []kgo.RecordHeader{
				{Key: "content-type", Value: []byte("application/cloudevents+json; charset=UTF-8")},
			},
		}, func(_ *kgo.Record, err error) { answers <- answer{i, err} })
	}
	for range sent {
		select {
		case a := <-answers:
			outcome[a.event] = a.err
		case <-ctx.Done():
			return outcome
		}
	}
	return outcome
}

// Close ends the connections to the brokers.
func (s *KafkaSink) Close() {
	for _, client := range s.clients {
		client.Close()
	}
}

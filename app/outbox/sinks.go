package outbox

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kgo"
)

// LogSink writes each event as a line of the program's log.
type LogSink struct{ Log *slog.Logger }

// Publish writes the events; the log acknowledges all of them.
func (s LogSink) Publish(ctx context.Context, events []Event) (int, error) {
	for _, e := range events {
		s.Log.LogAttrs(ctx, slog.LevelInfo, "event",
			slog.String("topic", e.Topic), slog.String("key", e.Key), slog.String("eventId", e.ID), slog.Any("value", json.RawMessage(e.Value)))
	}
	return len(events), nil
}

// KafkaSink writes each event to the Kafka topic of its name, keyed by auction, so that a partition keeps each auction's order.
type KafkaSink struct{ client *kgo.Client }

// NewKafkaSink makes a sink for the brokers given as host:port. It connects when first used. The producer is idempotent and waits for all
// in-sync replicas (the library's defaults), so a retry inside it neither repeats nor reorders.
func NewKafkaSink(brokers []string) (*KafkaSink, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.AllowAutoTopicCreation(), kgo.RecordDeliveryTimeout(turnWithin))
	if err != nil {
		return nil, fmt.Errorf("outbox: KAFKA_BROKERS: %w", err)
	}
	return &KafkaSink{client: client}, nil
}

// Publish writes the events and waits until the brokers have them. The events up to the first that failed count as acknowledged.
func (s *KafkaSink) Publish(ctx context.Context, events []Event) (int, error) {
	records := make([]*kgo.Record, len(events))
	for i, e := range events {
		records[i] = &kgo.Record{
			Topic: e.Topic, Key: []byte(e.Key), Value: e.Value,
			Headers: []kgo.RecordHeader{{Key: "content-type", Value: []byte("application/cloudevents+json; charset=UTF-8")}},
		}
	}
	failed := make(map[*kgo.Record]error)
	for _, result := range s.client.ProduceSync(ctx, records...) {
		if result.Err != nil {
			failed[result.Record] = result.Err
		}
	}
	for i, record := range records {
		if err := failed[record]; err != nil {
			return i, err
		}
	}
	return len(events), nil
}

// Close ends the connections to the brokers.
func (s *KafkaSink) Close() { s.client.Close() }

package live

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are what an operator sees of the live side. Viewers whose connection the hub has taken
// over are counted nowhere else.
type metrics struct {
	renders   *prometheus.CounterVec
	writes    prometheus.Counter
	spills    prometheus.Counter
	cuts      *prometheus.CounterVec
	tick      prometheus.Histogram
	degraded  *prometheus.GaugeVec
	subscribe prometheus.Histogram
	published *prometheus.CounterVec
	found     prometheus.Counter
	nonsense  prometheus.Counter
	foreign   prometheus.Counter
	takenBack prometheus.Counter
	refused   prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer, h *Hub) *metrics {
	with := promauto.With(registerer)
	counter := func(name, help string) prometheus.Counter {
		return with.NewCounter(prometheus.CounterOpts{Namespace: "martelo", Subsystem: "live", Name: name, Help: help})
	}
	counters := func(name, help, label string) *prometheus.CounterVec {
		return with.NewCounterVec(
			prometheus.CounterOpts{Namespace: "martelo", Subsystem: "live", Name: name, Help: help}, []string{label},
		)
	}
	gauge := func(name, help string, value func() int) {
		with.NewGaugeFunc(
			prometheus.GaugeOpts{Namespace: "martelo", Subsystem: "live", Name: name, Help: help},
			func() float64 { return float64(value()) },
		)
	}
	histogram := func(name, help string, first float64, count int) prometheus.Histogram {
		return with.NewHistogram(prometheus.HistogramOpts{
			Namespace: "martelo", Subsystem: "live", Name: name, Help: help,
			Buckets: prometheus.ExponentialBuckets(first, 2, count),
		})
	}
	gauge("viewers", "Connections that watch.", h.door.count)
	gauge("auctions", "Auctions watched on this node, or until a minute ago.", func() int {
		h.mu.RLock()
		defer h.mu.RUnlock()
		return len(h.topics)
	})
	m := &metrics{
		renders: counters("renders_total", "Updates written down, by representation.", "as"),
		writes:  counter("writes_total", "Writes to viewers."),
		spills:  counter("spills_total", "Writes that a full socket did not take at once."),
		cuts:    counters("cuts_total", "Viewers cut: they had left, were stalled, or a write failed.", "why"),
		tick:    histogram("tick_seconds", "Time to tell all viewers what changed since the last tick.", 0.0001, 15),
		degraded: with.NewGaugeVec(
			prometheus.GaugeOpts{
				Namespace: "martelo", Subsystem: "live", Name: "degraded",
				Help: "1 while the live side does without it.",
			},
			[]string{"of"},
		),
		subscribe: histogram(
			"subscribe_seconds",
			"Time from the first viewer of an auction to Redis's confirmation of the subscription.", 0.001, 14,
		),
		published: counters("announcements_total", "Announcements to other nodes, by what became of them.", "outcome"),
		found: counter(
			"reconciled_total",
			"Changes that were found by comparing with PostgreSQL: a few are races, many are losses.",
		),
		refused:  counter("refused_total", "Viewers that were not let in: the node was full or about to stop."),
		nonsense: counter("nonsense_total", "Messages from Redis that make no sense."),
		foreign: counter(
			"foreign_messages_total", "Messages from Redis of another house, or of none, which were dropped.",
		),
		takenBack: counter(
			"taken_back_total", "Shown states that PostgreSQL did not have, and which were replaced by what it has.",
		),
	}
	m.away("redis", true)
	m.away("postgresql", false)
	return m
}

// away sets whether redis or postgresql is away.
func (m *metrics) away(of string, away bool) {
	value := 0.0
	if away {
		value = 1
	}
	m.degraded.WithLabelValues(of).Set(value)
}

package house

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"
)

// locksEvery is how often PostgreSQL is asked who waits for a lock: often enough for an average
// over some seconds, and too seldom to be noticed.
const locksEvery = 50 * time.Millisecond

// counters are what has been counted up to a moment.
type counters struct {
	at           time.Time
	nodes        []nodeCounters
	syncs        int64         // fsyncs of PostgreSQL's log
	busy, stolen time.Duration // processor time of the whole machine, and what its host gave to others
}

// nodeCounters are one node's, by the names it has for them; processorSeconds is not its own.
type nodeCounters map[string]float64

const processorSeconds = "processor_seconds"

// means are the node's distributions of which the mean is told, and in what unit.
var means = []struct {
	name, distribution string
	unit               float64
}{
	{"bids a batch", "martelo_desk_batch_bids", 1},
	{"auctions a batch", "martelo_desk_batch_auctions", 1},
	{"ms a batch", "martelo_desk_batch_seconds", 1000},
}

// rates are the node's counters of which the rate is told.
var rates = []struct{ name, counter string }{
	{"cores", processorSeconds},
	{"batches/s", "martelo_desk_batch_bids_count"},
	{"auctions decided alone/s", "martelo_desk_alone_total"},
}

func (h *House) count(ctx context.Context) (c counters) {
	for _, n := range h.Nodes {
		figures := nodeCounters{}
		maps.Copy(figures, n.Figures(ctx))
		used, _ := n.process()
		figures[processorSeconds] = used.Seconds()
		c.nodes = append(c.nodes, figures)
	}
	c.at = time.Now()
	c.busy, c.stolen = machineTime()
	// Figures say what bounds a run and decide nothing: a server that does not have them leaves
	// zeros.
	_ = h.Pool.QueryRow(ctx, `SELECT wal_sync FROM pg_stat_wal`).Scan(&c.syncs)
	return c
}

// since is what was counted after a moment; nothing for a node that has gone, and its counters
// with it.
func (c nodeCounters) since(before nodeCounters) nodeCounters {
	counted := nodeCounters{}
	for name, now := range c {
		counted[name] = max(0, now-before[name])
	}
	return counted
}

// tell adds what was counted in so many seconds to figures.
func (c nodeCounters) tell(figures map[string]float64, prefix string, seconds float64) {
	for _, mean := range means {
		if count := c[mean.distribution+"_count"]; count > 0 {
			figures[prefix+mean.name] = c[mean.distribution+"_sum"] / count * mean.unit
		}
	}
	for _, rate := range rates {
		if counted := c[rate.counter]; counted > 0 {
			figures[prefix+rate.name] = counted / seconds
		}
	}
}

// Observe looks at the nodes, at PostgreSQL and at the machine until the returned function is
// called, which says what was seen. Several nodes' figures are told one by one too.
func (h *House) Observe(ctx context.Context) (seen func() map[string]float64) {
	before, waits := h.count(ctx), h.watchLocks(ctx)
	return func() map[string]float64 {
		waited, after := waits(), h.count(ctx)
		seconds := after.at.Sub(before.at).Seconds()
		figures := map[string]float64{
			"machine cores busy": (after.busy - before.busy).Seconds() / seconds,
		}
		// PostgreSQL's own count comes late: there is none of a short run.
		if syncs := after.syncs - before.syncs; syncs > 0 {
			figures["fsyncs/s"] = float64(syncs) / seconds
		}
		if stolen := (after.stolen - before.stolen).Seconds() / seconds; stolen > 0.01 {
			figures["cores stolen"] = stolen
		}
		all := nodeCounters{}
		for i := range after.nodes {
			node := after.nodes[i].since(before.nodes[i])
			for name, counted := range node {
				all[name] += counted
			}
			if len(after.nodes) > 1 {
				node.tell(figures, fmt.Sprintf("node %d: ", i+1), seconds)
			}
		}
		all.tell(figures, "nodes: ", seconds)
		h.tellWaits(figures, waited)
		return figures
	}
}

// waitsFigure is how many seconds connections wait for a row's lock in each second.
const waitsFigure = "seconds a second waiting for a row's lock"

// tellWaits adds to figures how many connections waited for a lock on average.
func (h *House) tellWaits(figures map[string]float64, waited map[string]float64) {
	all := 0.0
	for _, waiting := range waited {
		all += waiting
	}
	figures[waitsFigure] = all
	for i, n := range h.Nodes {
		if waiting, known := waited[n.name]; known && len(h.Nodes) > 1 {
			figures[fmt.Sprintf("node %d: %s", i+1, waitsFigure)] = waiting
		}
	}
}

// watchLocks asks PostgreSQL again and again, until the returned function is called, how many
// connections wait for a lock on a row, and returns the averages by the connections' names.
func (h *House) watchLocks(ctx context.Context) (average func() map[string]float64) {
	enough, seen := make(chan struct{}), make(chan map[string]float64, 1)
	go func() {
		sums, looks := map[string]float64{}, 0
		for every := time.Tick(locksEvery); ; {
			select {
			case <-every:
			case <-enough:
				for name := range sums {
					sums[name] /= float64(looks)
				}
				seen <- sums
				return
			}
			if h.lookAtLocks(ctx, sums) == nil {
				looks++
			}
		}
	}()
	return func() map[string]float64 { close(enough); return <-seen }
}

// lookAtLocks adds one look to the sums.
func (h *House) lookAtLocks(ctx context.Context, sums map[string]float64) error {
	rows, err := h.Pool.Query(ctx, `
		SELECT application_name, count(*) FILTER (WHERE wait_event IN ('transactionid', 'tuple'))::float8
		FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() GROUP BY 1`)
	if err != nil {
		return err
	}
	looked := map[string]float64{}
	var name string
	var waiting float64
	_, err = pgx.ForEachRow(rows, []any{&name, &waiting}, func() error { looked[name] = waiting; return nil })
	if err != nil {
		return err
	}
	for name, waiting := range looked {
		sums[name] += waiting
	}
	return nil
}

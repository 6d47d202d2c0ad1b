package bench

import (
	"context"
	"time"
)

// figures are what the nodes and PostgreSQL have counted up to a moment.
type figures struct {
	used           time.Duration // processor time of the nodes
	batches, bids  float64       // of the desks
	syncs, records int64         // of PostgreSQL's log: fsyncs, and what was written
}

func (b *bench) figures(ctx context.Context) (f figures) {
	for _, n := range b.nodes {
		if n.cmd != nil {
			used, _ := processOf(n.cmd.Process.Pid)
			f.used += used
		}
		f.batches += n.figure(ctx, "martelo_desk_batch_bids_count")
		f.bids += n.figure(ctx, "martelo_desk_batch_bids_sum")
	}
	// Figures say what bounds a run and decide nothing: a server that does not have them leaves zeros.
	_ = b.town.pool.QueryRow(ctx, `SELECT wal_sync, wal_records FROM pg_stat_wal`).Scan(&f.syncs, &f.records)
	return f
}

// since is what happened between two moments, a second.
func (f figures) since(before figures, span time.Duration) map[string]float64 {
	seconds := span.Seconds()
	m := map[string]float64{
		"fsyncs/s": float64(f.syncs-before.syncs) / seconds,
	}
	if f.used > 0 {
		m["node cores"] = (f.used - before.used).Seconds() / seconds
	}
	if f.batches > before.batches {
		m["bids a batch"] = (f.bids - before.bids) / (f.batches - before.batches)
	}
	return m
}

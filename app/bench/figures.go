package bench

import (
	"context"
	"os"
	"strconv"
	"strings"
	"time"
)

// figures are what the nodes and PostgreSQL have counted up to a moment.
type figures struct {
	used          time.Duration // processor time of the nodes
	batches, bids float64       // of the desks
	syncs         int64         // fsyncs of PostgreSQL's log
	busy, stolen  time.Duration // processor time of the whole machine, and what its host gave to others
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
	f.busy, f.stolen = machineTime()
	// Figures say what bounds a run and decide nothing: a server that does not have them leaves zeros.
	_ = b.town.pool.QueryRow(ctx, `SELECT wal_sync FROM pg_stat_wal`).Scan(&f.syncs)
	return f
}

// since is what happened between two moments, a second.
func (f figures) since(before figures, span time.Duration) map[string]float64 {
	seconds := span.Seconds()
	m := map[string]float64{
		"fsyncs/s":           float64(f.syncs-before.syncs) / seconds,
		"machine cores busy": (f.busy - before.busy).Seconds() / seconds,
	}
	if stolen := (f.stolen - before.stolen).Seconds() / seconds; stolen > 0.01 {
		m["cores stolen"] = stolen
	}
	if f.used > 0 {
		m["node cores"] = (f.used - before.used).Seconds() / seconds
	}
	if f.batches > before.batches {
		m["bids a batch"] = (f.bids - before.bids) / (f.batches - before.batches)
	}
	return m
}

// machineTime is the processor time the machine has spent so far, and what was stolen from it; zeros where that is not kept like that.
func machineTime() (busy, stolen time.Duration) {
	text, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, 0
	}
	tick := func(field int) time.Duration {
		n, _ := strconv.ParseInt(fields[field], 10, 64)
		return time.Duration(n) * time.Second / 100 // on every Linux there is
	}
	return tick(1) + tick(2) + tick(3) + tick(6) + tick(7), tick(8)
}

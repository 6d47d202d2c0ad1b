package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Report is a run as it is written to a file.
type Report struct {
	Scenario string    `json:"scenario"`
	Flags    []string  `json:"flags"`
	Begun    time.Time `json:"begun"`
	Machine  Machine   `json:"machine"`
	Rows     []Row     `json:"rows"`
	// LoadAverage is the machine's at the end; what is above the run's own load is somebody else's.
	LoadBefore string `json:"loadAverageBefore"`
	LoadAfter  string `json:"loadAverageAfter"`
}

// Machine is where a run ran.
type Machine struct {
	Processor  string `json:"processor"`
	Cores      int    `json:"cores"`
	Go         string `json:"go"`
	PostgreSQL string `json:"postgresql"`
	Fsync      string `json:"fsync"`
}

// Row is one load. Times are in milliseconds, from the moment a request was meant for until its answer was there.
type Row struct {
	What     string  `json:"what"`
	Offered  int     `json:"offeredPerSecond,omitempty"`
	Answered float64 `json:"answeredPerSecond,omitempty"`
	Accepted float64 `json:"acceptedPerSecond,omitempty"` // bids
	P50      float64 `json:"p50,omitempty"`
	P90      float64 `json:"p90,omitempty"`
	P99      float64 `json:"p99,omitempty"`
	P999     float64 `json:"p999,omitempty"`
	Max      float64 `json:"max,omitempty"`

	Statuses   map[int]int        `json:"statuses,omitempty"`
	Unanswered int                `json:"unanswered,omitempty"`
	Broken     int                `json:"brokenConnections,omitempty"`
	Figures    map[string]float64 `json:"figures,omitempty"`
	Verdict    string             `json:"verdict,omitempty"`
}

func newReport(ctx context.Context, pool *pgxpool.Pool, scenario string, flags []string) *Report {
	r := &Report{Scenario: scenario, Flags: flags, Begun: time.Now().UTC().Truncate(time.Second), LoadBefore: loadAverage()}
	r.Machine = Machine{Processor: processor(), Cores: runtime.NumCPU(), Go: runtime.Version()}
	// A server that does not say is left out.
	_ = pool.QueryRow(ctx, `SELECT current_setting('server_version'), current_setting('fsync')`).Scan(&r.Machine.PostgreSQL, &r.Machine.Fsync)
	return r
}

func rowOf(what string, rate int, out *outcome) Row {
	row := Row{
		What: what, Offered: rate, Answered: float64(out.answered()) / out.span.Seconds(),
		Statuses: out.statuses, Unanswered: out.unanswered, Broken: out.broken,
	}
	row.take(out.times)
	return row
}

func (r *Row) take(times *hdrhistogram.Histogram) {
	at := func(quantile float64) float64 { return float64(times.ValueAtQuantile(quantile)) / 1000 }
	r.P50, r.P90, r.P99, r.P999, r.Max = at(50), at(90), at(99), at(99.9), float64(times.Max())/1000
}

func (r *Report) add(row Row) error {
	r.Rows = append(r.Rows, row)
	return nil
}

// write prints the table and writes the files that are asked for.
func (r *Report) write(out io.Writer, file, plot string) error {
	r.LoadAfter = loadAverage()
	if len(r.Rows) == 0 {
		return nil
	}
	err := r.print(out)
	if file != "" {
		text, failed := json.MarshalIndent(r, "", "  ")
		err = errors.Join(err, failed, os.WriteFile(file, append(text, '\n'), 0o644))
	}
	if plot != "" {
		err = errors.Join(err, os.WriteFile(plot, Plot("martelo bench "+r.Scenario, r.Rows), 0o644))
	}
	return err
}

func (r *Report) print(out io.Writer) error {
	fmt.Fprintf(out, "%s, %d cores, %s, PostgreSQL %s (fsync %s), load average before %s, after %s\n\n", r.Machine.Processor, r.Machine.Cores, r.Machine.Go,
		r.Machine.PostgreSQL, r.Machine.Fsync, r.LoadBefore, r.LoadAfter)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "what\toffered/s\tanswered/s\taccepted/s\tp50 ms\tp90 ms\tp99 ms\tp99.9 ms\tmax ms\t")
	for _, row := range r.Rows {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t\n", row.What, whole(float64(row.Offered)), whole(row.Answered), whole(row.Accepted),
			row.P50, row.P90, row.P99, row.P999, row.Max)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, row := range r.Rows {
		var more []string
		for _, status := range slices.Sorted(maps.Keys(row.Statuses)) {
			more = append(more, fmt.Sprintf("%d × %d", row.Statuses[status], status))
		}
		if row.Unanswered > 0 {
			more = append(more, fmt.Sprintf("%d unanswered", row.Unanswered))
		}
		for _, name := range slices.Sorted(maps.Keys(row.Figures)) {
			more = append(more, fmt.Sprintf("%s %.4g", name, row.Figures[name]))
		}
		if row.Verdict != "" {
			more = append(more, row.Verdict)
		}
		fmt.Fprintf(out, "\n%s %s: %s", row.What, whole(float64(row.Offered)), strings.Join(more, " · "))
	}
	_, err := fmt.Fprintln(out)
	return err
}

func whole(n float64) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f", n)
}

// loadAverage is the machine's, "?" where it is not kept like that.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if fields := strings.Fields(string(text)); err == nil && len(fields) > 0 {
		return fields[0]
	}
	return "?"
}

func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

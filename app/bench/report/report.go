// Package report is what a run of the load tool tells: a table for people, a JSON file and a plot.
package report

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

	"github.com/jackc/pgx/v5/pgxpool"
)

// Report is a run as it is written to a file.
type Report struct {
	Scenario string    `json:"scenario"`
	Flags    []string  `json:"flags"`
	Begun    time.Time `json:"begun"`
	Machine  Machine   `json:"machine"`
	Rows     []Row     `json:"rows"`
	// LoadAfter is the machine's load average at the end; what is above the run's own load is
	// somebody else's.
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

// New begins the report of a run.
func New(ctx context.Context, pool *pgxpool.Pool, scenario string, flags []string) *Report {
	r := &Report{
		Scenario: scenario, Flags: flags, Begun: time.Now().UTC().Truncate(time.Second), LoadBefore: loadAverage(),
		Machine: Machine{Processor: processor(), Cores: runtime.NumCPU(), Go: runtime.Version()},
	}
	// A server that does not say is left out.
	_ = pool.QueryRow(ctx, `SELECT current_setting('server_version'), current_setting('fsync')`).
		Scan(&r.Machine.PostgreSQL, &r.Machine.Fsync)
	return r
}

// Add adds a row.
func (r *Report) Add(row Row) { r.Rows = append(r.Rows, row) }

// Write prints the table, and writes the JSON and the plot to files that are named.
func (r *Report) Write(out io.Writer, file, plot string) error {
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
		err = errors.Join(err, os.WriteFile(plot, Plot("bench "+r.Scenario, r.Rows), 0o644))
	}
	return err
}

func (r *Report) print(out io.Writer) error {
	m := r.Machine
	fmt.Fprintf(out, "%s, %d cores, %s, PostgreSQL %s (fsync %s), load average before %s, after %s\n\n",
		m.Processor, m.Cores, m.Go, m.PostgreSQL, m.Fsync, r.LoadBefore, r.LoadAfter)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "what\toffered/s\tanswered/s\taccepted/s\tp50 ms\tp90 ms\tp99 ms\tp99.9 ms\tmax ms\t")
	for _, row := range r.Rows {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t\n", row.What, whole(float64(row.Offered)),
			whole(row.Answered), whole(row.Accepted), row.P50, row.P90, row.P99, row.P999, row.Max)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, row := range r.Rows {
		fmt.Fprintf(out, "\n%s %s: %s", row.What, whole(float64(row.Offered)), strings.Join(row.remarks(), " · "))
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

// remarks are what does not fit into the table.
func (r Row) remarks() (remarks []string) {
	for _, status := range slices.Sorted(maps.Keys(r.Statuses)) {
		remarks = append(remarks, fmt.Sprintf("%d × %d", r.Statuses[status], status))
	}
	for _, count := range []struct {
		n    int
		what string
	}{{r.Unanswered, "unanswered"}, {r.Broken, "connections broke"}, {r.Again, "asked to come again"}} {
		if count.n > 0 {
			remarks = append(remarks, fmt.Sprintf("%d %s", count.n, count.what))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Figures)) {
		remarks = append(remarks, fmt.Sprintf("%s %.4g", name, r.Figures[name]))
	}
	if r.Verdict != "" {
		remarks = append(remarks, r.Verdict)
	}
	return remarks
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

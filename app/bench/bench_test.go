package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"martelo/app/bench/house"
	"martelo/app/bench/report"
	"martelo/db/dbtest"
)

// programs is where the server and the load tool are built, once for all tests.
var programs struct {
	sync.Once
	dir string
	err error
}

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(programs.dir)
	os.Exit(code)
}

// build returns the server's program and the load tool's.
func build(t *testing.T) (martelo, bench string) {
	t.Helper()
	programs.Do(func() {
		if programs.dir, programs.err = os.MkdirTemp("", "bench-test"); programs.err != nil {
			return
		}
		for name, room := range map[string]string{"martelo": "martelo/app", "bench": "martelo/app/bench"} {
			build := exec.Command("go", "build", "-o", filepath.Join(programs.dir, name), room)
			if out, err := build.CombinedOutput(); err != nil {
				programs.err = fmt.Errorf("go build %s: %w\n%s", room, err, out)
			}
		}
	})
	if programs.err != nil {
		t.Fatal(programs.err)
	}
	return filepath.Join(programs.dir, "martelo"), filepath.Join(programs.dir, "bench")
}

// onLinux says whether loads can be made here.
func onLinux(t *testing.T) bool {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Log("loads are made on Linux only")
	}
	return runtime.GOOS == "linux"
}

var short = []string{"--warm", "100ms", "--span", "300ms"}

// Every scenario runs against real nodes, as small as it gets, and leaves no database behind.
func TestScenarios(t *testing.T) {
	t.Parallel()
	dbtest.Long(t)
	if !onLinux(t) {
		return
	}
	martelo, _ := build(t)
	given := setup{program: martelo, databaseURL: dbtest.URL(t), redisURL: dbtest.RedisURL(t)}
	t.Run("all", func(t *testing.T) {
		t.Run("interrupted", func(t *testing.T) { interrupted(t, given.databaseURL) })
		t.Run("a held row", func(t *testing.T) { aHeldRow(t, given) })
		t.Run("the program", func(t *testing.T) { theProgram(t, given) })
		for name, c := range map[string]struct {
			flags []string
			rows  []string
		}{
			"hot": {
				slices.Concat(short, []string{"--rates", "40,80", "--nodes", "2", "--low", "20"}),
				[]string{"one auction, 2 nodes", "one auction, 2 nodes"},
			},
			"mixed": {
				slices.Concat(short, []string{"--rates", "80", "--auctions", "200", "--quiet", "40"}),
				[]string{"one auction, 1 node", "199 quiet auctions"},
			},
			"burst": {
				[]string{"--bidders", "50", "--span", "100ms", "--rounds", "2", "--nodes", "2"},
				[]string{"50 bidders, one auction, 2 nodes"},
			},
			"desk": {
				slices.Concat(short, []string{"--bidders", "2,4", "--rounds", "2"}),
				[]string{
					"the house, 2 bidders", "published transaction, 2 bidders", "one conditional statement, 2 bidders",
					"the house, 4 bidders", "published transaction, 4 bidders", "one conditional statement, 4 bidders",
				},
			},
			"cold": {
				slices.Concat(short, []string{"--auctions", "90", "--rates", "40", "--bidders", "4"}),
				[]string{
					"the house, 4 bidders", "published transaction, 4 bidders", "one conditional statement, 4 bidders",
					"90 auctions through HTTP, 1 node",
				},
			},
			"close": {[]string{"--auctions", "50"}, []string{"50 end within a second, 1 node"}},
			"viewers": {
				slices.Concat(short, []string{"--viewers", "20", "--rates", "40", "--auctions", "10"}),
				[]string{"bids with 0 viewers", "bids with 20 viewers", "20 viewers of 10 auctions shown a bid"},
			},
			"browse": {
				slices.Concat(short, []string{"--auctions", "50", "--rates", "40"}),
				[]string{"home page", "auction page"},
			},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				rows := measured(t, given, name, c.flags...)
				var what []string
				for _, row := range rows {
					what = append(what, row.What)
					wrong := row.Statuses[500] + row.Statuses[429] + row.Statuses[401]
					if row.Unanswered > 0 || row.Broken > 0 || wrong > 0 {
						t.Errorf("%+v", row)
					}
				}
				if !slices.Equal(what, c.rows) {
					t.Errorf("rows are %q, want %q", what, c.rows)
				}
				if name == "hot" {
					checkNodesApart(t, rows[0])
				}
			})
		}
	})
	if left := scratchDatabases(t, given.databaseURL); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// checkNodesApart looks for what each of two nodes did.
func checkNodesApart(t *testing.T, row report.Row) {
	t.Helper()
	for _, node := range []string{"node 1: ", "node 2: "} {
		for _, name := range []string{
			"bids a batch", "auctions a batch", "ms a batch", "cores", "seconds a second waiting for a row's lock",
		} {
			if _, found := row.Figures[node+name]; !found {
				t.Errorf("%q is missing from %v", node+name, slices.Sorted(maps.Keys(row.Figures)))
			}
		}
	}
}

// measured runs a scenario and reads its report from the file.
func measured(t *testing.T, given setup, name string, flags ...string) []report.Row {
	t.Helper()
	file, plot := filepath.Join(t.TempDir(), "figures.json"), filepath.Join(t.TempDir(), "plot.svg")
	s, err := scenarioNamed(name)
	if err != nil {
		t.Fatal(err)
	}
	args := slices.Concat([]string{name}, flags, []string{"--out", file})
	if s.short.rates != nil {
		args = append(args, "--svg", plot)
	}
	var out bytes.Buffer
	if err := run(t.Context(), given, args, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if s.short.rates != nil {
		checkPlot(t, plot)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r report.Report
	if err := json.Unmarshal(text, &r); err != nil || len(r.Rows) == 0 {
		t.Fatalf("%d rows, %v", len(r.Rows), err)
	}
	return r.Rows
}

func checkPlot(t *testing.T, file string) {
	t.Helper()
	drawing, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for decoder := xml.NewDecoder(bytes.NewReader(drawing)); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("the plot is no XML: %v", err)
		}
	}
}

func scratchDatabases(t *testing.T, url string) []string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	rows, err := conn.Query(t.Context(),
		`SELECT datname FROM pg_database WHERE starts_with(datname, $1)`, house.ScratchPrefix)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// interrupted ends a run at once; its database goes with it.
func interrupted(t *testing.T, url string) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	time.AfterFunc(500*time.Millisecond, interrupt)
	err := run(ctx, setup{databaseURL: url}, []string{"desk", "--span", "1h"}, io.Discard)
	if err == nil || ctx.Err() == nil {
		t.Errorf("it ended with %v", err)
	}
}

// aHeldRow holds the row of a quiet auction: its bids wait, and those on the others are told apart,
// before, meanwhile and afterwards.
func aHeldRow(t *testing.T, given setup) {
	t.Parallel()
	rows := measured(t, given, "mixed", "--auctions", "100", "--rates", "50", "--quiet", "50", "--warm", "100ms",
		"--span", "1s", "--lock", "1500ms")
	var what []string
	held := map[string]report.Row{}
	for _, row := range rows {
		what = append(what, row.What)
		held[row.What] = row
	}
	want := []string{
		"one auction, 1 node, before", "one auction, 1 node, a quiet row held", "one auction, 1 node, afterwards",
		"99 quiet auctions, before", "99 quiet auctions, a quiet row held", "99 quiet auctions, afterwards",
		"the auction that is held, before", "the auction that is held, a quiet row held",
		"the auction that is held, afterwards",
	}
	if !slices.Equal(what, want) {
		t.Fatalf("rows are %q", what)
	}
	// Whoever bid on it first, right after it was held, waited until it was let go.
	waited, beside := held["the auction that is held, a quiet row held"], held["99 quiet auctions, a quiet row held"]
	if waited.Max < 1000 || beside.P50 >= waited.P50 || waited.Statuses[201] == 0 {
		t.Errorf("bids on the held auction waited %g ms at most, %g in the median, those beside it %g: %v",
			waited.Max, waited.P50, beside.P50, waited.Statuses)
	}
}

// theProgram is the load tool itself, which finds the server that was built beside it.
func theProgram(t *testing.T, given setup) {
	t.Parallel()
	_, bench := build(t)
	cmd := exec.CommandContext(t.Context(), bench, "burst", "--bidders", "20", "--span", "100ms", "--rounds", "1")
	cmd.Env = append(os.Environ(), "DATABASE_URL="+given.databaseURL, "REDIS_URL="+given.redisURL, "MARTELO_PROGRAM=")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "20 bidders, one auction, 1 node") {
		t.Errorf("%v\n%s", err, out)
	}
	cmd = exec.CommandContext(t.Context(), bench, "lukewarm")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.HasPrefix(string(out), "bench: there is no scenario") {
		t.Errorf("%v\n%s", err, out)
	}
}

package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"martelo/db/dbtest"
)

// Every scenario runs against real nodes, as small as it gets, and leaves no database behind.
func TestScenarios(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Log("loads are made on Linux only")
		return
	}
	setup := Setup{Program: build(t), DatabaseURL: dbtest.URL(t), RedisURL: dbtest.RedisURL(t)}
	short := []string{"--warm", "100ms", "--span", "300ms"}
	t.Run("all", func(t *testing.T) {
		t.Run("interrupted", func(t *testing.T) { interrupted(t, setup.DatabaseURL) })
		for name, flags := range map[string][]string{
			"hot":     {"--rates", "40,80", "--nodes", "2", "--low", "20"},
			"desk":    {"--bidding", "4"},
			"cold":    {"--auctions", "90", "--rates", "40", "--bidding", "4"},
			"close":   {"--auctions", "50"},
			"viewers": {"--viewers", "20", "--rates", "40", "--auctions", "10"},
			"browse":  {"--auctions", "50", "--rates", "40"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				file := filepath.Join(t.TempDir(), "figures.json")
				plot := filepath.Join(t.TempDir(), "plot.svg")
				args := slices.Concat([]string{name}, flags, short, []string{"--out", file, "--svg", plot})
				var out bytes.Buffer
				if err := Run(t.Context(), setup, args, &out); err != nil {
					t.Fatalf("%v\n%s", err, out.String())
				}
				checkFiles(t, file, plot)
			})
		}
	})
	if left := scratchDatabases(t, setup.DatabaseURL); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func build(t *testing.T) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "martelo")
	if out, err := exec.Command("go", "build", "-o", program, "martelo/app").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}

func checkFiles(t *testing.T, file, plot string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var report Report
	if err := json.Unmarshal(text, &report); err != nil || len(report.Rows) == 0 {
		t.Fatalf("%d rows, %v", len(report.Rows), err)
	}
	for _, row := range report.Rows {
		if row.Unanswered > 0 || row.Broken > 0 || row.Statuses[500] > 0 || row.Statuses[429] > 0 || row.Statuses[401] > 0 {
			t.Errorf("%+v", row)
		}
	}
	drawing, err := os.ReadFile(plot)
	if err != nil {
		t.Fatal(err)
	}
	for decoder := xml.NewDecoder(bytes.NewReader(drawing)); ; {
		if _, err := decoder.Token(); err == io.EOF {
			break
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
	rows, err := conn.Query(t.Context(), `SELECT datname FROM pg_database WHERE starts_with(datname, $1)`, scratchPrefix)
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
	if err := Run(ctx, Setup{DatabaseURL: url}, []string{"desk", "--span", "1h"}, io.Discard); err == nil || ctx.Err() == nil {
		t.Errorf("it ended with %v", err)
	}
}

func TestARealHouseIsLeftAlone(t *testing.T) {
	t.Parallel()
	setup := Setup{DatabaseURL: "postgres://somebody@127.0.0.1:1/martelo", RedisURL: "redis://127.0.0.1:1"}
	err := Run(t.Context(), setup, []string{"hot", "--url", "http://127.0.0.1:1"}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "--yes") {
		t.Errorf("%v", err)
	}
}

func TestArgumentsAreRefusedByName(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"warm"}, {"hot", "--rates", "many"}, {"hot", "--low", "101"}, {"hot", "more"}, {"hot", "--unknown"}} {
		if err := Run(t.Context(), Setup{DatabaseURL: "postgres://127.0.0.1:1/x"}, args, io.Discard); err == nil || !strings.HasPrefix(err.Error(), "bench: ") {
			t.Errorf("%v: %v", args, err)
		}
	}
	var out strings.Builder
	if err := Run(t.Context(), Setup{}, nil, &out); err != nil || !strings.Contains(out.String(), "viewers") {
		t.Errorf("help: %v %s", err, out.String())
	}
}

package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestARealHouseIsLeftAlone(t *testing.T) {
	t.Parallel()
	given := setup{databaseURL: "postgres://somebody@127.0.0.1:1/martelo", redisURL: "redis://127.0.0.1:1"}
	err := run(t.Context(), given, []string{"hot", "--url", "http://127.0.0.1:1"}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "--yes") {
		t.Errorf("%v", err)
	}
}

func TestArgumentsAreRefusedByName(t *testing.T) {
	t.Parallel()
	given := setup{
		databaseURL: "postgres://127.0.0.1:1/x", redisURL: "redis://127.0.0.1:1", program: "/nowhere/martelo",
	}
	for args, name := range map[string]string{
		"warm": "warm", "help warm": "warm", "hot --rates many": "rates", "hot --rates 0": "rates",
		"hot --low 101": "--low",
		"hot more":      "more", "hot --unknown": "unknown", "hot --lane cold": "--lane", "hot --nodes 0": "nodes",
		"mixed --lock -1s": "lock", "mixed --quiet 0": "quiet", "burst --rates 5": "rates",
		"burst --bidders 5,-1": "bidders",
		"desk --nodes 2":       "nodes", "close --span 1s": "span", "hot --warm soon": "warm",
		"hot":                      "/nowhere/martelo",
		"hot --program /elsewhere": "/elsewhere",
	} {
		err := run(t.Context(), given, strings.Fields(args), io.Discard)
		if err == nil || !strings.HasPrefix(err.Error(), "bench: ") || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", args, err)
		}
	}
	for name, given := range map[string]setup{
		"DATABASE_URL": {redisURL: given.redisURL}, "REDIS_URL": {databaseURL: given.databaseURL},
	} {
		err := run(t.Context(), given, []string{"hot"}, io.Discard)
		if err == nil || !strings.Contains(err.Error(), name+" is not set") {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

// Help needs no settings. It says of each scenario which flags it takes, and what is usual.
func TestHelp(t *testing.T) {
	t.Parallel()
	said := func(args string) string {
		var out strings.Builder
		if err := run(t.Context(), setup{}, strings.Fields(args), &out); err != nil {
			t.Errorf("%s: %v", args, err)
		}
		return out.String()
	}
	for _, s := range scenarios {
		for _, args := range []string{"", "help", "--help"} {
			if text := said(args); !strings.Contains(text, s.name) || !strings.Contains(text, s.summary) {
				t.Errorf("%q does not list %s: %s", args, s.name, text)
			}
		}
		if text := said("help " + s.name); !strings.Contains(text, s.about) || text != said(s.name+" --long --help") {
			t.Errorf("help of %s: %s", s.name, text)
		}
	}
	for args, want := range map[string]string{
		"help mixed": "--lock TIME", "help burst": "(usually 1000, with --long 1000,5000)",
		"help cold": "--bidders N,N",
		"help hot":  "--program FILE",
	} {
		if text := said(args); !strings.Contains(text, want) {
			t.Errorf("%s: no %q in %s", args, want, text)
		}
	}
	if text := said("help desk"); strings.Contains(text, "--nodes") || strings.Contains(text, "--rates") {
		t.Errorf("help of desk: %s", text)
	}
}

func TestFlagsGoBeforeWhatIsUsual(t *testing.T) {
	t.Parallel()
	cold, err := scenarioNamed("cold")
	if err != nil {
		t.Fatal(err)
	}
	o, err := cold.options(strings.Fields("--long --bidders 64,256 --span 2s --rates 4000"))
	if err != nil {
		t.Fatal(err)
	}
	if list(o.bidders) != "64,256" || list(o.rates) != "4000" || o.span != 2*time.Second || o.warm != cold.long.warm ||
		o.auctions != 100_000 || o.rounds != 3 || o.nodes != 1 {
		t.Errorf("%+v", o)
	}
	if o, err := cold.options(nil); err != nil || o.auctions != cold.short.auctions || o.rounds != 1 {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestTheServersProgramIsFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	asked, environment := filepath.Join(dir, "asked"), filepath.Join(dir, "environment")
	for _, file := range []string{asked, environment} {
		if err := os.WriteFile(file, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if path, err := find(asked, environment); err != nil || path != asked {
		t.Errorf("%s, %v", path, err)
	}
	if path, err := find("", environment); err != nil || path != environment {
		t.Errorf("%s, %v", path, err)
	}
	if path, err := find("", ""); err == nil || !strings.Contains(err.Error(), "--program") {
		t.Errorf("beside the tests there is %s, %v", path, err)
	}
}

package main_test

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// rooms are the packages in the order in which they may know each other: each imports only rooms
// that stand before it.
var rooms = []string{
	"app/money", "app/refusal", "app/text", "app/auction", "app/batch", "static", "migrations", "app/loop", "db",
	"app/identity", "app/account", "app/draft", "app/limits", "app/listing", "app/hot", "app/live", "app/catalog",
	"app/outbox", "app/auctioneer",
	"templates/words", "templates/components", "templates/fragments", "templates/layouts", "templates/pages",
	"templates/gallery", "web/read", "web/stream", "web", "app",
	// The load tool is a program of its own, which the server does not know.
	"app/bench/load", "app/bench/report", "app/bench/house", "app/bench",
}

// onlyIn names the only rooms (and what lies below them) that may import a package directly.
var onlyIn = map[string][]string{
	"github.com/labstack/echo/v4": {"web"},
	"github.com/redis/go-redis/v9": {
		"app/live", "app/limits", "app/listing", "app/hot", "app/identity", "app", "db/dbtest",
	},
	"github.com/a-h/templ":              {"templates", "web"},
	"github.com/coder/websocket":        {"web/stream"},
	"github.com/twmb/franz-go":          {"app/outbox"},
	"martelo/db/dbtest":                 {},
	"martelo/db/dbtest/published":       {"app/bench"},
	"github.com/caarlos0/env/v11":       {"app"},
	"github.com/alexedwards/argon2id":   {"app/account"},
	"github.com/go-redis/redis_rate":    {"app/limits"},
	"github.com/bojanz/currency":        {"app/money"},
	"github.com/r3labs/sse/v2":          {},
	"github.com/anishathalye/porcupine": {},
}

// speechless rooms ask PostgreSQL nothing themselves. The others do, each for its own job.
var speechless = []string{"app/limits", "app/batch", "app/loop", "templates/", "static", "web"}

// pure rooms know nothing of networks, stores and clocks of their own.
var pure = []string{"app/money", "app/refusal", "app/text", "app/auction"}

func TestTheWallsStand(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "martelo/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for decoder.More() {
		var room struct {
			ImportPath string
			Imports    []string
		}
		if err := decoder.Decode(&room); err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(room.ImportPath, "martelo/")
		if strings.HasPrefix(name, "db/dbtest") {
			continue // the workshop beside the house: tests and development only
		}
		place := slices.Index(rooms, name)
		if place < 0 {
			t.Errorf("%s is not in the plan of rooms", name)
			continue
		}
		for _, imported := range room.Imports {
			if other, ours := strings.CutPrefix(imported, "martelo/"); ours && slices.Index(rooms, other) >= place {
				t.Errorf("%s imports %s, which stands above it", name, other)
			}
			checkOnly(t, name, imported)
			asks := imported == "martelo/db" || strings.HasPrefix(imported, "github.com/jackc/pgx/")
			if asks &&
				slices.ContainsFunc(speechless, func(room string) bool { return strings.HasPrefix(name, room) }) {
				t.Errorf("%s imports %s and would ask PostgreSQL itself", name, imported)
			}
			if slices.Contains(pure, name) &&
				(imported == "net" || imported == "os" || strings.HasPrefix(imported, "net/") ||
					strings.HasPrefix(imported, "database/")) {
				t.Errorf("%s imports %s and is no longer pure", name, imported)
			}
		}
	}
}

func checkOnly(t *testing.T, name, imported string) {
	for guarded, allowed := range onlyIn {
		if imported != guarded && !strings.HasPrefix(imported, guarded+"/") || strings.HasPrefix(guarded, "martelo/") &&
			imported != guarded {
			continue
		}
		if !slices.ContainsFunc(allowed, func(room string) bool {
			return name == room || room != "app" && strings.HasPrefix(name, room+"/")
		}) {
			t.Errorf("%s imports %s, which belongs in %v", name, imported, allowed)
		}
	}
}

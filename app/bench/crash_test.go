package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"martelo/app/bench/house"
	"martelo/db/dbtest"
)

// A hot auction gets two thousand bids a second when Redis, or a node that decides and settles it,
// is killed. Whatever was answered 201 is in PostgreSQL in the end, once, as it was answered: the
// run verifies that.
func TestCrashesAtTwoThousandBidsASecond(t *testing.T) {
	dbtest.Long(t)
	if !onLinux(t) {
		return
	}
	martelo, _ := build(t)
	t.Run("Redis", func(t *testing.T) {
		redis := dbtest.StartRedis(t)
		given := setup{program: martelo, databaseURL: dbtest.URL(t), redisURL: redis.URL()}
		out, err := crash(t, given, 1, func() {
			redis.Kill()
			redis.Start()
		})
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		t.Log(out)
	})
	t.Run("a node", func(t *testing.T) {
		given := setup{program: martelo, databaseURL: dbtest.URL(t), redisURL: dbtest.RedisURL(t)}
		out, err := crash(t, given, 2, func() {
			if err := syscall.Kill(aNode(t), syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		})
		if err == nil || err.Error() != "signal: killed" { // that of the node, and no other
			t.Errorf("%v\n%s", err, out)
		}
		t.Log(out)
	})
}

// crash runs a load and does the harm once bids are in the log.
func crash(t *testing.T, given setup, nodes int, harm func()) (out string, err error) {
	t.Helper()
	var printed bytes.Buffer
	ran := make(chan error, 1)
	go func() {
		args := []string{
			"hot", "--lane", "hot", "--rates", "2000", "--warm", "1s", "--span", "4s", "--nodes", strconv.Itoa(nodes),
		}
		ran <- run(t.Context(), given, args, &printed)
	}()
	logged := func() (bids int) {
		for _, name := range scratchDatabases(t, given.databaseURL) {
			config, err := pgx.ParseConfig(given.databaseURL)
			if err != nil {
				t.Error(err)
				return 0
			}
			config.Database = name
			conn, err := pgx.ConnectConfig(t.Context(), config)
			if err != nil {
				return 0
			}
			_ = conn.QueryRow(t.Context(), `SELECT count(*) FROM bids`).Scan(&bids) // there is no table at first
			_ = conn.Close(context.WithoutCancel(t.Context()))
		}
		return bids
	}
	for deadline := time.Now().Add(time.Minute); logged() < 300; {
		if time.Now().After(deadline) {
			t.Fatal("no bids come")
		}
		time.Sleep(house.LookAgain)
	}
	select {
	case err := <-ran:
		t.Fatalf("the load was over before the harm: %v\n%s", err, printed.String())
	default:
	}
	harm()
	err = <-ran
	return printed.String(), err
}

// aNode is the process of a node that this program has started.
func aNode(t *testing.T) int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has just ended
		}
		_, after, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(after)
		line, err := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		if err != nil || len(fields) < 2 || fields[1] != fmt.Sprint(os.Getpid()) ||
			!strings.HasSuffix(string(line), "\x00serve\x00") {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			return pid
		}
	}
	t.Fatal("no node runs")
	return 0
}

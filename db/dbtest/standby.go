package dbtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// standbyName is how a standby calls itself to its primary.
	standbyName = "standby"

	// followWithin is how long a standby may take to be followed by its primary, or to become one:
	// a fraction of a second.
	followWithin = 30 * time.Second
)

// StartStandby starts a copy of a test's PostgreSQL that follows it, and returns once the primary
// waits for it: from then on the primary confirms nothing that the standby has not written to its
// disk.
func StartStandby(t testing.TB, primary *Server) *Server {
	t.Helper()
	base, err := home("test")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := throwAwayFolder(base)
	if err != nil {
		t.Fatal(err)
	}
	server := newPostgres(dir)
	primary.check(server.prepare(server))
	primary.check(command{
		argv: []string{
			filepath.Join(server.programs, "pg_basebackup"), "--pgdata=" + server.data(), "--wal-method=stream",
			"--checkpoint=fast", "--no-sync",
			"--write-recovery-conf",
			fmt.Sprintf(
				"--dbname=host=127.0.0.1 port=%d user=postgres application_name=%s", primary.server.port, standbyName,
			),
		},
		dir: dir, account: server.account,
	}.finish())
	s := begin(t, server)
	s.url = server.databaseURL(seedDatabase)
	primary.execute("ALTER SYSTEM SET synchronous_standby_names = '" + standbyName + "'")
	primary.execute("SELECT pg_reload_conf()")
	primary.AwaitStandby()
	return s
}

// AwaitStandby returns once the primary's standby follows it and is waited for.
func (s *Server) AwaitStandby() {
	s.t.Helper()
	s.await("SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming')")
}

// Promote makes a standby a primary, which waits for nobody, and returns once it takes writes.
func (s *Server) Promote() {
	s.t.Helper()
	s.execute("SELECT pg_promote()")
	s.await("SELECT NOT pg_is_in_recovery()")
}

func (s *Server) execute(statement string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), followWithin)
	defer cancel()
	s.check(execute(ctx, s.url, statement))
}

// await asks until the answer is yes.
func (s *Server) await(question string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), followWithin)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.url)
	s.check(err)
	defer conn.Close(context.WithoutCancel(ctx))
	for is := false; !is; time.Sleep(pollEvery) {
		if err := conn.QueryRow(ctx, question).Scan(&is); err != nil {
			words, _ := os.ReadFile(s.server.log())
			s.t.Fatalf("dbtest: %s: %v\n%s", question, err, words[max(0, len(words)-logTail):])
		}
	}
}

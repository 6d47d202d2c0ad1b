package dbtest

import (
	"os"
	"testing"
)

// Server is a PostgreSQL or Redis that belongs to one test, which may do it any harm. Its methods
// are called from the test's own goroutine: they fail the test when they cannot do what they say.
// It ends with the test.
type Server struct {
	t      testing.TB
	server *server
	url    string
}

// StartPostgres starts a PostgreSQL with one empty, migrated database. Up to 300 connections may be
// open.
//
// Whoever starts one means to harm it, so the test is left out of the quick run ([Long]).
func StartPostgres(t testing.TB) *Server {
	t.Helper()
	Long(t)
	server, err := throwAwayPostgres()
	if err != nil {
		t.Fatal(err)
	}
	s := begin(t, server)
	s.url = server.databaseURL(seedDatabase)
	return s
}

// StartRedis starts an empty Redis that writes each command to disk before it answers.
//
// Whoever starts one means to harm it, so the test is left out of the quick run ([Long]).
func StartRedis(t testing.TB) *Server {
	t.Helper()
	Long(t)
	return startRedis(t)
}

func startRedis(t testing.TB) *Server {
	t.Helper()
	base, err := home("test")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := throwAwayFolder(base)
	if err != nil {
		t.Fatal(err)
	}
	server := newRedis(dir)
	s := begin(t, server)
	s.url = server.redisURL()
	return s
}

func begin(t testing.TB, server *server) *Server {
	t.Helper()
	s := &Server{t: t, server: server}
	t.Cleanup(func() {
		if err := server.quit(); err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(server.dir); err != nil {
			t.Errorf("dbtest: %v", err)
		}
	})
	s.Start()
	return s
}

// URL returns the server's address, which stays the same while it is stopped and started.
func (s *Server) URL() string { return s.url }

// Start starts the server again, with the data that it has on disk, on the port that it had, and
// returns when it answers.
func (s *Server) Start() {
	s.t.Helper()
	if s.server.running != nil {
		s.t.Fatalf("dbtest: %s is running", s.server.name())
	}
	s.check(s.server.start(true, s.server.abrupt(), s.server.dir))
}

// Stop ends the server in an orderly way: open connections are told, data is saved. It returns when
// the server is gone.
func (s *Server) Stop() {
	s.t.Helper()
	s.check(s.server.stop())
}

// Kill ends all the server's processes at once (SIGKILL), as a crash would. It returns when they
// are gone.
func (s *Server) Kill() {
	s.t.Helper()
	s.check(s.server.kill())
}

// Pause stops all the server's processes where they are (SIGSTOP): connections stay open and new
// ones are taken by the kernel, but nothing answers. It is what a machine that hangs looks like
// from outside.
func (s *Server) Pause() {
	s.t.Helper()
	s.check(s.server.pause())
}

// Resume lets a paused server go on.
func (s *Server) Resume() {
	s.t.Helper()
	s.check(s.server.resume())
}

func (s *Server) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

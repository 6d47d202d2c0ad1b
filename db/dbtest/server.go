package dbtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// startWithin is how long a server may take until it answers; after a crash PostgreSQL first
	// replays its log.
	startWithin = 60 * time.Second

	// pingWithin is how long one attempt to reach a starting server may take.
	pingWithin = 2 * time.Second

	// startTries is how many ports are tried: another program may take a free port before the
	// server does.
	startTries = 5

	// logTail is how many bytes of a server's log are shown when it does not start.
	logTail = 2000
)

// kind is what PostgreSQL and Redis do differently.
type kind interface {
	// name is how people call it.
	name() string
	// prepare finds the programs, getting them when they are missing, and makes the server's folder
	// ready for argv.
	prepare(*server) error
	// argv is the command that runs the server.
	argv(*server) []string
	// ping returns nil once the server answers.
	ping(context.Context, *server) error
	// folder asks whatever answers on the server's port where it keeps its data.
	folder(context.Context, *server) (string, error)
	// orderly is the signal for a stop that keeps everything, abrupt for one that ends its children
	// too but saves nothing.
	orderly() syscall.Signal
	abrupt() syscall.Signal
}

// server is one private PostgreSQL or Redis: a folder with its data and log, a port, and its
// process while it runs.
type server struct {
	kind
	dir      string
	port     int                 // 0 until it is started for the first time
	programs string              // the folder of its programs; set by prepare
	account  *syscall.Credential // whom it runs as; nil is this program's own account; set by prepare

	running *process
	frozen  []int // the paused processes
}

// start starts the server and waits until it answers: on the port that it had, or on a free one
// when it has none yet. A guarded server ends when this program does; then the folder remove is
// removed too, unless it is "".
func (s *server) start(guarded bool, end syscall.Signal, remove string) error {
	if err := s.prepare(s); err != nil {
		return err
	}
	if s.port != 0 {
		return s.startOnce(guarded, end, remove)
	}
	var failed error
	for range startTries {
		port, err := freePort()
		if err != nil {
			return err
		}
		s.port = port
		if failed = s.startOnce(guarded, end, remove); failed == nil {
			return nil
		}
	}
	s.port = 0
	return failed
}

func (s *server) startOnce(guarded bool, end syscall.Signal, remove string) error {
	process, err := command{argv: s.argv(s), dir: s.dir, log: s.log(), account: s.account}.run()
	if err != nil {
		return err
	}
	if guarded {
		if err := process.watch(end, s.pausedFile(), remove); err != nil {
			return errors.Join(err, process.kill())
		}
	}
	s.running = process
	for deadline := time.Now().Add(startWithin); ; time.Sleep(pollEvery) {
		if !alive(process.pid) {
			process.dismiss()
			s.running = nil
			return fmt.Errorf("dbtest: %s ended while it started:\n%s", s.name(), s.lastWords())
		}
		ctx, cancel := context.WithTimeout(context.Background(), pingWithin)
		err := s.ping(ctx, s)
		cancel()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			s.running = nil
			return errors.Join(
				fmt.Errorf("dbtest: %s does not answer (%w):\n%s", s.name(), err, s.lastWords()), process.kill(),
			)
		}
	}
}

// stop asks for an orderly end, by which everything is kept, and waits for it.
func (s *server) stop() error {
	if s.running == nil {
		return nil
	}
	if err := s.resume(); err != nil {
		return err
	}
	defer s.forget()
	return s.running.end(s.orderly(), stopWithin)
}

// quit ends a server whose data nobody will need.
func (s *server) quit() error {
	if s.running == nil {
		return nil
	}
	if err := s.resume(); err != nil {
		return err
	}
	defer s.forget()
	return s.running.end(s.abrupt(), stopWithin)
}

// kill ends the server at once, as a crash would: all its processes, in the middle of whatever they
// do.
func (s *server) kill() error {
	if s.running == nil {
		return nil
	}
	defer s.forget()
	return s.running.kill()
}

func (s *server) forget() {
	s.running, s.frozen = nil, nil
	// It is not there unless the server was paused.
	_ = os.Remove(s.pausedFile())
}

// pause stops all the server's processes where they are: connections stay open and nothing answers.
func (s *server) pause() error {
	if s.running == nil || s.frozen != nil {
		return nil
	}
	s.frozen = s.running.freeze()
	var list strings.Builder
	for _, pid := range s.frozen {
		fmt.Fprintln(&list, pid)
	}
	if err := os.WriteFile(s.pausedFile(), []byte(list.String()), 0o644); err != nil {
		return fmt.Errorf("dbtest: %w", err)
	}
	return nil
}

// resume lets a paused server go on.
func (s *server) resume() error {
	for _, pid := range s.frozen {
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
	s.frozen = nil
	if err := os.Remove(s.pausedFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("dbtest: %w", err)
	}
	return nil
}

func (s *server) log() string        { return filepath.Join(s.dir, "log") }
func (s *server) data() string       { return filepath.Join(s.dir, "data") }
func (s *server) pausedFile() string { return filepath.Join(s.dir, "paused") }

// lastWords returns the end of the server's log.
func (s *server) lastWords() string {
	text, err := os.ReadFile(s.log())
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text[max(0, len(text)-logTail):]))
}

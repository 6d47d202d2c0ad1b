package dbtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// startWithin is how long a server may take until it answers; after a crash PostgreSQL first replays its log.
	startWithin = 60 * time.Second

	// pingWithin is how long one attempt to reach a starting server may take.
	pingWithin = 2 * time.Second

	// startTries is how many ports are tried: another program may take a free port before the server does.
	startTries = 5

	// connectionsMax leaves room for many pools of parallel tests beside each other.
	connectionsMax = 300

	// logTail is how many bytes of a server's log are shown when it does not start.
	logTail = 2000
)

// server is one private PostgreSQL or Redis: a folder with its data and log, a port, and its process while it runs.
type server struct {
	name    string // "PostgreSQL" or "Redis"
	dir     string
	port    int
	account *syscall.Credential
	argv    func(*server) []string
	ping    func(context.Context, *server) error
	orderly syscall.Signal // asks for an orderly stop that keeps everything
	abrupt  syscall.Signal // ends it and its children at once

	running *process
	frozen  []int // the paused processes
}

// newPostgres returns a PostgreSQL in dir whose data folder, dir/data, is made by makeCluster or copied from one.
func newPostgres(dir string) (*server, error) {
	programs, err := postgresPrograms()
	if err != nil {
		return nil, err
	}
	account, err := serverAccount()
	if err != nil {
		return nil, err
	}
	if err := giveTo(account, dir); err != nil {
		return nil, err
	}
	return &server{
		name: "PostgreSQL", dir: dir, account: account,
		orderly: syscall.SIGINT, abrupt: syscall.SIGQUIT,
		argv: func(s *server) []string {
			argv := []string{filepath.Join(programs, "postgres"), "-D", filepath.Join(s.dir, "data")}
			for _, setting := range []string{
				"listen_addresses=127.0.0.1",
				"port=" + strconv.Itoa(s.port),
				// The path of a socket may have a hundred bytes at most, which a deep checkout exceeds: loopback will do.
				"unix_socket_directories=",
				"max_connections=" + strconv.Itoa(connectionsMax),
				"fsync=on",
				"synchronous_commit=on",
				"timezone=UTC",
				"log_timezone=UTC",
			} {
				argv = append(argv, "-c", setting)
			}
			return argv
		},
		ping: pingPostgres,
	}, nil
}

// newRedis returns a Redis in dir that writes every command to disk before it answers.
func newRedis(dir string) (*server, error) {
	program, err := redisProgram()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o700); err != nil {
		return nil, fmt.Errorf("dbtest: %w", err)
	}
	return &server{
		name: "Redis", dir: dir,
		orderly: syscall.SIGTERM, abrupt: syscall.SIGKILL,
		argv: func(s *server) []string {
			return []string{
				program, "--port", strconv.Itoa(s.port), "--bind", "127.0.0.1",
				"--dir", filepath.Join(s.dir, "data"),
				"--appendonly", "yes", "--appendfsync", "always", "--save", "",
			}
		},
		ping: pingRedis,
	}, nil
}

// makeCluster fills dir/data with an empty PostgreSQL cluster. A cluster that is thrown away need not be synced to disk.
func (s *server) makeCluster(throwAway bool) error {
	programs, err := postgresPrograms()
	if err != nil {
		return err
	}
	argv := []string{
		filepath.Join(programs, "initdb"), "-D", filepath.Join(s.dir, "data"),
		"--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8",
	}
	if throwAway {
		argv = append(argv, "--no-sync")
	}
	return command{argv: argv, dir: s.dir, account: s.account}.finish()
}

// databaseURL is the address of one of a PostgreSQL server's databases.
func (s *server) databaseURL(database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s?sslmode=disable", s.port, database)
}

// redisURL is the address of a Redis server.
func (s *server) redisURL() string {
	return fmt.Sprintf("redis://127.0.0.1:%d/0", s.port)
}

// start starts the server and waits until it answers: on the port that it had, or on a free one when it has none yet.
// A guarded server ends when this program does; then the folder remove is removed too, unless it is "".
func (s *server) start(guarded bool, end syscall.Signal, remove string) error {
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
			return fmt.Errorf("dbtest: %s ended while it started:\n%s", s.name, s.lastWords())
		}
		ctx, cancel := context.WithTimeout(context.Background(), pingWithin)
		err := s.ping(ctx, s)
		cancel()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			s.running = nil
			return errors.Join(fmt.Errorf("dbtest: %s does not answer (%w):\n%s", s.name, err, s.lastWords()), process.kill())
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
	return s.running.end(s.orderly, stopWithin)
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
	return s.running.end(s.abrupt, stopWithin)
}

// kill ends the server at once, as a crash would: all its processes, in the middle of whatever they do.
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
func (s *server) pausedFile() string { return filepath.Join(s.dir, "paused") }

// lastWords returns the end of the server's log.
func (s *server) lastWords() string {
	text, err := os.ReadFile(s.log())
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text[max(0, len(text)-logTail):]))
}

func pingPostgres(ctx context.Context, s *server) error {
	conn, err := pgx.Connect(ctx, s.databaseURL("postgres"))
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// pingRedis speaks the two lines itself: a client with its pool would be a lot for one word. A Redis that is still
// reading its data answers with an error.
func pingRedis(ctx context.Context, s *server) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)))
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(pingWithin)); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, "PING\r\n"); err != nil {
		return err
	}
	const pong = "+PONG\r\n"
	answer := make([]byte, len(pong))
	if _, err := io.ReadFull(conn, answer); err != nil {
		return err
	}
	if string(answer) != pong {
		return fmt.Errorf("dbtest: Redis answered %q", answer)
	}
	return nil
}

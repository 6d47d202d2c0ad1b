package dbtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// houseDatabase is the database of a developer's house.
const houseDatabase = "martelo"

// House is the PostgreSQL and Redis of a developer's machine. They keep their data, and their ports
// as long as nobody else takes those. A service whose address is given by DATABASE_URL or REDIS_URL
// is used as it is: the house neither starts nor stops it.
type House struct {
	dir      string
	services []*service
}

// service is one of a house's two services.
type service struct {
	*server
	program  string // what Get calls it
	variable string // the setting that holds its address
	given    string // the address that somebody set already
	address  func() string
	started  bool // by this program
}

// Status tells about one service of a house.
type Status struct {
	Name     string // "PostgreSQL" or "Redis"
	Variable string // the setting that holds its address
	Address  string // "" when it does not run
	Given    bool   // the address was set by somebody else
}

// OpenHouse finds the house of the checkout that the working directory belongs to, whether it runs
// or not.
func OpenHouse() (*House, error) {
	dir, err := home("dev")
	if err != nil {
		return nil, err
	}
	postgres, redis := newPostgres(filepath.Join(dir, "postgres")), newRedis(filepath.Join(dir, "redis"))
	h := &House{dir: dir, services: []*service{
		{
			server: postgres, program: "postgresql", variable: "DATABASE_URL", given: os.Getenv("DATABASE_URL"),
			address: func() string { return postgres.databaseURL(houseDatabase) },
		},
		{
			server: redis, program: "redis-server", variable: "REDIS_URL", given: os.Getenv("REDIS_URL"),
			address: redis.redisURL,
		},
	}}
	for _, s := range h.services {
		s.attach()
	}
	return h, nil
}

// Start starts what does not run yet and returns when it answers. With untilExit, what it started
// ends with this program, however that ends; without, it stays until Stop.
func (h *House) Start(untilExit bool) error {
	return withLock(filepath.Join(h.dir, "lock"), syscall.LOCK_EX, func() error {
		var missing []*service
		var programs []string
		for _, s := range h.services {
			if s.attach(); s.running == nil && s.given == "" {
				missing = append(missing, s)
				programs = append(programs, s.program)
			}
		}
		// All at once: who must install them by hand wants to hear it once.
		if err := Get(programs...); err != nil {
			return err
		}
		for _, s := range missing {
			if err := s.begin(untilExit); err != nil {
				return errors.Join(err, h.StopStarted())
			}
		}
		return nil
	})
}

// Stop stops all services of the house in an orderly way, whoever started them.
func (h *House) Stop() error {
	var failed error
	for _, s := range h.services {
		failed = errors.Join(failed, s.stop())
	}
	return failed
}

// StopStarted stops in an orderly way what Start started.
func (h *House) StopStarted() error {
	var failed error
	for _, s := range h.services {
		if s.started {
			failed = errors.Join(failed, s.stop())
		}
	}
	return failed
}

// Remove stops the house and removes it with all its data, and what tests have left for the next
// ones.
func (h *House) Remove() error {
	if err := h.Stop(); err != nil {
		return err
	}
	tests, err := home("test")
	if err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(h.dir), os.RemoveAll(tests))
}

// Status tells about each service.
func (h *House) Status() []Status {
	var list []Status
	for _, s := range h.services {
		status := Status{Name: s.name(), Variable: s.variable, Address: s.given, Given: s.given != ""}
		if !status.Given && s.running != nil {
			status.Address = s.address()
		}
		list = append(list, status)
	}
	return list
}

// begin starts the service on the port that it had before, if nobody else has taken that, and
// remembers where it is.
func (s *service) begin(untilExit bool) error {
	if err := s.prepare(s.server); err != nil {
		return err
	}
	_, isPostgres := s.kind.(postgres)
	if _, err := os.Stat(s.data()); isPostgres && errors.Is(err, os.ErrNotExist) {
		if err := s.makeCluster(false); err != nil {
			return err
		}
	}
	if s.port != 0 && !portIsFree(s.port) {
		s.port = 0
	}
	if err := s.start(untilExit, s.orderly(), ""); err != nil {
		return err
	}
	s.started = true
	if isPostgres {
		if err := s.makeDatabase(); err != nil {
			return err
		}
	}
	return s.remember()
}

// makeDatabase makes the house's database unless it is there.
func (s *service) makeDatabase() error {
	ctx, cancel := context.WithTimeout(context.Background(), cloneWithin)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.databaseURL("postgres"))
	if err != nil {
		return fmt.Errorf("dbtest: %w", err)
	}
	var found bool
	err = conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", houseDatabase).Scan(&found)
	if err == nil && !found {
		_, err = conn.Exec(ctx, "CREATE DATABASE "+houseDatabase)
	}
	return errors.Join(err, conn.Close(ctx))
}

// remember writes down where a running server is, for attach.
func (s *server) remember() error {
	text := fmt.Sprintf("%d %d\n", s.port, s.running.pid)
	if err := os.WriteFile(s.placeFile(), []byte(text), 0o644); err != nil {
		return fmt.Errorf("dbtest: %w", err)
	}
	return nil
}

// attach finds the server again that an earlier program left running. What was remembered may be
// long over and the port somebody else's: only a server that names our data folder as its own is
// ours.
func (s *server) attach() {
	text, err := os.ReadFile(s.placeFile())
	if err != nil {
		return
	}
	port, pid, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	if s.port, err = strconv.Atoi(port); err != nil {
		s.port = 0
		return
	}
	id, err := strconv.Atoi(pid)
	if err != nil || s.running != nil || !alive(id) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), pingWithin)
	defer cancel()
	folder, err := s.folder(ctx, s)
	if err != nil {
		return
	}
	theirs, err := os.Stat(folder)
	if err != nil {
		return
	}
	if ours, err := os.Stat(s.data()); err == nil && os.SameFile(ours, theirs) {
		s.running = &process{pid: id}
	}
}

func (s *server) placeFile() string { return filepath.Join(s.dir, "place") }

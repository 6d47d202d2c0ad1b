package dbtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// connectionsMax leaves room for many pools of parallel tests beside each other.
const connectionsMax = 300

// postgres is the kind of server that the auctions are kept in.
type postgres struct{}

func newPostgres(dir string) *server { return &server{kind: postgres{}, dir: dir} }

func (postgres) name() string            { return "PostgreSQL" }
func (postgres) orderly() syscall.Signal { return syscall.SIGINT }
func (postgres) abrupt() syscall.Signal  { return syscall.SIGQUIT }

func (postgres) prepare(s *server) error {
	programs, err := postgresPrograms()
	if err != nil {
		return err
	}
	// Debian's package brings the account: look for it after the package is there.
	account, err := serverAccount()
	if err != nil {
		return err
	}
	s.programs, s.account = programs, account
	return giveTo(account, s.dir)
}

func (postgres) argv(s *server) []string {
	argv := []string{filepath.Join(s.programs, "postgres"), "-D", s.data()}
	for _, setting := range []string{
		"listen_addresses=127.0.0.1",
		"port=" + strconv.Itoa(s.port),
		// The path of a socket may have a hundred bytes at most, which a deep checkout exceeds:
		// loopback will do.
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
}

func (postgres) ping(ctx context.Context, s *server) error {
	conn, err := pgx.Connect(ctx, s.databaseURL("postgres"))
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

func (postgres) folder(ctx context.Context, s *server) (string, error) {
	conn, err := pgx.Connect(ctx, s.databaseURL("postgres"))
	if err != nil {
		return "", err
	}
	var folder string
	err = conn.QueryRow(ctx, "SHOW data_directory").Scan(&folder)
	return folder, errors.Join(err, conn.Close(ctx))
}

// databaseURL is the address of one of a PostgreSQL server's databases.
func (s *server) databaseURL(database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s?sslmode=disable", s.port, database)
}

// makeCluster gives a prepared PostgreSQL an empty cluster, which gets its name last: it is whole
// or not there. One that is thrown away need not be synced to disk.
func (s *server) makeCluster(throwAway bool) error {
	unfinished := s.data() + ".unfinished"
	if err := os.RemoveAll(unfinished); err != nil {
		return fmt.Errorf("dbtest: %w", err)
	}
	argv := []string{
		filepath.Join(s.programs, "initdb"), "-D", unfinished,
		"--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8",
	}
	if throwAway {
		argv = append(argv, "--no-sync")
	}
	if err := (command{argv: argv, dir: s.dir, account: s.account}).finish(); err != nil {
		return err
	}
	if err := os.Rename(unfinished, s.data()); err != nil {
		return fmt.Errorf("dbtest: %w", err)
	}
	return nil
}

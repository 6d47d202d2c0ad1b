package dbtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"martelo/db"
)

// seedDatabase is the migrated database in every test server: what tests' databases are cloned
// from, and what a throw-away server is used for.
const seedDatabase = "martelo"

// seedForm is part of a seed's name; another figure makes new seeds when the way of making them
// changes.
const seedForm = 1

// leftAfter is the age at which a throw-away folder is nobody's: no test program runs for a day.
const leftAfter = 24 * time.Hour

// own returns the PostgreSQL of this test program, which all its tests share. It is started for the
// first test that asks and has no other end than the program's: its guard stops it and removes its
// folder.
var own = sync.OnceValues(func() (*server, error) {
	server, err := throwAwayPostgres()
	if err != nil {
		return nil, err
	}
	return server, server.start(true, server.abrupt(), server.dir)
})

// throwAwayPostgres returns a PostgreSQL, not started yet, with the seed's data in a folder of its
// own.
func throwAwayPostgres() (*server, error) {
	base, err := home("test")
	if err != nil {
		return nil, err
	}
	dir, err := throwAwayFolder(base)
	if err != nil {
		return nil, err
	}
	server := newPostgres(dir)
	if err := server.prepare(server); err != nil {
		return nil, err
	}
	name, err := seedName()
	if err != nil {
		return nil, err
	}
	lock := filepath.Join(base, "lock")
	seed := filepath.Join(base, name)
	for {
		copied := false
		err := withLock(lock, syscall.LOCK_SH, func() error {
			if _, err := os.Stat(seed); errors.Is(err, os.ErrNotExist) {
				return nil
			} else if err != nil {
				return err
			}
			copied = true
			return command{
				argv: []string{"cp", "-a", filepath.Join(seed, "data"), server.data()}, dir: dir,
				account: server.account,
			}.finish()
		})
		if err != nil || copied {
			return server, err
		}
		if err := withLock(lock, syscall.LOCK_EX, func() error { return makeSeed(base, seed) }); err != nil {
			return nil, err
		}
	}
}

// throwAwayFolder makes a folder for one server. A test program that dies before its server has a
// guard leaves one behind: those are removed once they cannot be in use any more.
func throwAwayFolder(base string) (string, error) {
	left, err := filepath.Glob(filepath.Join(base, "run-*"))
	if err != nil {
		return "", fmt.Errorf("dbtest: %w", err)
	}
	for _, dir := range left {
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > leftAfter {
			// Another test program may be removing it too.
			_ = os.RemoveAll(dir)
		}
	}
	dir, err := os.MkdirTemp(base, "run-")
	if err != nil {
		return "", fmt.Errorf("dbtest: %w", err)
	}
	return dir, nil
}

// seedName tells apart the seeds of different schemas and of different releases of PostgreSQL.
var seedName = sync.OnceValues(func() (string, error) {
	programs, err := postgresPrograms()
	if err != nil {
		return "", err
	}
	version, err := exec.Command(filepath.Join(programs, "postgres"), "--version").Output()
	if err != nil {
		return "", fmt.Errorf("dbtest: postgres --version: %w", err)
	}
	hash := sha256.Sum256(fmt.Appendf(nil, "%d %s %s", seedForm, version, migrationsHash()))
	return "seed-" + hex.EncodeToString(hash[:6]), nil
})

// makeSeed makes a cluster with the migrated database once, so that every test program starts by
// copying files, which takes a fraction of the time. The caller holds the lock alone. The seed gets
// its name last: it is whole or not there.
func makeSeed(base, seed string) error {
	if _, err := os.Stat(seed); err == nil {
		return nil // another test program was faster
	}
	old, err := filepath.Glob(filepath.Join(base, "seed-*"))
	if err != nil {
		return err
	}
	for _, dir := range old {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("dbtest: %w", err)
		}
	}
	unfinished := seed + ".unfinished"
	server := newPostgres(unfinished)
	if err := server.prepare(server); err != nil {
		return err
	}
	if err := server.makeCluster(true); err != nil {
		return err
	}
	if err := server.start(true, server.abrupt(), unfinished); err != nil {
		return err
	}
	if err := errors.Join(fillSeed(server), server.stop()); err != nil {
		return err
	}
	return os.Rename(unfinished, seed)
}

func fillSeed(server *server) error {
	ctx, cancel := context.WithTimeout(context.Background(), cloneWithin)
	defer cancel()
	address := server.databaseURL(seedDatabase)
	if err := execute(ctx, server.databaseURL("postgres"), "CREATE DATABASE "+seedDatabase); err != nil {
		return err
	}
	if _, err := db.Migrate(ctx, address, nil); err != nil {
		return err
	}
	return spreadIDs(ctx, address, 0)
}

// Command bench is the load tool: it puts loads on a house through real HTTP, verifies what became
// of the bids, and compares the house's way of taking bids with others in the same run. What it
// finds is in docs/performance.md.
//
// Everything happens in a database of its own, which is made for the run and dropped after it.
// Nodes are the server's own program, martelo serve.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
)

// setup is what a run is given by its surroundings.
type setup struct {
	databaseURL, redisURL string
	program               string // what --program says unless it is given
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	given := setup{
		databaseURL: os.Getenv("DATABASE_URL"), redisURL: os.Getenv("REDIS_URL"), program: os.Getenv("MARTELO_PROGRAM"),
	}
	if err := run(ctx, given, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run runs the scenario that args begin with and writes its table to out. It leaves nothing behind
// but the files it was asked for, also when ctx ends; then it returns ctx's error.
func run(ctx context.Context, given setup, args []string, out io.Writer) error {
	name := ""
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	switch name {
	case "", "help", "-h", "-help", "--help":
		return help(args, out)
	}
	s, err := scenarioNamed(name)
	if err != nil {
		return err
	}
	if asksForHelp(args) {
		return help([]string{name}, out)
	}
	o, err := s.options(args)
	if err != nil {
		return err
	}
	if given.databaseURL == "" {
		return errors.New("bench: DATABASE_URL is not set; it says where to find PostgreSQL, " +
			"as in postgres://user@host:5432/martelo")
	}
	if s.nodes && len(o.urls) == 0 {
		if given.redisURL == "" {
			return errors.New("bench: REDIS_URL is not set; it says where to find Redis, as in redis://host:6379/0")
		}
		if o.program, err = find(o.program, given.program); err != nil {
			return err
		}
	}
	return s.measure(ctx, given, o, args, out)
}

// find finds the server's program: the one that was asked for, the environment's, or the one that
// was built beside this one.
func find(asked, environment string) (string, error) {
	for _, name := range []string{asked, environment} {
		if name == "" {
			continue
		}
		path, err := exec.LookPath(name)
		if err != nil {
			return "", fmt.Errorf("bench: the server's program: %w", err)
		}
		return path, nil
	}
	if own, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(own), "martelo")
		if _, err := os.Stat(beside); err == nil {
			return beside, nil
		}
	}
	return "", errors.New("bench: there is no martelo beside this program to run nodes with: " +
		"build it with \"go build -o martelo ./app\" and say where it is, with --program or MARTELO_PROGRAM")
}

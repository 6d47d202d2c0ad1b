// Localhouse runs the private PostgreSQL and Redis of a developer's machine; see package dbtest.
//
//	localhouse get PROGRAM…     install programs that are missing: postgresql redis-server chromium gcc
//	localhouse up               start the services and leave them running
//	localhouse down             stop them
//	localhouse status           say which of them run
//	localhouse env              print their addresses as a shell reads them: eval "$(localhouse env)"
//	localhouse clean            stop them and remove their data
//	localhouse run COMMAND…     start what does not run, run the command with DATABASE_URL and
//	                            REDIS_URL set, stop what was started
//
// Services whose address is set in DATABASE_URL or REDIS_URL already are used as they are.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"martelo/db/dbtest"
)

const (
	usage = "usage: localhouse get PROGRAM… | up | down | status | env | clean | run COMMAND…"

	// parentEvery is how often run looks whether the program that called it is still there.
	parentEvery = time.Second

	// endWithin is how long the command may take to end once it is told to: martelo leaves within
	// 10 seconds.
	endWithin = 15 * time.Second

	// exitSignalled is what a shell adds to the number of the signal that ended a command.
	exitSignalled = 128

	// exitUsage is the customary exit code for a command line that is not understood.
	exitUsage = 2
)

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// run carries out the command line and returns the exit code.
func run(arguments []string) (int, error) {
	if len(arguments) == 0 {
		return exitUsage, errors.New(usage)
	}
	verb, rest := arguments[0], arguments[1:]
	if verb == "get" {
		return result(dbtest.Get(rest...))
	}
	house, err := dbtest.OpenHouse()
	if err != nil {
		return result(err)
	}
	switch {
	case verb == "up" && len(rest) == 0:
		if err := house.Start(false); err != nil {
			return result(err)
		}
		printStatus(house)
		return 0, nil
	case verb == "down" && len(rest) == 0:
		return result(house.Stop())
	case verb == "clean" && len(rest) == 0:
		return result(house.Remove())
	case verb == "status" && len(rest) == 0:
		printStatus(house)
		return 0, nil
	case verb == "env" && len(rest) == 0:
		return result(printEnvironment(house))
	case verb == "run" && len(rest) > 0:
		return runWith(house, rest)
	}
	return exitUsage, errors.New(usage)
}

func result(err error) (int, error) {
	if err != nil {
		return 1, err
	}
	return 0, nil
}

func printStatus(house *dbtest.House) {
	for _, service := range house.Status() {
		switch {
		case service.Given:
			fmt.Printf("%-10s  %s is set and used\n", service.Name, service.Variable)
		case service.Address == "":
			fmt.Printf("%-10s  does not run\n", service.Name)
		default:
			fmt.Printf("%-10s  %s=%s\n", service.Name, service.Variable, service.Address)
		}
	}
}

func printEnvironment(house *dbtest.House) error {
	for _, service := range house.Status() {
		if service.Given {
			continue
		}
		if service.Address == "" {
			return fmt.Errorf(
				"localhouse: %s does not run; ./task dev or ./task services:start starts it", service.Name,
			)
		}
		fmt.Printf("export %s='%s'\n", service.Variable, service.Address)
	}
	return nil
}

// runWith runs the command while the house is open. It ends the command, and then what it started,
// when it is told to stop or when the program that called it is gone.
func runWith(house *dbtest.House, argv []string) (code int, err error) {
	// Before anything is started, so that nothing stays behind.
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	parent := os.Getppid()
	if err := house.Start(true); err != nil {
		return result(err)
	}
	defer func() {
		if failed := house.StopStarted(); failed != nil {
			code, err = max(code, 1), errors.Join(err, failed)
		}
	}()
	command := exec.Command(argv[0], argv[1:]...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	// In a group of its own the command hears of a Ctrl-C once, from us, and not from the terminal
	// too.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Env = os.Environ()
	for _, service := range house.Status() {
		command.Env = append(command.Env, service.Variable+"="+service.Address)
	}
	if err := command.Start(); err != nil {
		return result(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	look := time.NewTicker(parentEvery)
	defer look.Stop()
	for waiting := true; waiting; {
		select {
		case err := <-ended:
			return exitCode(command.ProcessState, err)
		case <-stop:
			waiting = false
		case <-look.C:
			waiting = os.Getppid() == parent
		}
	}
	// Errors say that it has ended by itself meanwhile.
	_ = syscall.Kill(-command.Process.Pid, syscall.SIGTERM)
	select {
	case err = <-ended:
	case <-time.After(endWithin):
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		err = <-ended
	}
	return exitCode(command.ProcessState, err)
}

// exitCode is the command's exit code as a shell would give it.
func exitCode(state *os.ProcessState, err error) (int, error) {
	if _, ordinary := errors.AsType[*exec.ExitError](err); err != nil && !ordinary {
		return result(err)
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitSignalled + int(status.Signal()), nil
	}
	return state.ExitCode(), nil
}

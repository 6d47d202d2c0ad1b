package dbtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// pollEvery is how often a server that starts or ends is looked at.
	pollEvery = 2 * time.Millisecond

	// stopWithin is how long a server may take over an orderly stop before it is killed: PostgreSQL
	// writes a checkpoint.
	stopWithin = 30 * time.Second

	// goneWithin is how long killed processes may take to disappear.
	goneWithin = 10 * time.Second
)

// guardScript is the shell process that ends a server when this program ends without doing so: its
// standard input is a pipe that only this program holds, which the kernel closes with it. (A
// parent-death signal would be shorter, but it is bound to a thread and not to the process, and
// does not reach servers that are paused.) Arguments: the server's process id, the signal that ends
// it, the file listing paused processes, a folder to remove or "".
const guardScript = `
read -r word || word=died
[ "$word" = done ] && exit 0
[ -f "$3" ] && kill -KILL $(cat "$3")
kill "-$2" "$1"
# Where nobody collects orphans, an ended process stays as a zombie.
runs() { kill -0 "$1" && ! grep -q '^State:.Z' "/proc/$1/status"; }
n=0
while runs "$1" && [ "$n" -lt 600 ]; do sleep 0.05; n=$((n + 1)); done
kill -KILL "$1"
[ -z "$4" ] || rm -rf -- "$4"
`

// process is one server process and, unless it is to outlive this program, the guard that ends it.
type process struct {
	pid       int
	guard     *exec.Cmd
	guardPipe *os.File
}

// command says how a server is started.
type command struct {
	argv    []string
	dir     string // the working directory
	log     string // the file that its output is added to
	account *syscall.Credential
}

// run starts the command apart from this program's terminal, so that Ctrl-C reaches it only through
// us.
func (c command) run() (*process, error) {
	log, err := os.OpenFile(c.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("dbtest: %w", err)
	}
	defer log.Close()
	cmd := c.prepare()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("dbtest: start %s: %w", c.argv[0], err)
	}
	pid := cmd.Process.Pid
	// Its end is noticed by asking, in alive: no goroutine is left behind that a leak test would
	// find.
	if err := cmd.Process.Release(); err != nil {
		return nil, fmt.Errorf("dbtest: start %s: %w", c.argv[0], err)
	}
	return &process{pid: pid}, nil
}

// finish runs the command to its end; its output is part of the error.
func (c command) finish() error {
	output, err := c.prepare().CombinedOutput()
	if err != nil {
		return fmt.Errorf("dbtest: %s: %w\n%s", filepath.Base(c.argv[0]), err, bytes.TrimSpace(output))
	}
	return nil
}

func (c command) prepare() *exec.Cmd {
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Dir = c.dir
	// The caller's PGPORT, PGDATA, LC_ALL … are not for this server.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir, "LC_ALL=C.UTF-8", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: c.account}
	return cmd
}

// watch starts the guard. It sends end to the process and removes the folder (unless it is "") once
// this program is gone.
func (p *process) watch(end syscall.Signal, paused, remove string) error {
	read, write, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("dbtest: %w", err)
	}
	defer read.Close()
	guard := exec.Command("/bin/sh", "-c", guardScript, "guard",
		strconv.Itoa(p.pid), strconv.Itoa(int(end)), paused, remove)
	guard.Stdin = read
	guard.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := guard.Start(); err != nil {
		return errors.Join(fmt.Errorf("dbtest: guard: %w", err), write.Close())
	}
	p.guard, p.guardPipe = guard, write
	return nil
}

// dismiss ends the guard of a process that has ended.
func (p *process) dismiss() {
	if p.guard == nil {
		return
	}
	// A guard that is gone already cannot be told, and need not be.
	_, _ = p.guardPipe.WriteString("done\n")
	_ = p.guardPipe.Close()
	_ = p.guard.Wait()
	p.guard = nil
}

// end sends the signal, waits until the process is gone, and kills it when that takes longer than
// it may. A kill takes its children too: a Redis that is killed leaves one behind that still
// writes, if it was just rewriting its log.
func (p *process) end(signal syscall.Signal, within time.Duration) error {
	if signal == syscall.SIGKILL {
		return p.kill()
	}
	defer p.dismiss()
	_ = syscall.Kill(p.pid, signal)
	if gone(p.pid, within) {
		return nil
	}
	return p.kill()
}

// kill ends the process and all its children at once: nothing of it can still write when kill
// returns.
func (p *process) kill() error {
	defer p.dismiss()
	family := p.freeze()
	for _, pid := range family {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	for _, pid := range family {
		if !gone(pid, goneWithin) {
			return fmt.Errorf("dbtest: process %d does not end", pid)
		}
	}
	return nil
}

// freeze stops the process, so that it starts no more children, then the children; it returns all
// their ids, the parent's first. (PostgreSQL's children are each in a session of their own:
// signalling a group does not reach them.)
func (p *process) freeze() []int {
	_ = syscall.Kill(p.pid, syscall.SIGSTOP)
	family := append([]int{p.pid}, children(p.pid)...)
	for _, pid := range family {
		_ = syscall.Kill(pid, syscall.SIGSTOP)
	}
	return family
}

// children lists the processes whose parent is pid.
func children(pid int) []int {
	// /proc is Linux's; elsewhere the list is empty, and a database's children end by themselves
	// when they miss their parent.
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	var found []int
	for _, file := range files {
		state, parent, err := readStat(file)
		if err != nil || parent != pid || state == "Z" {
			continue
		}
		if child, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			found = append(found, child)
		}
	}
	return found
}

// readStat reads a process's state letter and parent from its /proc stat file.
func readStat(file string) (state string, parent int, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", 0, err
	}
	// The second field is the program's name in parentheses, in which anything may stand.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 2 {
		return "", 0, fmt.Errorf("dbtest: %s is cut short", file)
	}
	parent, err = strconv.Atoi(fields[1])
	return fields[0], parent, err
}

// alive reports whether the process runs; a child of ours that has ended is laid to rest.
func alive(pid int) bool {
	if reaped, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil); err == nil {
		return reaped == 0
	}
	if err := syscall.Kill(pid, 0); err != nil {
		return errors.Is(err, syscall.EPERM)
	}
	// Not a child of ours. Where nobody collects orphans, an ended one stays as a zombie.
	state, _, err := readStat(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || state != "Z"
}

// gone waits until the process has ended, at most so long.
func gone(pid int, within time.Duration) bool {
	for deadline := time.Now().Add(within); alive(pid); time.Sleep(pollEvery) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

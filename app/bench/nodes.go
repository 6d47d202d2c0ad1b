package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// startWithin is how long a node may take to serve, and leaveWithin to leave; the house's own bound is ten seconds.
	startWithin, leaveWithin = 30 * time.Second, 15 * time.Second
	// lookAgain is the pause between two looks at a node's log or at a table.
	lookAgain = 20 * time.Millisecond
)

// node is a running martelo serve, one of this program's or one that was given.
type node struct {
	address string // host:port
	profile string // where its profiles are, "" without
	cmd     *exec.Cmd
	log     *os.File
	left    chan error
}

// house is what nodes are started with.
type house struct {
	program, databaseURL, redisURL string
	folder                         string   // for their logs
	more                           []string // of their environment
	profiled                       bool
}

// start starts a node and returns when it serves. It writes its log to a file, as in real life; nobody reads along.
func (h house) start(ctx context.Context, number int) (*node, error) {
	log, err := os.Create(filepath.Join(h.folder, fmt.Sprintf("node%d.log", number)))
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	n := &node{cmd: exec.Command(h.program, "serve"), log: log, left: make(chan error, 1)}
	n.cmd.Env = append(os.Environ(), "DATABASE_URL="+h.databaseURL, "REDIS_URL="+h.redisURL, "LISTEN_ADDR=127.0.0.1:0", "LOG_FORMAT=json",
		"LOG_LEVEL=info", "KAFKA_BROKERS=")
	if h.profiled {
		n.cmd.Env = append(n.cmd.Env, "MARTELO_PPROF=127.0.0.1:0")
	}
	n.cmd.Env = append(n.cmd.Env, h.more...)
	n.cmd.Stderr = log
	apart(n.cmd)
	if err := n.cmd.Start(); err != nil {
		log.Close()
		return nil, fmt.Errorf("bench: %w", err)
	}
	go func() { n.left <- n.cmd.Wait() }()
	for deadline := time.Now().Add(startWithin); ; {
		if n.address = n.announced("serving"); n.address != "" {
			n.profile = n.announced("profiling")
			return n, nil
		}
		select {
		case err := <-n.left:
			text, _ := os.ReadFile(log.Name())
			return nil, fmt.Errorf("bench: a node ended at its start: %v\n%s", err, text)
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), n.stop())
		case <-time.After(lookAgain):
		}
		if time.Now().After(deadline) {
			return nil, errors.Join(fmt.Errorf("bench: a node does not serve within %s", startWithin), n.stop())
		}
	}
}

// announced finds the address that a line of the node's log names.
func (n *node) announced(message string) string {
	file, err := os.Open(n.log.Name())
	if err != nil {
		return ""
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var line struct{ Msg, Address string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == message {
			return line.Address
		}
	}
	return ""
}

// stop ends a node that was started here, in good order if it can.
func (n *node) stop() error {
	if n.cmd == nil {
		return nil
	}
	defer n.log.Close()
	_ = n.cmd.Process.Signal(syscall.SIGTERM) // when it has ended already, left says so
	select {
	case err := <-n.left:
		return err
	case <-time.After(leaveWithin):
		_ = n.cmd.Process.Kill()
		<-n.left
		return fmt.Errorf("bench: a node did not leave within %s and was killed", leaveWithin)
	}
}

// givenNode is a node that runs already.
func givenNode(address string) (*node, error) {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme != "http" || parsed.Port() == "" {
		return nil, fmt.Errorf("bench: --url takes an address such as http://127.0.0.1:8080, not %q", address)
	}
	return &node{address: parsed.Host}, nil
}

func (n *node) get(ctx context.Context, address, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}

// figure reads one of the node's own figures, summed over its labels; 0 when it cannot be read.
func (n *node) figure(ctx context.Context, name string) (sum float64) {
	text, err := n.get(ctx, n.address, "/metrics")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		rest, found := strings.CutPrefix(line, name)
		if !found || rest == "" || rest[0] != ' ' && rest[0] != '{' {
			continue
		}
		fields := strings.Fields(rest)
		value, _ := strconv.ParseFloat(fields[len(fields)-1], 64)
		sum += value
	}
	return sum
}

// collect has the node collect its garbage, and tells whether it lets itself be told.
func (n *node) collect(ctx context.Context) bool {
	if n.profile == "" {
		return false
	}
	_, err := n.get(ctx, n.profile, "/debug/pprof/heap?gc=1")
	return err == nil
}

// profileFor has the node profile itself for a time and keeps the profile in a file.
func (n *node) profileFor(ctx context.Context, span time.Duration, file string) error {
	if n.profile == "" {
		return errors.New("bench: the node does not offer profiles: start it with MARTELO_PPROF=127.0.0.1:6060")
	}
	profile, err := n.get(ctx, n.profile, fmt.Sprintf("/debug/pprof/profile?seconds=%d", max(1, int(span.Seconds()))))
	if err != nil {
		return fmt.Errorf("bench: profile: %w", err)
	}
	return os.WriteFile(file, profile, 0o600)
}

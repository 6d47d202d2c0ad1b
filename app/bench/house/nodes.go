package house

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

// startWithin is how long a node may take to serve, and leaveWithin to leave; the house's own
// bound is ten seconds.
const startWithin, leaveWithin = 30 * time.Second, 15 * time.Second

// errEnded says that a node does not even start.
var errEnded = errors.New("bench: a node ended at its start")

// Node is a running martelo serve, one that was started here or one that was given.
type Node struct {
	Address string // host:port
	profile string // where its profiles are, "" without
	name    string // what its connections to PostgreSQL are called, "" when that is not known
	cmd     *exec.Cmd
	log     *os.File
	left    chan error
}

// Start is what nodes are started with.
type Start struct {
	Program, RedisURL string
	Nodes             int
	Profiled          bool     // they offer profiles
	More              []string // of their environment
}

// Start starts nodes and returns when they serve.
func (h *House) Start(ctx context.Context, s Start) error {
	for range s.Nodes {
		n, err := h.startNode(ctx, s)
		if err != nil {
			return err
		}
		h.Nodes = append(h.Nodes, n)
	}
	return nil
}

// Join takes nodes that run already, by addresses such as http://127.0.0.1:8080.
func (h *House) Join(addresses []string) error {
	for _, address := range addresses {
		parsed, err := url.Parse(address)
		if err != nil || parsed.Scheme != "http" || parsed.Port() == "" {
			return fmt.Errorf("bench: --url takes an address such as http://127.0.0.1:8080, not %q", address)
		}
		h.Nodes = append(h.Nodes, &Node{Address: parsed.Host})
	}
	return nil
}

// Targets are the nodes' addresses as host:port.
func (h *House) Targets() (addresses []string) {
	for _, n := range h.Nodes {
		addresses = append(addresses, n.Address)
	}
	return addresses
}

// startNode starts a node and returns when it serves. It writes its log to a file, as in real life;
// nobody reads along.
func (h *House) startNode(ctx context.Context, s Start) (*Node, error) {
	name := fmt.Sprintf("martelo-node-%d", len(h.Nodes)+1)
	databaseURL, err := Named(h.DatabaseURL, name)
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(h.folder, name+".log"))
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	n := &Node{name: name, cmd: exec.Command(s.Program, "serve"), log: log, left: make(chan error, 1)}
	n.cmd.Env = append(os.Environ(), "DATABASE_URL="+databaseURL, "REDIS_URL="+s.RedisURL, "LISTEN_ADDR=127.0.0.1:0",
		"LOG_FORMAT=json", "LOG_LEVEL=info", "KAFKA_BROKERS=")
	if s.Profiled {
		n.cmd.Env = append(n.cmd.Env, "MARTELO_PPROF=127.0.0.1:0")
	}
	n.cmd.Env = append(n.cmd.Env, s.More...)
	n.cmd.Stderr = log
	apart(n.cmd)
	if err := n.cmd.Start(); err != nil {
		log.Close()
		return nil, fmt.Errorf("bench: %w", err)
	}
	go func() { n.left <- n.cmd.Wait() }()
	if err := n.serving(ctx); err != nil {
		return nil, err
	}
	return n, nil
}

// Named gives connections a name, by which PostgreSQL tells the nodes apart.
func Named(databaseURL, name string) (string, error) {
	address, err := url.Parse(databaseURL)
	if err != nil {
		return "", errors.New("bench: DATABASE_URL is not a URL")
	}
	query := address.Query()
	query.Set("application_name", name)
	address.RawQuery = query.Encode()
	return address.String(), nil
}

// serving waits until a node says in its log that it serves.
func (n *Node) serving(ctx context.Context) error {
	for deadline := time.Now().Add(startWithin); ; {
		if n.Address = n.announced("serving"); n.Address != "" {
			n.profile = n.announced("profiling")
			return nil
		}
		select {
		case err := <-n.left:
			text, _ := os.ReadFile(n.log.Name())
			return fmt.Errorf("%w\n%s", errors.Join(errEnded, err), text)
		case <-ctx.Done():
			return errors.Join(ctx.Err(), n.stop())
		case <-time.After(LookAgain):
		}
		if time.Now().After(deadline) {
			return errors.Join(fmt.Errorf("bench: a node does not serve within %s", startWithin), n.stop())
		}
	}
}

// announced finds the address that a line of the node's log names.
func (n *Node) announced(message string) string {
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
func (n *Node) stop() error {
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

func get(ctx context.Context, address, path string) ([]byte, error) {
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

// Figures are the node's own figures by name, each summed over its labels. A node that does not
// answer has none.
func (n *Node) Figures(ctx context.Context) map[string]float64 {
	text, err := get(ctx, n.Address, "/metrics")
	if err != nil {
		return nil
	}
	figures := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] == "#" {
			continue
		}
		name, _, _ := strings.Cut(fields[0], "{")
		value, _ := strconv.ParseFloat(fields[len(fields)-1], 64)
		figures[name] += value
	}
	return figures
}

// Collect has the node collect its garbage, and tells whether it lets itself be told.
func (n *Node) Collect(ctx context.Context) bool {
	if n.profile == "" {
		return false
	}
	_, err := get(ctx, n.profile, "/debug/pprof/heap?gc=1")
	return err == nil
}

// Resident is the memory the node has resident, in bytes, or 0 when that is not known.
func (n *Node) Resident() int64 {
	_, resident := n.process()
	return resident
}

// Profile has the node profile itself for a time and keeps the profile in a file.
func (n *Node) Profile(ctx context.Context, span time.Duration, file string) error {
	if n.profile == "" {
		return errors.New("bench: the node does not offer profiles: start it with MARTELO_PPROF=127.0.0.1:6060")
	}
	profile, err := get(ctx, n.profile, fmt.Sprintf("/debug/pprof/profile?seconds=%d", max(1, int(span.Seconds()))))
	if err != nil {
		return fmt.Errorf("bench: profile: %w", err)
	}
	return os.WriteFile(file, profile, 0o600)
}

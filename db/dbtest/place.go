package dbtest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

const (
	// Ports are taken below the range from which Linux gives ports to outgoing connections (32768
	// and up). A client that keeps dialling a killed server on a port inside that range can be
	// given the very same port, connect to itself, and so keep the server from coming back.
	portFirst = 20000
	portCount = 10000

	// portTries bounds the search for a free port; with a handful of servers on the machine the
	// first try is free.
	portTries = 100
)

// checkout returns the folder of the module that the working directory belongs to. go test runs
// each package in its own folder, so the folder with go.mod is above.
func checkout() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("dbtest: working directory: %w", err)
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return filepath.EvalSymlinks(at)
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("dbtest: no go.mod above %s: run from inside the checkout", dir)
		}
	}
}

// home returns the folder, made when missing, that holds the private services of one purpose ("dev"
// or "test").
//
// That is .local/<purpose> in the checkout, unless the account that PostgreSQL runs as cannot reach
// it: a checkout below /root, say, is closed to everybody but root. Then it is a folder beside the
// system's other temporary files, named after the checkout's path, so that the same checkout finds
// its data again.
func home(purpose string) (string, error) {
	root, err := checkout()
	if err != nil {
		return "", err
	}
	account, err := serverAccount()
	if err != nil {
		return "", err
	}
	if account == nil || reachable(root) {
		dir := filepath.Join(root, ".local", purpose)
		return dir, os.MkdirAll(dir, 0o755)
	}
	hash := sha256.Sum256([]byte(root))
	name := "martelo-" + hex.EncodeToString(hash[:6])
	for _, temporary := range []string{os.TempDir(), "/tmp", "/var/tmp"} {
		if !reachable(temporary) {
			continue
		}
		dir := filepath.Join(temporary, name)
		if err := ownFolder(dir); err != nil {
			return "", err
		}
		dir = filepath.Join(dir, purpose)
		return dir, os.MkdirAll(dir, 0o755)
	}
	return "", errors.New(
		"dbtest: no folder that PostgreSQL's account can reach: set TMPDIR to one that everybody may enter",
	)
}

// ownFolder makes dir, or accepts it when it is a real folder of ours: anybody can put something of
// that name into a shared temporary folder first.
func ownFolder(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("dbtest: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("dbtest: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(stat.Uid) != os.Getuid() {
		return fmt.Errorf("dbtest: %s belongs to somebody else: remove it or set TMPDIR", dir)
	}
	return nil
}

// reachable reports whether every account may pass through dir and all folders above it.
func reachable(dir string) bool {
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
		if at == filepath.Dir(at) {
			return true
		}
	}
}

// serverAccount returns the account that PostgreSQL runs as when this program is root, which
// PostgreSQL refuses to run as: "postgres", which Debian's package brings, else "nobody". It
// returns nil when this program is not root.
func serverAccount() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		account, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUser := strconv.ParseUint(account.Uid, 10, 32)
		gid, errGroup := strconv.ParseUint(account.Gid, 10, 32)
		if errUser == nil && errGroup == nil && uid != 0 {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("dbtest: PostgreSQL does not run as root: add an account named postgres")
}

// giveTo makes dir and hands it to the account (to nobody else when account is nil).
func giveTo(account *syscall.Credential, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("dbtest: %w", err)
	}
	if account == nil {
		return nil
	}
	if err := os.Chown(dir, int(account.Uid), int(account.Gid)); err != nil {
		return fmt.Errorf("dbtest: %w", err)
	}
	return nil
}

// freePort returns a TCP port of the loopback address on which nothing listens. Another program can
// take it before it is used: who starts a server on it tries again with another one.
func freePort() (int, error) {
	for range portTries {
		port := portFirst + rand.IntN(portCount)
		if portIsFree(port) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("dbtest: no free port between %d and %d", portFirst, portFirst+portCount-1)
}

func portIsFree(port int) bool {
	listener, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	return listener.Close() == nil
}

// withLock runs do while it holds the lock on the file: alone (LOCK_EX) or together with others
// that share it (LOCK_SH). The kernel lets go of it when the process ends, however it ends.
func withLock(path string, how int, do func() error) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return fmt.Errorf("dbtest: %w", err)
	}
	defer file.Close()
	for {
		err := syscall.Flock(int(file.Fd()), how)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("dbtest: lock %s: %w", file.Name(), err)
		}
		return do()
	}
}

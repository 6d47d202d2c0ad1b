package dbtest

import (
	"bufio"
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
)

// redisServer is the kind of server that carries announcements. It writes every command to disk
// before it answers.
type redisServer struct{}

func newRedis(dir string) *server { return &server{kind: redisServer{}, dir: dir} }

func (redisServer) name() string            { return "Redis" }
func (redisServer) orderly() syscall.Signal { return syscall.SIGTERM }
func (redisServer) abrupt() syscall.Signal  { return syscall.SIGKILL }

func (redisServer) prepare(s *server) error {
	program, err := redisProgram()
	if err != nil {
		return err
	}
	s.programs = filepath.Dir(program)
	if err := os.MkdirAll(s.data(), 0o700); err != nil {
		return fmt.Errorf("dbtest: %w", err)
	}
	return nil
}

func (redisServer) argv(s *server) []string {
	return []string{
		filepath.Join(s.programs, "redis-server"), "--port", strconv.Itoa(s.port), "--bind", "127.0.0.1",
		"--dir", s.data(), "--appendonly", "yes", "--appendfsync", "always", "--save", "",
	}
}

func (redisServer) ping(ctx context.Context, s *server) error {
	// A Redis that is still reading its data answers with an error.
	const pong = "+PONG"
	answer, err := s.askRedis(ctx, "PING", 1)
	if err == nil && answer[0] != pong {
		err = errors.New("dbtest: Redis answered " + answer[0])
	}
	return err
}

func (redisServer) folder(ctx context.Context, s *server) (string, error) {
	// The answer is an array of two strings, each after a line with its length.
	answer, err := s.askRedis(ctx, "CONFIG GET dir", 5)
	if err != nil {
		return "", err
	}
	return answer[4], nil
}

// redisURL is the address of a Redis server.
func (s *server) redisURL() string {
	return fmt.Sprintf("redis://127.0.0.1:%d/0", s.port)
}

// askRedis sends one command on a connection of its own and returns that many lines of the answer:
// a client with its pool would be a lot for one word.
func (s *server) askRedis(ctx context.Context, command string, lines int) ([]string, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(pingWithin)); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(conn, command+"\r\n"); err != nil {
		return nil, err
	}
	reader := bufio.NewReader(conn)
	answer := make([]string, lines)
	for i := range answer {
		line, err := reader.ReadString('\n')
		if err != nil {
			return nil, err
		}
		if answer[i] = strings.TrimRight(line, "\r\n"); strings.HasPrefix(answer[i], "-") {
			return nil, errors.New("dbtest: Redis answered " + answer[i])
		}
	}
	return answer, nil
}

package main_test

import (
	"os/exec"
	"strings"
	"testing"
)

// A wrong setting is refused at the start in a sentence that names it, whatever is wrong with it.
func TestWrongSettingsAreNamed(t *testing.T) {
	t.Parallel()
	for _, wrong := range []string{
		"PUBLIC_URL=https://", "PUBLIC_URL=https://:443", "PUBLIC_URL=https://house.example/path",
		"PUBLIC_URL=https://house.example?query",
		"PUBLIC_URL=https://user:password@house.example", "PUBLIC_URL=ftp://house.example", "PUBLIC_URL=house.example",
		"PUBLIC_URL=https://house.example:99999",
		"PUBLIC_URL=https://house.example#part", "PUBLIC_URL=https://house.example:",
		"PUBLIC_URL= https://house.example",
		"TRUSTED_PROXIES=0.0.0.0/0", "TRUSTED_PROXIES=::/0", "TRUSTED_PROXIES=10.0.0.0/8,0.0.0.0/0",
		"TRUSTED_PROXIES=10.0.0.0/8,", "TRUSTED_PROXIES=10.0.0.1",
		"LISTEN_ADDR=:99999", "LISTEN_ADDR=:-1", "LISTEN_ADDR=:http", "LISTEN_ADDR=8080", "KAFKA_BROKERS=:9092",
		"KAFKA_BROKERS=kafka:0", "KAFKA_BROKERS=kafka:9092,",
		"DATABASE_CONNECTIONS=-1", "DATABASE_CONNECTIONS=99999999999999999999", "VIEWERS_MAX=-5",
		"VIEWERS_PER_ADDRESS_MAX=0", "HOT_LANE_ABOVE=-1",
		"METRICS_TOKEN=short", "HSTS_SUBDOMAINS=perhaps", "GALLERY=maybe", "LOG_LEVEL=loud", "LOG_FORMAT=xml",
		"MARTELO_PPROF=127.0.0.1:99999", "MARTELO_PPROF=0.0.0.0:6060",
	} {
		t.Run(wrong, func(t *testing.T) {
			t.Parallel()
			name, _, _ := strings.Cut(wrong, "=")
			cmd := exec.CommandContext(t.Context(), program, "serve")
			cmd.Env = []string{
				"DATABASE_URL=postgres://nobody@127.0.0.1:1/none", "REDIS_URL=redis://127.0.0.1:1",
				"LISTEN_ADDR=127.0.0.1:0", wrong,
			}
			said, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(said), name+" takes ") ||
				strings.Contains(string(said), "goroutine") {
				t.Errorf("it ended with %v and said %s", err, said)
			}
			if strings.Contains(string(said), "password") {
				t.Errorf("it tells a password: %s", said)
			}
		})
	}
}

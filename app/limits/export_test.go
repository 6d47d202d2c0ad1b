package limits

import (
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"martelo/app/identity"
)

// patience is how long a busy machine may take to answer in tests of what Redis counts.
const patience = 10 * time.Second

// OpenPatient makes limits that count in Redis however busy the machine is.
func OpenPatient(of *redis.Client, house *identity.House, log *slog.Logger) *Limits {
	return open(of, house, log, patience)
}

// Package migrations holds the schema's history as goose files, which are sqlc's schema too: there
// is one truth.
package migrations

import (
	"embed"
	"strconv"
	"strings"
)

// Files are the goose migrations, oldest first by name.
//
//go:embed *.sql
var Files embed.FS

// Latest is the version of the newest migration, the number that its name begins with.
func Latest() int64 {
	files, _ := Files.ReadDir(".") // embedded: it cannot fail
	number, _, _ := strings.Cut(files[len(files)-1].Name(), "_")
	version, _ := strconv.ParseInt(number, 10, 64)
	return version
}

// Package migrations holds the schema's history as goose files, which are sqlc's schema too: there is one truth.
package migrations

import "embed"

// Files are the goose migrations, oldest first by name.
//
//go:embed *.sql
var Files embed.FS

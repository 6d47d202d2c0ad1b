package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/jackc/pgx/v5/pgxpool"

	"martelo/app/account"
	"martelo/db"
)

// commandConnections is what a command that does one thing needs.
const commandConnections = 4

func migrate(ctx context.Context, out io.Writer) error {
	s, err := readSettings("DATABASE_URL")
	if err != nil {
		return err
	}
	applied, err := db.Migrate(ctx, s.DatabaseURL, func(sentence string) { fmt.Fprintln(os.Stderr, "martelo:", sentence) })
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "migrations applied: %d\n", applied)
	return err
}

// withPool runs a command that needs PostgreSQL only.
func withPool(do func(*pgxpool.Pool) error) error {
	s, err := readSettings("DATABASE_URL")
	if err != nil {
		return err
	}
	pool, err := db.Open(s.DatabaseURL, commandConnections)
	if err != nil {
		return err
	}
	defer pool.Close()
	return do(pool)
}

func userCreate(ctx context.Context, args []string, out io.Writer) error {
	set := flag.NewFlagSet("user create", flag.ContinueOnError)
	email := set.String("email", "", "")
	name := set.String("name", "", "")
	password := set.String("password", "", "")
	role := set.String("role", string(account.RoleUser), "")
	if err := flags(set, args); err != nil {
		return err
	}
	return withPool(func(pool *pgxpool.Pool) error {
		person, err := account.New(pool).SignUp(ctx, account.Account{
			Email: *email, Name: *name, Password: *password, Role: account.Role(*role),
		})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(out, person.ID)
		return err
	})
}

func tokenCreate(ctx context.Context, args []string, out io.Writer) error {
	set := flag.NewFlagSet("token create", flag.ContinueOnError)
	user := set.String("user", "", "")
	service := set.Bool("service", false, "")
	name := set.String("name", "", "")
	if err := flags(set, args); err != nil {
		return err
	}
	if *user == "" {
		return errors.New("token create: --user names whose token it is, by e-mail or id")
	}
	return withPool(func(pool *pgxpool.Pool) error {
		people := account.New(pool)
		person, err := find(ctx, people, *user)
		if err != nil {
			return err
		}
		token, err := people.MakeToken(ctx, person.ID, *name, *service)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(out, token)
		return err
	})
}

// find looks a user up by e-mail, or by id for one without.
func find(ctx context.Context, people *account.People, user string) (account.Person, error) {
	if id, err := strconv.ParseInt(user, 10, 64); err == nil {
		return people.Person(ctx, id)
	}
	return people.ByEmail(ctx, user)
}

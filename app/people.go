package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

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
	applied, err := db.Migrate(
		ctx, s.DatabaseURL, func(sentence string) { fmt.Fprintln(os.Stderr, "martelo:", sentence) },
	)
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

// userCommands are what an operator can do about a person, by the words after "martelo user".
var userCommands = map[string]func(ctx context.Context, args []string, in io.Reader, out io.Writer) error{
	"create":       userCreate,
	"show":         userShow,
	"password":     userPassword,
	"block":        userBlock,
	"unblock":      userUnblock,
	"role":         userRole,
	"sessions end": userSessionsEnd,
}

func user(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	for words := 1; words <= min(2, len(args)); words++ {
		if do := userCommands[strings.Join(args[:words], " ")]; do != nil {
			return do(ctx, args[words:], in, out)
		}
	}
	return errors.New("after user comes create, show, password, block, unblock, role or sessions end; " +
		"martelo help says more")
}

func userCreate(ctx context.Context, args []string, _ io.Reader, out io.Writer) error {
	set := flag.NewFlagSet("user create", flag.ContinueOnError)
	email := set.String("email", "", "")
	name := set.String("name", "", "")
	password := set.String("password", "", "")
	role := set.String("role", string(account.RoleUser), "")
	sellerName := set.String("seller-name", "", "")
	if err := flags(set, args); err != nil {
		return err
	}
	if *sellerName == "" && account.Role(*role) == account.RoleSeller {
		*sellerName = *name // an operator names a shop, not a private person
	}
	return withPool(func(pool *pgxpool.Pool) error {
		person, err := account.New(pool).SignUp(ctx, account.Account{
			Email: *email, Name: *name, Password: *password, Role: account.Role(*role), SellerName: *sellerName,
		})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(out, person.ID)
		return err
	})
}

// onPerson runs a command about one person, who is named by e-mail, or by id for one without.
func onPerson(
	ctx context.Context, set *flag.FlagSet, args []string, do func(*account.People, account.Person) error,
) error {
	email := set.String("email", "", "")
	if err := flags(set, args); err != nil {
		return err
	}
	if *email == "" {
		return fmt.Errorf("%s: --email names the person, by e-mail or id", set.Name())
	}
	return withPool(func(pool *pgxpool.Pool) error {
		people := account.New(pool)
		person, err := find(ctx, people, *email)
		if errors.Is(err, account.ErrNoSuchUser) {
			return fmt.Errorf("%s: nobody here has the e-mail or id %q", set.Name(), *email)
		}
		if err != nil {
			return err
		}
		return do(people, person)
	})
}

func userShow(ctx context.Context, args []string, _ io.Reader, out io.Writer) error {
	set := flag.NewFlagSet("user show", flag.ContinueOnError)
	return onPerson(ctx, set, args, func(people *account.People, person account.Person) error {
		tokens, err := people.Tokens(ctx, person.ID)
		if err != nil {
			return err
		}
		blocked := "no"
		if person.Blocked {
			blocked = "yes"
		}
		_, err = fmt.Fprintf(out, "id: %d\ne-mail: %s\nname: %s\nseller name: %s\nrole: %s\n",
			person.ID, person.Email, person.Name, person.SellerName, person.Role)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "since: %s\nblocked: %s\ntokens: %d\n",
			person.CreatedAt.UTC().Format(time.RFC3339), blocked, len(tokens))
		return err
	})
}

// passwordLineMax bounds what is read as a password.
const passwordLineMax = 4096

func userPassword(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	set := flag.NewFlagSet("user password", flag.ContinueOnError)
	password := set.String("password", "", "")
	return onPerson(ctx, set, args, func(people *account.People, person account.Person) error {
		if *password == "" {
			line, err := bufio.NewReader(io.LimitReader(in, passwordLineMax)).ReadString('\n')
			if err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			*password = strings.TrimRight(line, "\r\n")
		}
		if _, err := people.SetPassword(ctx, person.ID, *password); err != nil {
			return err
		}
		_, err := fmt.Fprintln(out, "The password is set. All sessions have ended; tokens go on.")
		return err
	})
}

func userBlock(ctx context.Context, args []string, _ io.Reader, out io.Writer) error {
	set := flag.NewFlagSet("user block", flag.ContinueOnError)
	return onPerson(ctx, set, args, func(people *account.People, person account.Person) error {
		if err := people.Block(ctx, person.ID); err != nil {
			return err
		}
		_, err := fmt.Fprintf(out,
			"Blocked. All sessions have ended; tokens end within %d seconds. Bids that were made stand.\n",
			int(account.TokenRevokedWithin.Seconds()))
		return err
	})
}

func userUnblock(ctx context.Context, args []string, _ io.Reader, out io.Writer) error {
	set := flag.NewFlagSet("user unblock", flag.ContinueOnError)
	return onPerson(ctx, set, args, func(people *account.People, person account.Person) error {
		if err := people.Unblock(ctx, person.ID); err != nil {
			return err
		}
		_, err := fmt.Fprintln(out, "No longer blocked. The tokens there were work again.")
		return err
	})
}

func userRole(ctx context.Context, args []string, _ io.Reader, out io.Writer) error {
	set := flag.NewFlagSet("user role", flag.ContinueOnError)
	role := set.String("role", "", "")
	return onPerson(ctx, set, args, func(people *account.People, person account.Person) error {
		if err := people.SetRole(ctx, person.ID, account.Role(*role)); err != nil {
			return err
		}
		_, err := fmt.Fprintf(out, "The role is %s.\n", *role)
		return err
	})
}

func userSessionsEnd(ctx context.Context, args []string, _ io.Reader, out io.Writer) error {
	set := flag.NewFlagSet("user sessions end", flag.ContinueOnError)
	tokens := set.Bool("tokens", false, "")
	return onPerson(ctx, set, args, func(people *account.People, person account.Person) error {
		if _, err := people.EndSessions(ctx, person.ID); err != nil {
			return err
		}
		words := "All sessions have ended; tokens go on."
		if *tokens {
			revoked, err := people.RevokeTokens(ctx, person.ID)
			if err != nil {
				return err
			}
			words = fmt.Sprintf("All sessions have ended, and %d tokens are revoked.", revoked)
		}
		_, err := fmt.Fprintln(out, words)
		return err
	})
}

// grant gives a database role what martelo serve needs and no more.
func grant(ctx context.Context, args []string, out io.Writer) error {
	set := flag.NewFlagSet("grant", flag.ContinueOnError)
	role := set.String("role", "", "")
	if err := flags(set, args); err != nil {
		return err
	}
	if *role == "" {
		return errors.New("grant: --role names the database role that martelo serve connects as; " +
			"make it first with CREATE ROLE … LOGIN")
	}
	return withPool(func(pool *pgxpool.Pool) error {
		if err := db.Grant(ctx, pool, *role); err != nil {
			return err
		}
		_, err := fmt.Fprintf(out, "%s can serve the house now. Run this again after each martelo migrate.\n", *role)
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

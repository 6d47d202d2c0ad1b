// Command martelo is an online auction house. It reads its settings from the environment, builds
// everything once, and runs one of its commands; no rule of the house lives here.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	_ "time/tzdata" // sellers name their zone, also on a machine without zone files

	"martelo/app/refusal"
	"martelo/templates/words"
)

const usage = `martelo is an online auction house.

  martelo serve                 serve the house until SIGTERM
  martelo migrate               bring the database's schema up to date
  martelo demo                  fill an empty house with things to look at; refused where anybody else has an account
  martelo user create --email E --name N --password P [--role seller|admin] [--seller-name S]
                                add somebody, and print the id; buyers see S, or the name of who begins as a seller
  martelo user show --email E   print what the house knows of a person (E is an e-mail or an id, here and below)
  martelo user password --email E [--password P]
                                set a password, read from the input without --password, and end all sessions
  martelo user sessions end --email E [--tokens]
                                sign a person out everywhere, and with --tokens revoke the tokens
  martelo user block --email E  keep a person out: sessions and tokens end, bids stand; unblock lets the person in again
  martelo user unblock --email E
  martelo user role --email E --role user|seller|admin
                                change what a person may do
  martelo token create --user E [--service] [--name N]
                                make an API token for the user with that e-mail or id, and print it
  martelo house renew           give a copy of a house an id of its own, and print it; its nodes must not run
  martelo house claim           say that this database is the house itself, moved to a new place, and print its id
  martelo grant --role R        give the database role R what serve needs and no more

Settings come from the environment: DATABASE_URL, REDIS_URL, LISTEN_ADDR and others; the README lists them.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "martelo:", inWords(err))
		os.Exit(1)
	}
}

// inWords says what was wrong with an input without naming the room that refused it.
func inWords(err error) string {
	var fields refusal.FieldErrors
	if !errors.As(err, &fields) {
		return err.Error()
	}
	var said []string
	for _, f := range fields {
		said = append(said, "--"+f.Field+": "+words.API.Reason(f))
	}
	return strings.Join(said, " ")
}

func run(ctx context.Context, args []string, out io.Writer) error {
	command := ""
	if len(args) > 0 {
		command, args = args[0], args[1:]
	}
	switch command {
	case "serve":
		return withoutArguments(args, func() error { return serve(ctx) })
	case "migrate":
		return withoutArguments(args, func() error { return migrate(ctx, out) })
	case "demo":
		return withoutArguments(args, func() error { return demo(ctx, out) })
	case "user":
		return user(ctx, args, os.Stdin, out)
	case "grant":
		return grant(ctx, args, out)
	case "token":
		return subcommand(args, "create", func(rest []string) error { return tokenCreate(ctx, rest, out) })
	case "house":
		return houseCommand(ctx, args, out)
	case "", "help", "-h", "--help":
		_, err := io.WriteString(out, usage)
		return err
	default:
		return fmt.Errorf("there is no command %q; martelo help lists them", command)
	}
}

func withoutArguments(args []string, do func() error) error {
	if len(args) > 0 {
		return fmt.Errorf("%q is one argument too many; settings come from the environment", args[0])
	}
	return do()
}

func subcommand(args []string, want string, do func([]string) error) error {
	if len(args) == 0 || args[0] != want {
		return fmt.Errorf("martelo help lists the commands; here only %q is one", want)
	}
	return do(args[1:])
}

// flags parses a command's flags and refuses anything beside them.
func flags(set *flag.FlagSet, args []string) error {
	set.SetOutput(io.Discard)
	if err := set.Parse(args); err != nil {
		return fmt.Errorf("%s: %w", set.Name(), err)
	}
	if set.NArg() > 0 {
		return fmt.Errorf("%s: %q is one argument too many", set.Name(), set.Arg(0))
	}
	return nil
}

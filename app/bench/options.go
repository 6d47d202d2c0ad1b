package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"martelo/app/auction"
)

// size is how much of everything a run has. Each scenario has a short one and a long one; flags go
// before both. A scenario takes the flags of what is not zero in its short size.
type size struct {
	rates      []int // requests a second
	warm, span time.Duration
	auctions   int
	viewers    int
	bidders    []int
	rounds     int
}

// options are a run's flags.
type options struct {
	size
	long bool

	urls        []string
	yes         bool
	program     string
	nodes       int
	connections int
	profile     string

	lane  auction.Lane
	low   int           // in a hundred
	quiet int           // bids a second
	lock  time.Duration // 0: no row is held

	file, plot string
}

// scenario is one thing that can be measured.
type scenario struct {
	name, summary string
	about         string // what the summary leaves open
	short, long   size
	nodes         bool // it starts nodes
	more          func(*options, *flag.FlagSet)
	run           func(*bench, context.Context) error
}

// options reads a scenario's flags.
func (s scenario) options(args []string) (options, error) {
	o := options{}
	set := s.flags(&o)
	set.SetOutput(io.Discard)
	err := set.Parse(args)
	switch {
	case err != nil:
	case set.NArg() > 0:
		err = fmt.Errorf("%q is one argument too many", set.Arg(0))
	default:
		err = o.check()
	}
	if err != nil {
		return o, fmt.Errorf("bench: %s: %w; bench help %s lists the flags", s.name, err, s.name)
	}
	usual := s.short
	if o.long {
		usual = s.long
	}
	o.size = o.size.otherwise(usual)
	return o, nil
}

func (o options) check() error {
	switch {
	case o.low < 0 || o.low > 100:
		return errors.New("--low takes 0 to 100")
	case o.lane != "" && o.lane != auction.Standard && o.lane != auction.Hot:
		return errors.New("--lane takes standard or hot")
	}
	return nil
}

// otherwise is a size with what is usual where nothing was asked for.
func (s size) otherwise(usual size) size {
	if len(s.rates) == 0 {
		s.rates = usual.rates
	}
	if len(s.bidders) == 0 {
		s.bidders = usual.bidders
	}
	s.warm, s.span = or(s.warm, usual.warm), or(s.span, usual.span)
	s.auctions, s.viewers = or(s.auctions, usual.auctions), or(s.viewers, usual.viewers)
	s.rounds = or(s.rounds, usual.rounds)
	return s
}

func or[T comparable](asked, usual T) T {
	var zero T
	if asked == zero {
		return usual
	}
	return asked
}

// flags are those that the scenario takes.
func (s scenario) flags(o *options) *flag.FlagSet {
	set := flag.NewFlagSet(s.name, flag.ContinueOnError)
	set.BoolVar(&o.long, "long", false, "take the long form: minutes instead of less than one")
	set.StringVar(&o.file, "out", "", "write the figures as JSON to a `FILE`")
	if s.short.rates != nil {
		set.Func("rates", "`N,N` requests a second, one after the other"+
			s.usually(func(u size) string { return list(u.rates) }), numbers(&o.rates))
		set.StringVar(&o.plot, "svg", "", "write a plot of times over rates as SVG to a `FILE`")
	}
	if s.short.bidders != nil {
		set.Func("bidders", "`N,N` bidders at once, one number after the other"+
			s.usually(func(u size) string { return list(u.bidders) }), numbers(&o.bidders))
	}
	for _, f := range []struct {
		name, usage string
		into        *time.Duration
		of          func(size) time.Duration
	}{
		{"span", "`TIME` that each load is measured", &o.span, func(u size) time.Duration { return u.span }},
		{"warm", "`TIME` that each load runs before that", &o.warm, func(u size) time.Duration { return u.warm }},
	} {
		if f.of(s.short) != 0 {
			set.Func(f.name, f.usage+s.usually(func(u size) string { return f.of(u).String() }), duration(f.into))
		}
	}
	for _, f := range []struct {
		name, usage string
		into        *int
		of          func(size) int
	}{
		{"auctions", "`N` auctions there are", &o.auctions, func(u size) int { return u.auctions }},
		{"viewers", "`N` viewers there are", &o.viewers, func(u size) int { return u.viewers }},
		{"rounds", "`N` times that each load is repeated; the median is told", &o.rounds,
			func(u size) int { return u.rounds }},
	} {
		if f.of(s.short) != 0 {
			set.Func(f.name, f.usage+s.usually(func(u size) string { return strconv.Itoa(f.of(u)) }), number(f.into))
		}
	}
	if s.nodes {
		o.nodeFlags(set)
	}
	if s.more != nil {
		s.more(o, set)
	}
	return set
}

func (o *options) nodeFlags(set *flag.FlagSet) {
	o.nodes = 1
	set.Func("nodes", "`N` nodes that are started (usually 1)", number(&o.nodes))
	set.StringVar(&o.program, "program", "",
		"the server's program, as a `FILE` (usually MARTELO_PROGRAM, or martelo beside this program)")
	set.Func("connections", "`N` connections of each load (usually 256, and 512 from 5000 requests a second on)",
		number(&o.connections))
	set.Func("url", "`URL` of a node that runs already, on DATABASE_URL itself; may be repeated",
		func(text string) error {
			o.urls = append(o.urls, text)
			return nil
		})
	set.BoolVar(&o.yes, "yes", false, "with --url: also if DATABASE_URL does not look like a database to try things in")
	set.StringVar(&o.profile, "cpuprofile", "",
		"keep a processor profile of the first node, under the last load, in a `FILE`")
}

func (o *options) laneFlag(set *flag.FlagSet) {
	set.Func("lane", "`LANE` of the auction, standard or hot (usually standard)", func(text string) error {
		o.lane = auction.Lane(text)
		return nil
	})
}

// usually says what a flag is when it is not given.
func (s scenario) usually(tell func(size) string) string {
	short, long := tell(s.short), tell(s.long)
	if short == long {
		return " (usually " + short + ")"
	}
	return " (usually " + short + ", with --long " + long + ")"
}

func list(numbers []int) string {
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = strconv.Itoa(n)
	}
	return strings.Join(texts, ",")
}

// number reads a number above 0.
func number(into *int) func(string) error {
	return func(text string) error {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 {
			return errors.New("it takes a number above 0")
		}
		*into = n
		return nil
	}
}

// numbers reads numbers above 0.
func numbers(into *[]int) func(string) error {
	return func(text string) error {
		*into = nil
		for part := range strings.SplitSeq(text, ",") {
			n := 0
			if err := number(&n)(part); err != nil {
				return errors.New("it takes numbers above 0, with commas between them")
			}
			*into = append(*into, n)
		}
		return nil
	}
}

// duration reads a time above 0.
func duration(into *time.Duration) func(string) error {
	return func(text string) error {
		long, err := time.ParseDuration(text)
		if err != nil || long <= 0 {
			return errors.New("it takes a time above 0, such as 500ms, 10s or 1m")
		}
		*into = long
		return nil
	}
}

func asksForHelp(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		return slices.Contains([]string{"-h", "-help", "--help"}, arg)
	})
}

const usage = `bench SCENARIO [flags] measures a house on a database of its own, which is made on the server of
DATABASE_URL and dropped afterwards. Nodes are martelo serve, with the Redis of REDIS_URL.

`

// help tells what there is, or all about one scenario.
func help(args []string, out io.Writer) error {
	if len(args) > 0 {
		s, err := scenarioNamed(args[0])
		if err != nil {
			return err
		}
		return s.help(out)
	}
	text := usage
	for _, s := range scenarios {
		text += fmt.Sprintf("  %-8s %s\n", s.name, s.summary)
	}
	_, err := io.WriteString(out, text+"\nbench help SCENARIO says more, and which flags it takes.\n")
	return err
}

func (s scenario) help(out io.Writer) error {
	text := fmt.Sprintf("bench %s [flags]: %s.\n\n%s\n", s.name, s.summary, s.about)
	s.flags(&options{}).VisitAll(func(f *flag.Flag) {
		value, usage := flag.UnquoteUsage(f)
		usage = strings.TrimPrefix(usage, value+" ") // it stands beside the flag
		text += fmt.Sprintf("  --%-18s %s\n", strings.TrimSpace(f.Name+" "+value), usage)
	})
	_, err := io.WriteString(out, text)
	return err
}

func scenarioNamed(name string) (scenario, error) {
	for _, s := range scenarios {
		if s.name == name {
			return s, nil
		}
	}
	return scenario{}, fmt.Errorf("bench: there is no scenario %q; bench help lists them", name)
}

// Package bench measures the house: it puts loads on real nodes through real HTTP, verifies what became of the bids, and compares the
// desk with the design it replaces in the same run.
//
// Loads are open: each request has its moment, whatever became of those before it, and its time runs from that moment. So a
// house that stalls is charged for everybody who would have come meanwhile. Everything happens in a database of its own, which
// is made for the run and dropped after it.
package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// Setup is where the house is that a bench runs in.
type Setup struct {
	Program               string // martelo itself, for the nodes
	DatabaseURL, RedisURL string
}

// Usage is what there is to choose from.
const Usage = `martelo bench SCENARIO [flags] measures the house on a database of its own, made on the server of DATABASE_URL and dropped afterwards.

  hot       one auction, bids at several rates; its log is verified afterwards
  desk      the same without HTTP: the desk, the published transaction and one conditional statement a bid, side by side
  cold      bids spread over many auctions; first without HTTP beside the published transaction, then with it
  close     many auctions due in the same second: until all are closed, and until their events are told
  viewers   many live viewers under bids, of one auction or spread over several: how late they learn, what they cost, and that all agree in the end
  browse    the home page and an auction's page

`

var scenarios = map[string]func(*bench, context.Context) error{
	"hot": (*bench).hot, "desk": (*bench).desk, "cold": (*bench).cold, "close": (*bench).closing, "viewers": (*bench).viewers, "browse": (*bench).browse,
}

// options are a run's flags. Zero is what the scenario has by itself, short or long.
type options struct {
	long, yes        bool
	urls             []string
	nodeCount        int
	rates            []int
	warm, span       time.Duration
	low              int // in a hundred
	lane             string
	auctions         int
	watchers         int
	connections      int
	bidding          int
	file, plot, prof string
}

// bench is one run.
type bench struct {
	options
	setup  Setup
	out    io.Writer
	town   *town
	nodes  []*node
	folder string
	report *Report
	heap   bool // nodes are asked what their heap holds
}

// Run runs the scenario that args begin with and writes its table to out. It leaves nothing behind but the files it was asked for, also when
// ctx ends; then it returns ctx's error.
func Run(ctx context.Context, setup Setup, args []string, out io.Writer) (err error) {
	name := ""
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	if name == "" || name == "help" || strings.HasPrefix(name, "-") {
		set, _ := flagSet(io.Discard)
		_, _ = io.WriteString(out, Usage)
		set.SetOutput(out)
		set.PrintDefaults()
		return nil
	}
	scenario := scenarios[name]
	if scenario == nil {
		return fmt.Errorf("bench: there is no scenario %q; martelo bench help lists them", name)
	}
	set, o := flagSet(io.Discard)
	if err := set.Parse(args); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	if set.NArg() > 0 || o.low < 0 || o.low > 100 || o.bidding < 1 || o.nodeCount < 1 {
		return errors.New("bench: a flag is wrong; martelo bench help lists them")
	}
	b := &bench{options: *o, setup: setup, out: out}
	if err := b.enter(ctx, name, args); err != nil {
		return errors.Join(err, b.leave())
	}
	defer func() { err = errors.Join(err, b.leave()) }()
	if err := scenario(b, ctx); err != nil {
		return errors.Join(err, b.report.write(b.out, b.file, b.plot))
	}
	return b.report.write(b.out, b.file, b.plot)
}

func flagSet(complain io.Writer) (*flag.FlagSet, *options) {
	o := &options{}
	set := flag.NewFlagSet("bench", flag.ContinueOnError)
	set.SetOutput(complain)
	set.BoolVar(&o.long, "long", false, "the long form: minutes instead of less than one")
	set.Func("url", "a node that runs already, on DATABASE_URL itself; may be repeated", func(text string) error {
		o.urls = append(o.urls, text)
		return nil
	})
	set.BoolVar(&o.yes, "yes", false, "with --url: also if DATABASE_URL does not look like a database to try things in")
	set.IntVar(&o.nodeCount, "nodes", 1, "how many nodes to start")
	set.Func("rates", "requests a second, comma-separated", func(text string) (err error) {
		o.rates, err = readRates(text)
		return err
	})
	set.DurationVar(&o.span, "span", 0, "how long each rate is measured")
	set.DurationVar(&o.warm, "warm", 0, "how long each rate runs before that")
	set.IntVar(&o.low, "low", 0, "hot: how many bids of a hundred are too low on purpose")
	set.StringVar(&o.lane, "lane", "standard", "hot: the auction's lane")
	set.IntVar(&o.auctions, "auctions", 0, "cold, close, browse: how many auctions there are; viewers: over how many they are spread")
	set.IntVar(&o.watchers, "viewers", 0, "viewers: how many there are")
	set.IntVar(&o.connections, "connections", 0, "how many connections requests are sent on")
	set.IntVar(&o.bidding, "bidding", biddingOr, "desk, cold: how many bid at once without HTTP")
	set.StringVar(&o.file, "out", "", "write the figures to a JSON file")
	set.StringVar(&o.plot, "svg", "", "write a plot of times over rates to an SVG file")
	set.StringVar(&o.prof, "cpuprofile", "", "keep a processor profile of the first node in a file")
	return set, o
}

func readRates(text string) (rates []int, err error) {
	for part := range strings.SplitSeq(text, ",") {
		rate, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || rate < 1 {
			return nil, fmt.Errorf("%q is not a rate", part)
		}
		rates = append(rates, rate)
	}
	return rates, nil
}

// enter makes the database, or takes the one that was given.
func (b *bench) enter(ctx context.Context, name string, args []string) (err error) {
	if b.folder, err = os.MkdirTemp("", "martelo-bench"); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	if len(b.urls) > 0 {
		b.town, err = givenTown(b.setup.DatabaseURL, b.yes)
	} else {
		b.town, err = newScratch(ctx, b.setup.DatabaseURL)
	}
	if err != nil {
		return err
	}
	b.report = newReport(ctx, b.town.pool, name, args)
	return nil
}

// leave ends what was started and removes what was made.
func (b *bench) leave() (err error) {
	for _, n := range b.nodes {
		err = errors.Join(err, n.stop())
	}
	if b.town != nil {
		err = errors.Join(err, b.town.close())
	}
	return errors.Join(err, os.RemoveAll(b.folder))
}

// start starts the nodes, or takes those that were given.
func (b *bench) start(ctx context.Context, more ...string) error {
	for _, address := range b.urls {
		n, err := givenNode(address)
		if err != nil {
			return err
		}
		b.nodes = append(b.nodes, n)
	}
	if len(b.urls) > 0 {
		return nil
	}
	h := house{program: b.setup.Program, databaseURL: b.town.databaseURL, redisURL: b.setup.RedisURL, folder: b.folder, more: more, profiled: b.prof != "" || b.heap}
	for i := range b.nodeCount {
		n, err := h.start(ctx, i)
		if err != nil {
			return err
		}
		b.nodes = append(b.nodes, n)
	}
	return nil
}

func (b *bench) targets() (addresses []string) {
	for _, n := range b.nodes {
		addresses = append(addresses, n.address)
	}
	return addresses
}

// otherwise is what was asked for, or the scenario's own choice.
func otherwise[T comparable](asked, short, long T, b *bench) T {
	var zero T
	switch {
	case asked != zero:
		return asked
	case b.long:
		return long
	}
	return short
}

func (b *bench) ratesOr(short, long []int) []int {
	switch {
	case len(b.rates) > 0:
		return b.rates
	case b.long:
		return long
	}
	return short
}

package main

import (
	"context"
	"errors"
	"io"
	"time"

	"martelo/app/bench/house"
	"martelo/app/bench/load"
	"martelo/app/bench/report"
)

// bench is one run of a scenario.
type bench struct {
	options
	redisURL string
	house    *house.House
	report   *report.Report
}

// measure runs the scenario. What was measured until something failed is told too.
func (s scenario) measure(ctx context.Context, given setup, o options, args []string, out io.Writer) (err error) {
	b := &bench{options: o, redisURL: given.redisURL}
	if len(o.urls) > 0 {
		b.house, err = house.Given(given.databaseURL, o.yes)
	} else {
		b.house, err = house.Scratch(ctx, given.databaseURL)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.house.Close()) }()
	b.report = report.New(ctx, b.house.Pool, s.name, args)
	return errors.Join(s.run(b, ctx), b.report.Write(out, o.file, o.plot))
}

// start starts the nodes, or takes those that were given.
func (b *bench) start(ctx context.Context, more house.Start) error {
	if len(b.urls) > 0 {
		return b.house.Join(b.urls)
	}
	more.Program, more.RedisURL, more.Nodes = b.program, b.redisURL, b.nodes
	more.Profiled = more.Profiled || b.profile != ""
	return b.house.Start(ctx, more)
}

// measured puts loads on the nodes and returns the outcomes of their phases, with what the nodes
// and the database say of the whole.
func (b *bench) measured(ctx context.Context, profiled bool, offers ...load.Offer) (
	outcomes [][]*load.Outcome, figures map[string]float64, err error) {
	e, err := load.NewEngine()
	if err != nil {
		return nil, nil, err
	}
	defer e.Close()
	return b.measuredOn(ctx, e, profiled, offers...)
}

func (b *bench) measuredOn(ctx context.Context, e *load.Engine, profiled bool, offers ...load.Offer) (
	outcomes [][]*load.Outcome, figures map[string]float64, err error) {
	profile := make(chan error, 1)
	if profiled && b.profile != "" {
		go func() { profile <- b.house.Nodes[0].Profile(ctx, offers[0].Span(), b.profile) }()
	} else {
		profile <- nil
	}
	seen := b.house.Observe(ctx)
	begin, own := time.Now(), load.ProcessorTime()
	outcomes, err = e.Run(ctx, offers...)
	own, took := load.ProcessorTime()-own, time.Since(begin)
	figures = seen()
	figures["generator cores"] = own.Seconds() / took.Seconds()
	return outcomes, figures, errors.Join(err, <-profile)
}

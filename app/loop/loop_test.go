package loop_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"

	"martelo/app/loop"
)

// Each failed turn is counted, but only a change is told: a store that is away for an hour makes
// two lines.
func TestOnlyAChangeIsTold(t *testing.T) {
	var log bytes.Buffer
	metrics := prometheus.NewRegistry()
	l := loop.New("settler", slog.New(slog.NewTextHandler(&log, nil)), metrics)
	loop.New("closer", slog.New(slog.DiscardHandler), metrics) // shares the metric
	away := errors.New("the store is away")
	for _, step := range []struct {
		turn  func(context.Context) error
		lines int
	}{
		{func(context.Context) error { return nil }, 0},
		{func(context.Context) error { return away }, 1},
		{func(context.Context) error { return away }, 1},
		{func(context.Context) error { panic("no such currency") }, 2},
		{func(context.Context) error { panic("no such currency") }, 2},
		{func(context.Context) error { return away }, 2},
		{func(context.Context) error { return nil }, 3},
		{func(context.Context) error { return nil }, 3},
	} {
		_ = l.Turn(t.Context(), step.turn)
		if lines := strings.Count(log.String(), "\n"); lines != step.lines {
			t.Fatalf("%d lines, want %d:\n%s", lines, step.lines, log.String())
		}
	}
	if !strings.Contains(log.String(), "loop_test.go") {
		t.Errorf("the panic has no stack:\n%s", log.String())
	}
	counted := map[string]float64{}
	families, err := metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, metric := range families[0].GetMetric() {
		counted[metric.GetLabel()[0].GetValue()] = metric.GetCounter().GetValue()
	}
	if families[0].GetName() != "martelo_loop_failures_total" ||
		!maps.Equal(counted, map[string]float64{"closer": 0, "settler": 5}) {
		t.Errorf("%s is %v", families[0].GetName(), counted)
	}
}

func TestWorkThatPanicsBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := 0
		loop.New(
			"hub", slog.New(slog.DiscardHandler), prometheus.NewRegistry(),
		).Keep(t.Context(), func(context.Context) {
			if begun++; begun < 3 {
				panic("again")
			}
		})
		if begun != 3 {
			t.Errorf("begun %d times", begun)
		}
	})
}

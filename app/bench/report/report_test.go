package report

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"martelo/app/bench/load"
)

// Of several rounds the median of each figure is told, the least and the most of those that are
// compared, and the sum of what was counted: a fault in one round is not lost among the others.
func TestMedian(t *testing.T) {
	t.Parallel()
	rounds := []Row{
		{What: "x", Accepted: 30, P50: 3, P99: 90, Max: 100, Figures: map[string]float64{"cores": 1},
			Statuses: map[int]int{201: 5}},
		{What: "x", Accepted: 10, P50: 1, P99: 50, Max: 900, Figures: map[string]float64{"cores": 3},
			Statuses: map[int]int{201: 5, 503: 1}},
		{What: "x", Accepted: 20, P50: 2, P99: 70, Max: 80, Figures: map[string]float64{"cores": 2}, Unanswered: 1},
	}
	m := Median(rounds)
	if m.Accepted != 20 || m.P50 != 2 || m.P99 != 70 || m.Max != 100 || m.Figures["cores"] != 2 {
		t.Errorf("%+v", m)
	}
	if m.Figures["least p99"] != 50 || m.Figures["most p99"] != 90 || m.Figures["least accepted/s"] != 10 {
		t.Errorf("%+v", m.Figures)
	}
	if m.Unanswered != 1 || m.Statuses[201] != 10 || m.Statuses[503] != 1 || m.Verdict != "median of 3 rounds" {
		t.Errorf("%+v", m)
	}
	if m := Median(rounds[:2]); m.Accepted != 20 || m.P99 != 70 {
		t.Errorf("of two: %+v", m)
	}
	if m := Median(rounds[:1]); m.Verdict != "" || m.Figures["least p99"] != 0 {
		t.Errorf("of one: %+v", m)
	}
}

// Whatever is wrong with a load stands in the table's remarks and in the file.
func TestAReportTellsWhatIsWrong(t *testing.T) {
	t.Parallel()
	times := load.NewTimes()
	times.Record(5 * time.Millisecond)
	row := Of("one auction", 40, &load.Outcome{
		Span: 2 * time.Second, Times: times, Statuses: map[int]int{201: 9, 503: 1}, Unanswered: 2, Broken: 3, Again: 4,
	})
	row.Verdict = "NOT VERIFIED"
	if row.Answered != 5 || row.P50 < 4.9 || row.P50 > 5.1 {
		t.Errorf("%+v", row)
	}
	r := Report{Scenario: "hot"}
	r.Add(row)
	var out strings.Builder
	file := filepath.Join(t.TempDir(), "figures.json")
	if err := r.Write(&out, file, ""); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"9 × 201", "1 × 503", "2 unanswered", "3 connections broke", "4 asked to come again", "NOT VERIFIED",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in %s", want, out.String())
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var read Report
	if err := json.Unmarshal(text, &read); err != nil || len(read.Rows) != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	if got := read.Rows[0]; got.Unanswered != 2 || got.Broken != 3 || got.Again != 4 || got.Verdict != row.Verdict {
		t.Errorf("%+v", got)
	}
}

// Rows of the same thing are one drawing, also when others stand between them.
func TestAPlotDrawsEachThingOnce(t *testing.T) {
	t.Parallel()
	rows := []Row{
		{What: "hot", Offered: 5000, P50: 1}, {What: "quiet", Offered: 500, P50: 1},
		{What: "hot", Offered: 20000, P50: 1}, {What: "quiet", Offered: 500, P50: 1}, {What: "no rate"},
	}
	drawing := string(Plot("bench mixed", rows))
	if strings.Count(drawing, "<g ") != 2 || strings.Count(drawing, "bench mixed: hot<") != 1 ||
		strings.Count(drawing, "20000/s") != 1 || strings.Contains(drawing, "no rate") {
		t.Error(drawing)
	}
}

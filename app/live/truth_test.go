package live_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"martelo/app/auction"
	"martelo/app/live"
)

// ledger is what PostgreSQL has of auction 1: it commits, and may lose its newest commits.
type ledger struct {
	kept []auction.Update
	era  int // how often it has lost something
}

func (l *ledger) commit() auction.Update {
	s := state(int64(len(l.kept)))
	s.EndAt = s.EndAt.Add(time.Duration(l.era) * time.Minute) // so that two states of one version differ
	l.kept = append(l.kept, auction.Update{State: s})
	return l.now()
}

func (l *ledger) now() auction.Update { return l.kept[len(l.kept)-1] }

// However commits, announcements and looks are mixed up, delayed and lost, viewers are never taken
// back while PostgreSQL loses nothing; and after it did, two looks in a row lead to what it has.
func TestPostgreSQLWinsAndNothingFlaps(t *testing.T) {
	t.Parallel()
	hub := unconnected(t)
	rapid.Check(t, func(t *rapid.T) {
		hub.Forget()
		var truth ledger
		hub.Watch(truth.commit())
		shown := hub.Shown(1)
		var announced []auction.Update
		type looking struct {
			*live.Looking
			read *auction.Update
		}
		var looks []*looking
		steps := []string{"commit", "hear", "begin", "read", "end"}
		if rapid.Bool().Draw(t, "faults") {
			steps = append(steps, "lose", "forge")
		}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			switch rapid.SampledFrom(steps).Draw(t, "step") {
			case "commit":
				announced = append(announced, truth.commit())
			case "hear": // in any order, perhaps late, perhaps never
				if len(announced) > 0 {
					i := rapid.IntRange(0, len(announced)-1).Draw(t, "which")
					hub.Take(announced[i])
					announced = slices.Delete(announced, i, i+1)
				}
			case "begin":
				looks = append(looks, &looking{Looking: hub.Begin(true, 0)})
			case "read":
				for _, l := range looks {
					if l.read == nil && rapid.Bool().Draw(t, "now") {
						u := truth.now()
						l.read = &u
					}
				}
			case "end":
				if len(looks) == 0 || looks[0].read == nil {
					break
				}
				i := rapid.IntRange(0, len(looks)-1).Draw(t, "which")
				if looks[i].read == nil {
					break
				}
				looks[i].Finds(*looks[i].read)
				looks = slices.Delete(looks, i, i+1)
			case "lose":
				if rapid.IntRange(0, 4).Draw(t, "unlikely") == 0 && len(truth.kept) > 1 {
					truth.kept = truth.kept[:rapid.IntRange(1, len(truth.kept)-1).Draw(t, "kept")]
					truth.era++
				}
			case "forge":
				if rapid.IntRange(0, 4).Draw(t, "unlikely") == 0 {
					truth.era++
					hub.Take(auction.Update{State: state(rapid.Int64Range(0, 500).Draw(t, "far"))})
				}
			}
			if now := hub.Shown(1); now < shown && truth.era == 0 {
				t.Fatalf("version %d was shown after %d", now, shown)
			}
			shown = hub.Shown(1)
		}
		for _, u := range announced {
			hub.Take(u)
		}
		for range 2 {
			hub.Begin(true, 0).Finds(truth.now())
		}
		if got, want := hub.State(1), truth.now().State; got != want {
			t.Fatalf("viewers are shown %+v, PostgreSQL has %+v", got, want)
		}
	})
}

// While Redis does not answer, what PostgreSQL has of a hot auction is no reason to take back what
// Redis decided; and when an auction is moved between two looks they do not speak of the same.
func TestAHotAuctionIsTakenBackOnlyWithRedis(t *testing.T) {
	t.Parallel()
	hub := unconnected(t)
	hub.Watch(auction.Update{State: state(3)})
	hub.Take(auction.Update{State: state(9)})
	for range 4 {
		hub.Begin(false, 7).Finds(auction.Update{State: state(3)})
	}
	hub.Begin(true, 7).Finds(auction.Update{State: state(3)})
	hub.Begin(true, 8).Finds(auction.Update{State: state(4)})
	if shown := hub.Shown(1); shown != 10 {
		t.Errorf("version %d is shown", shown)
	}
	hub.Begin(true, 8).Finds(auction.Update{State: state(4)})
	if shown := hub.Shown(1); shown != 5 {
		t.Errorf("version %d is shown after two looks", shown)
	}
}

// An end that PostgreSQL has not confirmed is not the last word: whoever was told of it is told
// that it was none, and of the real one.
func TestAnEndThatWasNoneIsTakenBack(t *testing.T) {
	t.Parallel()
	hub := unconnected(t)
	hub.Pace(0)
	hub.Watch(auction.Update{State: state(3)})
	g := visit(t, hub)
	g.gets(4)
	forged := state(90)
	forged.Status, forged.ClosedAt = auction.Closed, forged.EndAt
	hub.Take(auction.Update{State: forged})
	hub.Step()
	g.gets(91)
	for range 2 {
		hub.Begin(true, 0).Finds(auction.Update{State: state(4)})
	}
	hub.Step()
	g.gets(5)
	hub.Take(auction.Update{State: state(5)})
	hub.Step()
	g.gets(6)
	closed := state(5)
	closed.Status, closed.Version, closed.ClosedAt = auction.Closed, 7, closed.EndAt
	hub.Take(auction.Update{State: closed})
	hub.Step()
	g.gets(7)
	hub.Begin(true, 0).Finds(auction.Update{State: closed}) // confirmed, which nobody needs to hear
	hub.Step()
	g.getsNothing()
}

// A page is told goodbye only once PostgreSQL has confirmed that its auctions are over.
func TestGoodbyeWaitsForPostgreSQL(t *testing.T) {
	t.Parallel()
	hub := unconnected(t)
	hub.Pace(0)
	closed := state(3)
	closed.Status, closed.Version, closed.ClosedAt = auction.Closed, 5, closed.EndAt
	hub.Watch(auction.Update{State: state(3)})
	as := notes()
	as.Bye = []byte("bye")
	viewer, err := hub.Admit(live.Viewing{Auctions: []int64{1}, As: as})
	if err != nil {
		t.Fatal(err)
	}
	sent, ended := make(chan string, 100), make(chan error, 1)
	go func() {
		ended <- viewer.Serve(t.Context(), func(frames [][]byte) error {
			sent <- fmt.Sprintf("%s", frames)
			return nil
		})
	}()
	<-sent
	hub.Take(auction.Update{State: closed})
	hub.Step()
	if words := <-sent; words == "" || slices.Contains([]string{"[bye]"}, words) {
		t.Errorf("it was sent %q", words)
	}
	select {
	case err := <-ended:
		t.Fatalf("it was told goodbye on the word of an announcement: %v", err)
	default:
	}
	hub.Begin(true, 0).Finds(auction.Update{State: closed})
	hub.Step()
	if words := <-sent; words != "[bye]" {
		t.Errorf("it was sent %q", words)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

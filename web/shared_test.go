package web

import (
	"errors"
	"sync"
	"testing"
	"time"
)

// Whoever asks while a page is being drawn gets the next drawing, which began after they had asked,
// and all of them get the same one.
func TestVisitorsShareADrawingThatBeganAfterTheyAsked(t *testing.T) {
	t.Parallel()
	const visitors = 50
	var (
		shared         sharedPages
		all            sync.WaitGroup
		begun, proceed = make(chan int), make(chan struct{})
		count          int
	)
	draw := func() (int, *content, error) {
		count++ // one at a time, which the race detector checks
		n := count
		begun <- n
		<-proceed
		return 200, &content{plain: []byte{byte(n)}}, nil
	}
	got := make(chan byte, visitors+1)
	visit := func() {
		status, html, err := shared.draw("home", draw)
		if status != 200 || err != nil {
			t.Errorf("%d, %v", status, err)
			return
		}
		got <- html.plain[0]
	}
	all.Go(visit)
	<-begun
	for range visitors {
		all.Go(visit)
	}
	joined := func() bool {
		shared.mu.Lock()
		defer shared.mu.Unlock()
		return shared.pages["home"].next != nil
	}
	for deadline := time.Now().Add(10 * time.Second); !joined(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nobody waits")
		}
	}
	close(proceed)
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	for waiting := true; waiting; {
		select {
		case <-begun:
		case <-done:
			waiting = false
		}
	}
	close(got)
	figures := map[byte]int{}
	for n := range got {
		figures[n]++
	}
	if figures[1] != 1 || len(figures) < 2 || len(shared.pages) != 0 {
		t.Errorf("drawings were handed out %v; %d are left", figures, len(shared.pages))
	}
}

// A drawing that fails, or breaks off, is everybody's failure and nobody's hang, and the next one
// is made anew.
func TestASharedDrawingThatBreaksOff(t *testing.T) {
	t.Parallel()
	var shared sharedPages
	failure := errors.New("no")
	fails := func() (int, *content, error) { return 0, nil, failure }
	if _, _, err := shared.draw("home", fails); !errors.Is(err, failure) {
		t.Errorf("the failure came as %v", err)
	}
	d, _, _ := shared.join("home")
	waiting, _, mine := shared.join("home")
	if !mine || waiting == d {
		t.Fatal("a drawing that has begun was joined")
	}
	if again, _, mine := shared.join("home"); mine || again != waiting {
		t.Fatal("those who wait do not wait together")
	}
	shared.leave("home", d)
	shared.begin("home", waiting)
	func() {
		defer func() { _ = recover() }()
		defer shared.leave("home", waiting)
		waiting.err = errUndrawn
		panic("in a template")
	}()
	<-waiting.done
	if !errors.Is(waiting.err, errUndrawn) || len(shared.pages) != 0 {
		t.Errorf("%v, %d left", waiting.err, len(shared.pages))
	}
}

func TestOrdinaryRequestsShareAFewLines(t *testing.T) {
	t.Parallel()
	var l lines
	now, written := time.Now(), 0
	for range 3 * linesMax {
		if _, write := l.next(now); write {
			written++
		}
	}
	if written != linesMax {
		t.Errorf("%d lines in a second", written)
	}
	if skipped, write := l.next(now.Add(time.Second)); !write || skipped != 2*linesMax {
		t.Errorf("the next second's first line: %v, %d were skipped", write, skipped)
	}
}

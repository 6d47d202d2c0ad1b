package main_test

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"martelo/db/dbtest"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

const (
	// openWithin is how long the browser may take to start, or to open a tab.
	openWithin = 30 * time.Second
	// actWithin bounds one thing a person does, the page it leads to included.
	actWithin = 30 * time.Second
	// seenWithin is how long a page may take to show what it is to show. Where a promise is
	// shorter, the test measures it.
	seenWithin = 20 * time.Second
	// lookEvery is how often a page is looked at while something is awaited.
	lookEvery = 20 * time.Millisecond
)

const wide, high, narrow = 1280, 900, 390 // pixels of a desktop's window, and the width of a phone's

// password is everybody's.
const password = "a long password"

// observer runs in every page before its own script, and notes when what is seen there, and what a
// screen reader is told.
//
//go:embed browser_observer_test.js
var observer string

// fair is two nodes of the real program on one database and Redis, and people with browsers. All
// have one browser process; each has a profile in it and shares nothing with the others.
type fair struct {
	*town
	here, there *node
	ann, ben    *person // buyers
	cy          *person // a buyer whose browser runs no scripts
	sam         *person // the seller of all lots
	process     context.Context
}

// TestInRealBrowsers proves the pages in Debian's chromium, against two nodes of the real program.
// The parts share the house: each opens lots of its own.
func TestInRealBrowsers(t *testing.T) {
	dbtest.Long(t)
	newFair(t).proves(
		part{"two browsers on two nodes", (*fair).twoBrowsers},
		part{"soft close", (*fair).softClose},
		part{"close", (*fair).close},
		part{"an end that was none", (*fair).takenBack},
		part{"restart", (*fair).restart},
		part{"outbid while typing", (*fair).outbidWhileTyping},
		part{"list", (*fair).list},
		part{"back and forth", (*fair).backAndForth},
		part{"hostile words", (*fair).hostileWords},
		part{"selling across a change of clocks", (*fair).sellingAcrossClocks},
		part{"a lot is never lost", (*fair).aLotIsNeverLost},
		part{"without script", (*fair).withoutScript},
		part{"every page", (*fair).everyPage},
		part{"keyboard", (*fair).keyboard},
		part{"violations would be noticed", (*fair).violationsAreNoticed},
	)
}

// TestHandsInRealBrowsers proves that nobody bids what was not meant. Its parts wait most of the
// time, as people do.
func TestHandsInRealBrowsers(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	newFair(t).proves(
		part{"one gesture, one bid", (*fair).oneGestureOneBid},
		part{"under a moving hand", (*fair).underAMovingHand},
		part{"second thoughts", (*fair).secondThoughts},
		part{"another viewer", (*fair).anotherViewer},
		part{"nothing moves for bidders", (*fair).nothingMovesForBidders},
	)
}

// TestHonestInRealBrowsers proves that a page says what it knows, and looks right while it does.
func TestHonestInRealBrowsers(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	newFair(t).proves(
		part{"held back", (*fair).heldBack},
		part{"background", (*fair).background},
		part{"list news", (*fair).listNews},
		part{"offline", (*fair).offline},
		part{"waking", (*fair).waking},
		part{"nothing moves", (*fair).nothingMoves},
		part{"own typefaces", (*fair).ownTypefaces},
		part{"late typefaces", (*fair).lateTypefaces},
		part{"without typefaces", (*fair).withoutTypefaces},
		part{"the bar covers no focus", (*fair).barCoversNoFocus},
		part{"parts find their places", (*fair).partsFindTheirPlaces},
		part{"words keep their place", (*fair).wordsKeepTheirPlace},
		part{"on paper", (*fair).onPaper},
	)
}

func newFair(t *testing.T) *fair {
	town := newDefaultTown(t)
	f := &fair{town: town, here: town.start(), there: town.start(), process: startBrowser(t)}
	f.sam = &person{email: "seller@house.example"}
	f.profile(f.sam)
	f.ann, f.ben, f.cy = f.admit("Ann"), f.admit("Ben"), f.admit("Cy")
	f.cy.scriptless = true
	return f
}

// part is one of the things that a fair proves.
type part struct {
	name  string
	prove func(*fair)
}

func (f *fair) proves(parts ...part) {
	t := f.T
	for _, p := range parts {
		t.Run(p.name, func(t *testing.T) { p.prove(f.within(t)) })
	}
}

// within is the same fair for one part, whose failures are its own.
func (f *fair) within(t *testing.T) *fair {
	town, part := *f.town, *f
	town.T = t
	part.town = &town
	part.here, part.there = &node{town: &town, url: f.here.url}, &node{town: &town, url: f.there.url}
	return &part
}

// startBrowser starts a browser without anybody in it. It ends with the test.
func startBrowser(t *testing.T) context.Context {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(wide, high),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("lang", "en-US"))
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			options = append(options, chromedp.ExecPath(path))
			break
		}
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	process, leave := chromedp.NewContext(allocator)
	t.Cleanup(leave)
	begin(t, process)
	return process
}

// begin makes a context's first step, which must have no deadline of its own: with it the browser
// or the tab would end.
func begin(t *testing.T, ctx context.Context) {
	t.Helper()
	begun := make(chan error, 1)
	go func() { begun <- chromedp.Do(ctx) }()
	select {
	case err := <-begun:
		if err != nil {
			t.Fatalf("the browser does not open: %v", err)
		}
	case <-time.After(openWithin):
		t.Fatal("the browser does not open")
	}
}

// person is somebody with a browser.
type person struct {
	email      string
	id         int64
	profile    context.Context
	scriptless bool
}

// profile gives a person a browser's profile, and signs the person in.
func (f *fair) profile(p *person) {
	f.Helper()
	profile, leave := chromedp.NewContext(f.process, chromedp.WithNewBrowserContext())
	f.Cleanup(leave)
	begin(f.T, profile)
	p.profile = profile
	signIn := p.visit(f.T, f.here, "/signin")
	signIn.fill("#field-email", p.email)
	signIn.fill("#field-password", password)
	signIn.leads(".account-form button", http.StatusOK)
	signIn.reads("h1", "Open for bidding")
	signIn.close()
}

// admit makes a buyer, with an account and a browser.
func (f *fair) admit(name string) *person {
	f.Helper()
	p := &person{email: strings.ToLower(name) + "@house.example"}
	id := f.command("user", "create", "--email", p.email, "--name", name, "--password", password)
	if _, err := fmt.Sscan(id, &p.id); err != nil {
		f.Fatal(err)
	}
	f.profile(p)
	return p
}

// lot opens a lot at 1000 in steps of 10 for an hour, without soft close, but for the changes.
func (f *fair) lot(changes map[string]any) auctionReply {
	f.Helper()
	draft := map[string]any{
		"title": "Vintage watch", "startPrice": "1000.00", "minIncrement": "10.00", "endTime": ends(time.Hour),
		"softClose": map[string]int{"windowSeconds": 0, "extendSeconds": 0},
	}
	maps.Copy(draft, changes)
	return must[auctionReply](f, f.here.do(f.Context(), "POST", "/auctions", f.seller, draft), http.StatusCreated)
}

func ends(in time.Duration) string { return time.Now().Add(in).UTC().Format(time.RFC3339Nano) }

// tab is a page in somebody's browser. Whatever it complains of on its console, a broken content
// policy above all, fails the test.
type tab struct {
	*testing.T
	ctx   context.Context
	leave func()

	mu         sync.Mutex
	complaints []string
	requests   []string // methods and URLs
	held       []fetch.RequestID
	forgiven   string // what a complaint may have in it, where a test breaks something on purpose
}

// visit opens a page of a node in a new tab.
func (p *person) visit(t *testing.T, at *node, path string) *tab {
	t.Helper()
	b := p.open(t, wide)
	b.goes(at.url + path)
	return b
}

func (p *person) open(t *testing.T, width int64) *tab {
	t.Helper()
	b := &tab{T: t}
	b.ctx, b.leave = chromedp.NewContext(p.profile, chromedp.WithListener(b.hear))
	t.Cleanup(b.close)
	begin(t, b.ctx)
	b.do(
		send(page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: observer}),
		send(emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}),
		send(emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "America/New_York"}),
		send(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: p.scriptless}),
		chromedp.EmulateViewport(width, high),
	)
	return b
}

func send[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, params)
		return err
	})
}

// hear notes what the browser tells of the page.
func (b *tab) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		// The browser writes every refusal there (409 and the like), and every connection that
		// breaks; verbose is its advice.
		if e.Entry.Source != log.EntrySourceNetwork && e.Entry.Level != log.EntryLevelVerbose {
			b.complaints = append(
				b.complaints, fmt.Sprintf("%s %s: %s %s", e.Entry.Source, e.Entry.Level, e.Entry.Text, e.Entry.URL),
			)
		}
	case *runtime.EventConsoleAPICalled:
		var said []string
		for _, arg := range e.Args {
			said = append(said, string(arg.Value))
		}
		b.complaints = append(b.complaints, fmt.Sprintf("console.%s: %s", e.Type, strings.Join(said, " ")))
	case *runtime.EventExceptionThrown:
		b.complaints = append(
			b.complaints, fmt.Sprintf("exception: %s %+v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception),
		)
	case *fetch.EventRequestPaused:
		b.held = append(b.held, e.RequestID)
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.Method+" "+e.Request.URL)
	}
}

// close closes the tab, and fails the test if the page has complained.
func (b *tab) close() {
	b.Helper()
	b.leave()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, complaint := range b.complaints {
		if b.forgiven == "" || !strings.Contains(complaint, b.forgiven) {
			b.Errorf("the page complains: %s", complaint)
		}
	}
	b.complaints = nil
}

// forgives says what the page may complain of.
func (b *tab) forgives(words string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forgiven = words
}

// asked counts the requests so far whose method and URL have a text in them.
func (b *tab) asked(text string) (count int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, request := range b.requests {
		if strings.Contains(request, text) {
			count++
		}
	}
	return count
}

// do acts in the page within its bound.
func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, actWithin)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.Fatal(err)
	}
}

// goes opens a URL in the tab and returns the status.
func (b *tab) goes(url string) int64 {
	b.Helper()
	return b.follows("GET "+url, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, page.Navigate, page.NavigateParams{URL: url})
		return err
	}))
}

// follows does something that leads to another page, and returns that one's status.
func (b *tab) follows(what string, steps ...chromedp.Action[chromedp.Void]) int64 {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, actWithin)
	defer cancel()
	response, err := chromedp.RunResponse(ctx, steps...)
	if err != nil || response == nil {
		b.Fatalf("%s: %v", what, err)
	}
	return response.Status
}

// leads clicks on something that leads to another page, which must have the status.
func (b *tab) leads(selector string, status int64) {
	b.Helper()
	if got := b.follows("click on "+selector, chromedp.Click(chromedp.CSS(selector))); got != status {
		b.Fatalf("a click on %s led to %d, want %d: %s", selector, got, status, b.text("main"))
	}
}

func (b *tab) click(selector string) {
	b.Helper()
	b.do(chromedp.Click(chromedp.CSS(selector)))
}

// fill writes into a field in the place of what is there, as a keyboard does, but all at once.
func (b *tab) fill(selector, text string) {
	b.Helper()
	run[bool](
		b,
		fmt.Sprintf(
			`(() => { const field = document.querySelector(%s); field.focus(); field.select(); return true })()`,
			quote(selector),
		),
	)
	b.do(send(input.InsertText, input.InsertTextParams{Text: text}))
}

// set puts a value into a field that has no text to type over, such as a date or a choice.
func (b *tab) set(selector, value string) {
	b.Helper()
	run[bool](
		b,
		fmt.Sprintf(`(() => { document.querySelector(%s).value = %s; return true })()`, quote(selector), quote(value)),
	)
}

// run evaluates an expression in the page.
func run[T any](b *tab, expression string) T {
	b.Helper()
	value, err := try[T](b, expression)
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return value
}

func try[T any](b *tab, expression string) (T, error) {
	ctx, cancel := context.WithTimeout(b.ctx, actWithin)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression))
}

func quote(text string) string {
	quoted, _ := json.Marshal(text)
	return string(quoted)
}

// text is what an element says, whether it is to be seen or not; "(none)" without the element.
func (b *tab) text(selector string) string {
	b.Helper()
	return run[string](b, textOf(selector))
}

func textOf(selector string) string {
	return fmt.Sprintf(
		`(document.querySelector(%s)?.textContent ?? '(none)').replace(/\s+/g, ' ').trim()`, quote(selector),
	)
}

// has tells whether an element is there and to be seen.
func (b *tab) has(selector string) bool {
	b.Helper()
	return run[bool](b, seenIn(selector))
}

func seenIn(selector string) string {
	return fmt.Sprintf(`(document.querySelector(%s)?.checkVisibility() ?? false)`, quote(selector))
}

func (b *tab) value(selector string) string {
	b.Helper()
	return run[string](b, fmt.Sprintf(`document.querySelector(%s).value`, quote(selector)))
}

// reads waits until an element says what it should, among other things.
func (b *tab) reads(selector, words string) {
	b.Helper()
	var last string
	b.awaits(func() bool {
		last, _ = try[string](b, textOf(selector))
		return strings.Contains(last, words)
	}, func() string { return fmt.Sprintf("%s reads %q, want %q", selector, last, words) })
}

// holds waits until an expression is true of the page.
func (b *tab) holds(expression string) {
	b.Helper()
	var fault error
	b.awaits(func() (holds bool) {
		holds, fault = try[bool](b, expression)
		return holds
	}, func() string { return fmt.Sprintf("not so: %s (%v)", expression, fault) })
}

func (b *tab) shows(selector string) { b.Helper(); b.holds(seenIn(selector)) }

func (b *tab) awaits(holds func() bool, otherwise func() string) {
	b.Helper()
	for deadline := time.Now().Add(seenWithin); !holds(); time.Sleep(lookEvery) {
		if time.Now().After(deadline) {
			page, _ := try[string](b, `document.body?.innerText`)
			b.Fatalf("not within %s: %s\n%s", seenWithin, otherwise(), page)
		}
	}
}

// live waits until the page's stream has brought it up to date.
func (b *tab) live() *tab {
	b.Helper()
	b.reads("[data-live-state]", "Live")
	return b
}

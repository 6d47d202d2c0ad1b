package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// inboxBytes is what is read from a connection at once.
	inboxBytes = 256 << 10
	// eventsMax is how many connections are looked at in one turn.
	eventsMax = 512
	// lookEvery is how often the engine looks whether it is to stop.
	lookEvery = 100 * time.Millisecond
	// requestBytes is what a request takes at first; its buffer grows.
	requestBytes = 4096
)

// Engine drives any number of connections from one goroutine, with no goroutine, buffer or timer
// for each: what measures has to be cheap beside what it measures, on the same machine.
type Engine struct {
	epoll, timer int
	began        time.Time
	links        []*link
	inbox        []byte
	events       []unix.EpollEvent
}

// NewEngine makes an engine without connections.
func NewEngine() (*Engine, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("bench: epoll: %w", err)
	}
	timer, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		unix.Close(epoll)
		return nil, fmt.Errorf("bench: timer: %w", err)
	}
	e := &Engine{
		epoll: epoll, timer: timer, inbox: make([]byte, inboxBytes), events: make([]unix.EpollEvent, eventsMax),
		began: time.Now(),
	}
	return e, unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, timer, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: -1})
}

// Close closes all connections.
func (e *Engine) Close() {
	for _, l := range e.links {
		l.disconnect()
	}
	unix.Close(e.timer)
	unix.Close(e.epoll)
}

// Now is the engine's clock.
func (e *Engine) Now() time.Duration { return time.Since(e.began) }

// Listen adds a connection that sends one request and is read from ever after: heard is told what
// it is sent, in pieces as they come, and lost that it was cut.
func (e *Engine) Listen(target string, request []byte, heard func(data []byte), lost func()) error {
	l, err := e.connect(link{address: target, heard: heard, lost: lost})
	if err != nil {
		return err
	}
	if !l.send(request) {
		return fmt.Errorf("bench: %s takes no request", target)
	}
	return nil
}

// Wait reads from connections until something happens or a moment of the engine's clock has come.
func (e *Engine) Wait(until time.Duration) error {
	left := max(until-e.Now(), 0)
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(1, min(left, lookEvery).Nanoseconds()))}
	if err := unix.TimerfdSettime(e.timer, 0, &spec, nil); err != nil {
		return fmt.Errorf("bench: timer: %w", err)
	}
	n, err := unix.EpollWait(e.epoll, e.events, -1)
	if err != nil && !errors.Is(err, unix.EINTR) {
		return fmt.Errorf("bench: epoll: %w", err)
	}
	for _, event := range e.events[:max(n, 0)] {
		if event.Fd >= 0 {
			e.receive(e.links[event.Fd])
		}
	}
	return nil
}

func (e *Engine) receive(l *link) {
	n, err := unix.Read(l.descriptor, e.inbox)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return
	}
	if err != nil || n <= 0 {
		e.replace(l)
		return
	}
	data := e.inbox[:n]
	if l.run == nil {
		l.heard(data)
		return
	}
	if len(l.part) > 0 {
		l.part = append(l.part, data...)
		data = l.part
	}
	a, whole, err := readAnswer(data)
	switch {
	case err != nil || whole && (a.size < len(data) || l.request < 0):
		e.replace(l)
	case whole:
		l.run.answered(l, &a)
		l.part = l.part[:0]
	case len(l.part) == 0:
		l.part = append(l.part, data...)
	}
}

// replace makes a broken connection anew; what it asked stays unanswered. One that cannot be made
// anew is not used any more. A listener is not replaced: who is cut has to be seen.
func (e *Engine) replace(l *link) {
	l.disconnect()
	l.part = l.part[:0]
	if l.run == nil {
		l.lost()
		return
	}
	l.run.broke(l, e.dial(l) == nil)
}

// connect adds a connection to a node.
func (e *Engine) connect(made link) (*link, error) {
	l := &made
	l.number, l.request = len(e.links), -1
	if err := e.dial(l); err != nil {
		return nil, err
	}
	e.links = append(e.links, l)
	return l, nil
}

func (e *Engine) dial(l *link) error {
	address, err := net.ResolveTCPAddr("tcp", l.address)
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	family := unix.AF_INET6
	var to unix.Sockaddr = &unix.SockaddrInet6{Port: address.Port, Addr: [16]byte(address.IP.To16())}
	if v4 := address.IP.To4(); v4 != nil {
		family, to = unix.AF_INET, &unix.SockaddrInet4{Port: address.Port, Addr: [4]byte(v4)}
	}
	if l.descriptor, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		l.descriptor = noConnection
		return fmt.Errorf("bench: socket: %w", err)
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(l.number)}
	for _, step := range []func() error{
		func() error { return unix.Connect(l.descriptor, to) },
		func() error { return unix.SetsockoptInt(l.descriptor, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) },
		func() error { return unix.SetNonblock(l.descriptor, true) },
		func() error { return unix.EpollCtl(e.epoll, unix.EPOLL_CTL_ADD, l.descriptor, &event) },
	} {
		if err := step(); err != nil {
			l.disconnect()
			return fmt.Errorf("bench: connect to %s: %w", l.address, err)
		}
	}
	return nil
}

// noConnection is the descriptor of a link that could not be connected again. The number it had
// may by now be another connection's.
const noConnection = -1

// link is one connection. It either asks and waits for its answer, or listens.
type link struct {
	number     int // its place among the engine's links
	descriptor int // or noConnection
	address    string

	target  int           // which of its run's targets that is
	run     *run          // whose requests it carries; nil when it listens
	request int           // the request under way, or -1
	meant   time.Duration // when that was meant to be sent
	part    []byte        // of an answer that came in several reads

	heard func(data []byte)
	lost  func()
}

// disconnect closes the link's connection if it has one.
func (l *link) disconnect() {
	if l.descriptor != noConnection {
		unix.Close(l.descriptor)
	}
	l.descriptor = noConnection
}

// send writes a short request whole: its connection has nothing else under way, so there is room.
func (l *link) send(request []byte) bool {
	n, err := unix.Write(l.descriptor, request)
	return err == nil && n == len(request)
}

// Run puts loads on nodes, all of which begin together, and returns the outcomes of each one's
// phases. When it returns, the loads' connections are closed.
func (e *Engine) Run(ctx context.Context, offers ...Offer) (outcomes [][]*Outcome, err error) {
	runs := make([]*run, len(offers))
	for i, o := range offers {
		r := &run{
			Offer: o, engine: e, buffer: make([]byte, 0, requestBytes), outcomes: o.outcomes(), total: o.Requests(),
		}
		if err := r.connect(); err != nil {
			return nil, err
		}
		runs[i], outcomes = r, append(outcomes, r.outcomes)
	}
	begin := e.Now()
	for _, r := range runs {
		r.begin = begin
	}
	for {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		under, until := false, time.Duration(0)
		for _, r := range runs {
			if r.over() {
				continue
			}
			r.send()
			if wakes := r.wakes(); !under || wakes < until {
				until = wakes
			}
			under = true
		}
		if !under {
			break
		}
		if err := e.Wait(until); err != nil {
			return nil, err
		}
	}
	for _, r := range runs {
		r.leave()
	}
	return outcomes, nil
}

// run is an offer under way.
type run struct {
	Offer
	engine   *Engine
	begin    time.Duration
	links    []*link
	free     [][]*link // by target; of each, the one that was freed last is used first
	turn     int       // the target whose turn it is
	buffer   []byte
	total    int
	next     int      // the first request that was not sent yet
	underway int      // requests that wait for their answer
	again    []repeat // requests whose answer was not final, in the order in which they are sent again
	outcomes []*Outcome
}

// repeat is a request that is to be sent again.
type repeat struct {
	request   int
	meant, at time.Duration
}

func (r *run) connect() error {
	r.free = make([][]*link, len(r.Targets))
	for i := range r.Connections {
		target := i % len(r.Targets)
		l, err := r.engine.connect(link{target: target, address: r.Targets[target], run: r})
		if err != nil {
			return err
		}
		r.links = append(r.links, l)
		r.release(l)
	}
	return nil
}

// take takes a free connection to the target whose turn it is, or, if that has none, to another
// one; nil when there is none at all.
func (r *run) take() *link {
	for range r.free {
		target := r.turn
		r.turn = (r.turn + 1) % len(r.free)
		if last := len(r.free[target]) - 1; last >= 0 {
			l := r.free[target][last]
			r.free[target] = r.free[target][:last]
			return l
		}
	}
	return nil
}

func (r *run) release(l *link) { r.free[l.target] = append(r.free[l.target], l) }

// canSend says whether a connection is free.
func (r *run) canSend() bool {
	return slices.ContainsFunc(r.free, func(free []*link) bool { return len(free) > 0 })
}

func (r *run) now() time.Duration { return r.engine.Now() - r.begin }

// over says whether all requests have their answers, or are no longer waited for.
func (r *run) over() bool {
	return r.next == r.total && r.underway == 0 && len(r.again) == 0 || r.now() >= r.end()
}

// send sends what is due as far as there are connections for it.
func (r *run) send() {
	for now := r.now(); r.canSend(); {
		switch {
		case len(r.again) > 0 && r.again[0].at <= now:
			r.put(r.again[0].request, r.again[0].meant)
			r.again = r.again[1:]
		case r.next < r.total && r.moment(r.next) <= now:
			r.put(r.next, r.moment(r.next))
			r.next++
		default:
			return
		}
	}
}

// put sends one request on a free connection.
func (r *run) put(request int, meant time.Duration) {
	l := r.take()
	l.request, l.meant = request, meant
	r.buffer = r.Write(r.buffer[:0], request)
	r.underway++
	if !l.send(r.buffer) {
		r.engine.replace(l)
	}
}

// wakes is when there is something to do next without an answer, by the engine's clock.
func (r *run) wakes() time.Duration {
	at := r.end()
	if r.canSend() && len(r.again) > 0 {
		at = min(at, r.again[0].at)
	}
	if r.canSend() && r.next < r.total {
		at = min(at, r.moment(r.next))
	}
	return r.begin + at
}

// answered is told of each answer to a request.
func (r *run) answered(l *link, a *Answer) {
	i, meant := l.request, l.meant
	l.request = -1
	r.release(l)
	r.underway--
	r.Read(i, *a)
	outcome := r.outcomes[r.phase(meant)]
	if r.Final != nil && !r.Final(*a) {
		outcome.Again++
		r.again = append(r.again, repeat{request: i, meant: meant, at: r.now() + againAfter})
		return
	}
	outcome.Statuses[a.Status]++
	outcome.Times.Record(r.now() - meant)
}

// broke is told of a connection that broke, and whether it was made anew.
func (r *run) broke(l *link, anew bool) {
	waited := l.request < 0 // in the list of the free ones
	if !waited {
		outcome := r.outcomes[r.phase(l.meant)]
		outcome.Broken++
		outcome.Unanswered++
		outcome.Times.Record(r.now() - l.meant)
		l.request = -1
		r.underway--
	}
	switch {
	case waited && !anew:
		r.free[l.target] = slices.DeleteFunc(r.free[l.target], func(free *link) bool { return free == l })
	case !waited && anew:
		r.release(l)
	}
}

// leave counts what has no answer and closes the connections.
func (r *run) leave() {
	now := r.now()
	missing := func(meant time.Duration) {
		outcome := r.outcomes[r.phase(meant)]
		outcome.Unanswered++
		outcome.Times.Record(now - meant)
	}
	for _, l := range r.links {
		if l.request >= 0 {
			missing(l.meant)
		}
		l.disconnect()
	}
	for _, repeat := range r.again {
		missing(repeat.meant)
	}
	for ; r.next < r.total; r.next++ {
		missing(r.moment(r.next))
	}
}

// ProcessorTime is what this program has used of the processors.
func ProcessorTime() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

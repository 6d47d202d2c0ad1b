package bench

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
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
)

// engine drives any number of connections from one goroutine, with no goroutine, buffer or timer for each: what measures has to be cheap
// beside what it measures, on the same machine.
type engine struct {
	epoll, timer int
	began        time.Time
	links        []*link
	inbox        []byte
	events       []unix.EpollEvent
	// heard is told what a listening connection was sent.
	heard func(l *link, data []byte)
}

// noConnection is the descriptor of a link that could not be connected again. The number it had may by now be another
// connection's.
const noConnection = -1

// link is one connection. It either asks and waits for its answer, or listens to a live stream.
type link struct {
	fd      int // or noConnection
	target  string
	listens bool
	request int           // the request under way, or -1
	meant   time.Duration // when that was meant to be sent
	part    []byte        // of an answer that came in several reads
	auction int64         // what a listener watches
	known   int64         // a listener's last figure
	lost    bool          // a listener that was cut
}

func newEngine() (*engine, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("bench: epoll: %w", err)
	}
	timer, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		unix.Close(epoll)
		return nil, fmt.Errorf("bench: timer: %w", err)
	}
	e := &engine{epoll: epoll, timer: timer, inbox: make([]byte, inboxBytes), events: make([]unix.EpollEvent, eventsMax), began: time.Now()}
	return e, unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, timer, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: -1})
}

func (e *engine) close() {
	for _, l := range e.links {
		l.disconnect()
	}
	unix.Close(e.timer)
	unix.Close(e.epoll)
}

func (e *engine) now() time.Duration { return time.Since(e.began) }

// connect adds a connection to a node.
func (e *engine) connect(target string) (*link, error) {
	l := &link{target: target, request: -1}
	if err := e.dial(l, len(e.links)); err != nil {
		return nil, err
	}
	e.links = append(e.links, l)
	return l, nil
}

func (e *engine) dial(l *link, place int) error {
	address, err := net.ResolveTCPAddr("tcp", l.target)
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	family, to := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: address.Port, Addr: [16]byte(address.IP.To16())})
	if v4 := address.IP.To4(); v4 != nil {
		family, to = unix.AF_INET, &unix.SockaddrInet4{Port: address.Port, Addr: [4]byte(v4)}
	}
	if l.fd, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return fmt.Errorf("bench: socket: %w", err)
	}
	for _, step := range []func() error{
		func() error { return unix.Connect(l.fd, to) },
		func() error { return unix.SetsockoptInt(l.fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) },
		func() error { return unix.SetNonblock(l.fd, true) },
		func() error {
			return unix.EpollCtl(e.epoll, unix.EPOLL_CTL_ADD, l.fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(place)})
		},
	} {
		if err := step(); err != nil {
			l.disconnect()
			return fmt.Errorf("bench: connect to %s: %w", l.target, err)
		}
	}
	return nil
}

// disconnect closes the link's connection if it has one.
func (l *link) disconnect() {
	if l.fd != noConnection {
		unix.Close(l.fd)
	}
	l.fd = noConnection
}

// send writes a short request whole: its connection has nothing else under way, so there is room for it.
func (l *link) send(request []byte) bool {
	n, err := unix.Write(l.fd, request)
	return err == nil && n == len(request)
}

// wait waits until something happens or a moment has come, and hands over what the connections were sent. Answered is told of each
// answer, and of a connection that broke with nil.
func (e *engine) wait(until time.Duration, answered func(*link, *answer)) error {
	left := max(until-e.now(), 0)
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(1, min(left, lookEvery).Nanoseconds()))}
	if err := unix.TimerfdSettime(e.timer, 0, &spec, nil); err != nil {
		return fmt.Errorf("bench: timer: %w", err)
	}
	n, err := unix.EpollWait(e.epoll, e.events, -1)
	if err != nil && err != unix.EINTR {
		return fmt.Errorf("bench: epoll: %w", err)
	}
	for _, event := range e.events[:max(n, 0)] {
		if event.Fd >= 0 {
			e.receive(e.links[event.Fd], int(event.Fd), answered)
		}
	}
	return nil
}

func (e *engine) receive(l *link, place int, answered func(*link, *answer)) {
	n, err := unix.Read(l.fd, e.inbox)
	if err == unix.EAGAIN || err == unix.EINTR {
		return
	}
	if err != nil || n <= 0 {
		e.again(l, place, answered)
		return
	}
	data := e.inbox[:n]
	if l.listens {
		e.heard(l, data)
		return
	}
	if len(l.part) > 0 {
		l.part = append(l.part, data...)
		data = l.part
	}
	a, whole, err := readAnswer(data)
	switch {
	case err != nil || whole && (a.size < len(data) || l.request < 0):
		e.again(l, place, answered)
	case whole:
		answered(l, &a)
		l.part = l.part[:0]
	case len(l.part) == 0:
		l.part = append(l.part, data...)
	}
}

// again replaces a broken connection. One that cannot be replaced stays broken, and what it asked unanswered.
func (e *engine) again(l *link, place int, answered func(*link, *answer)) {
	l.disconnect()
	l.part = l.part[:0]
	if l.listens {
		l.listens, l.lost = false, true
		return
	}
	if e.dial(l, place) == nil {
		answered(l, nil)
	}
}

// run puts a load on nodes.
func (e *engine) run(ctx context.Context, o offer) (*outcome, error) {
	var free []*link
	for i := range o.connections {
		l, err := e.connect(o.targets[i%len(o.targets)])
		if err != nil {
			return nil, err
		}
		free = append(free, l)
	}
	slices.Reverse(free)
	out, buffer := newOutcome(), make([]byte, 0, 4096)
	begin, used := e.now(), processorTime()
	total, next, underway := o.requests(), 0, 0
	finish := func(meant time.Duration) {
		underway--
		if meant >= o.warm {
			record(out.times, e.now()-begin-meant)
		}
	}
	answered := func(l *link, a *answer) {
		i, meant := l.request, l.meant
		if i < 0 {
			return // it waited in the list of the free ones, and still does
		}
		l.request = -1
		free = append(free, l)
		switch {
		case a == nil:
			out.broken++
			out.unanswered++
			finish(meant)
		default:
			finish(meant)
			if meant >= o.warm {
				out.statuses[a.status]++
			}
			o.read(i, *a)
		}
	}
	last := o.moment(total) + answerWithin
	for (next < total || underway > 0) && e.now()-begin < last {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for now := e.now() - begin; next < total && len(free) > 0 && o.moment(next) <= now; next++ {
			l := free[len(free)-1]
			free = free[:len(free)-1]
			l.request, l.meant = next, o.moment(next)
			buffer = o.write(buffer[:0], next)
			underway++
			if !l.send(buffer) {
				e.again(l, slices.Index(e.links, l), answered)
			}
		}
		until := last
		if next < total && len(free) > 0 {
			until = o.moment(next)
		}
		if err := e.wait(begin+until, answered); err != nil {
			return nil, err
		}
	}
	for _, l := range e.links {
		if !l.listens && l.request >= 0 {
			out.unanswered++
			finish(l.meant)
		}
	}
	for ; next < total; next++ {
		out.unanswered++
		record(out.times, e.now()-begin-o.moment(next))
	}
	out.span, out.own = o.span, processorTime()-used
	return out, nil
}

// apart has a command end with this program, and not be interrupted together with it: a node is told to leave in good order.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// processOf is the processor time a process has used and the memory it has resident, in bytes; zeros when it is gone.
func processOf(pid int) (used time.Duration, resident int64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0
	}
	_, after, _ := strings.Cut(string(text), ") ") // the name before it may hold anything
	fields := strings.Fields(after)
	if len(fields) < 22 {
		return 0, 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	pages, _ := strconv.ParseInt(fields[21], 10, 64)
	return time.Duration(user+system) * time.Second / clockTicks, pages * int64(os.Getpagesize())
}

// clockTicks is how many of a process's ticks Linux counts in a second, on every machine this runs on.
const clockTicks = 100

// processorTime is what this program has used of the processors.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

package house

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// clockTicks is how many ticks of a processor Linux counts in a second, on every machine this runs
// on.
const clockTicks = 100

// process is the processor time a node has used and the memory it has resident, in bytes; zeros
// when it is gone, was not started here, or the system does not keep that in /proc.
func (n *Node) process() (used time.Duration, resident int64) {
	if n.cmd == nil {
		return 0, 0
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.cmd.Process.Pid))
	if err != nil {
		return 0, 0
	}
	_, after, _ := strings.Cut(string(text), ") ") // the name before it may hold anything
	fields := strings.Fields(after)
	if len(fields) < 22 {
		return 0, 0
	}
	return ticks(fields[11]) + ticks(fields[12]), whole(fields[21]) * int64(os.Getpagesize())
}

// machineTime is the processor time the machine has spent so far, and what was stolen from it;
// zeros where that is not kept like that.
func machineTime() (busy, stolen time.Duration) {
	text, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, 0
	}
	for _, field := range []int{1, 2, 3, 6, 7} { // user, nice, system, irq, softirq
		busy += ticks(fields[field])
	}
	return busy, ticks(fields[8])
}

func ticks(field string) time.Duration { return time.Duration(whole(field)) * time.Second / clockTicks }

func whole(field string) int64 {
	n, _ := strconv.ParseInt(field, 10, 64) // the kernel writes no other
	return n
}

package main_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"martelo/db/dbtest"
)

// signInMemoryMax bounds what a crowd of wrong sign-ins may take of a machine with half a gigabyte,
// in MB.
const signInMemoryMax = 200

// resident is what a figure of the node's memory is, in MB.
func (n *node) resident(figure string) int {
	n.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.cmd.Process.Pid))
	if err != nil {
		n.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var kilobytes int
		if _, err := fmt.Sscanf(line, figure+": %d kB", &kilobytes); err == nil {
			return kilobytes >> 10
		}
	}
	n.Fatalf("no %s", figure)
	return 0
}

// A crowd at the door costs waiting and not memory, and what it took is given back.
func TestSignInsCostLittleMemory(t *testing.T) {
	dbtest.Long(t)
	t.Parallel()
	n := newDefaultTown(t).start()
	fresh := n.resident("VmRSS")
	var crowd sync.WaitGroup
	for i := range 58 {
		crowd.Go(func() {
			form := url.Values{"email": {fmt.Sprintf("nobody%d@house.example", i)}, "password": {"a long password"}}
			response, err := client.PostForm(n.url+"/signin", form)
			if err != nil {
				t.Error(err)
				return
			}
			defer response.Body.Close()
			if response.StatusCode != http.StatusUnauthorized && response.StatusCode != http.StatusServiceUnavailable {
				t.Errorf("answered %s", response.Status)
			}
		})
	}
	crowd.Wait()
	highest, after := n.resident("VmHWM"), n.resident("VmRSS")
	t.Logf("%d MB fresh, at most %d MB, %d MB afterwards", fresh, highest, after)
	if highest > signInMemoryMax {
		t.Errorf("58 sign-ins took the node to %d MB", highest)
	}
	eventually(t, answerWithin, "the memory is given back", func() bool { return n.resident("VmRSS") < fresh+40 })
	t.Logf("%d MB in the end", n.resident("VmRSS"))
}

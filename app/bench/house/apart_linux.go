package house

import (
	"os/exec"
	"syscall"
)

// apart has a command end with this program, and not be interrupted together with it: a node is
// told to leave in good order.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

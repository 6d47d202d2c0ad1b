//go:build !linux

package house

import "os/exec"

func apart(*exec.Cmd) {}

// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import "syscall"

// attributes detach a process from the terminal, so that Ctrl-C in the shell
// that started it does not end it. One that is to end with its caller is ended
// by the kernel: not every program does it by itself.
func attributes(exitWithCaller bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setsid: true}
	if exitWithCaller {
		a.Pdeathsig = syscall.SIGKILL
	}
	return a
}

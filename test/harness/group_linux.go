// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import "syscall"

// ownGroup gives a process a group of its own. The kernel ends it when the test binary is gone, also when that panics or
// is killed and no cleanup runs.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package harness

import "syscall"

// ownGroup gives a process a group of its own.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

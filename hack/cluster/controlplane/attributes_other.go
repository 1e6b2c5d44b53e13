// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package controlplane

import "syscall"

// attributes detach a process from the terminal, so that Ctrl-C in the shell
// that started it does not end it.
func attributes(bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"syscall"
)

// datasync is what etcd does after each write.
func datasync(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }

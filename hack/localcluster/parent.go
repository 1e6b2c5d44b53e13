// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"time"
)

const (
	// exitWithParentEnv is set by tests. A test binary that is killed or times
	// out can't stop the servers it started; they notice by themselves.
	exitWithParentEnv    = "LOCALCLUSTER_EXIT_WITH_PARENT"
	parentCheckInterval  = 500 * time.Millisecond
	exitCodeParentIsGone = 3
)

// exitWithParent ends this process soon after the one that started it has
// ended. Asking for the parent's pid works on every Unix; a death signal from
// the kernel would follow the thread that forked, not the process.
func exitWithParent() {
	if os.Getenv(exitWithParentEnv) == "" {
		return
	}
	parent := os.Getppid()
	go func() {
		for range time.Tick(parentCheckInterval) {
			if os.Getppid() != parent {
				os.Exit(exitCodeParentIsGone)
			}
		}
	}()
}

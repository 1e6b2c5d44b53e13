// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// identify returns what tells a process from every other that ever had its
// pid, and false when no such process runs. A zombie does not run.
func identify(pid int) (string, bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", false
	}
	// The command name may hold spaces and parentheses; what follows the last
	// one is state (field 3) and on. Field 22 is the start time in ticks since boot.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return "", false
	}
	// Ticks start again with each boot, so the boot belongs to the identity.
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", false
	}
	return strings.TrimSpace(string(boot)) + "/" + string(fields[19]), true
}

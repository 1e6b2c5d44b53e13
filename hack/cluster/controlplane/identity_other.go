// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package controlplane

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// identify returns what tells a process from every other that ever had its
// pid, and false when no such process runs. A zombie does not run.
func identify(pid int) (string, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "ps", "-o", "stat=,lstart=", "-p", strconv.Itoa(pid)).Output()
	state, started, found := strings.Cut(strings.TrimSpace(string(out)), " ")
	if err != nil || !found || strings.HasPrefix(state, "Z") {
		return "", false
	}
	return strings.TrimSpace(started), true
}

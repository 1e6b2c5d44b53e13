// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// runningThreads counts the threads of a process that are not stopped (proc_pid_stat(5): the state follows the name, which
// is in parentheses).
func runningThreads(pid int) (int, error) {
	files, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "stat"))
	if err != nil {
		return 0, err
	}
	running := 0
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the thread ended
		}
		if err != nil {
			return 0, err
		}
		if end := bytes.LastIndexByte(stat, ')'); end+2 < len(stat) && stat[end+2] != 'T' {
			running++
		}
	}
	return running, nil
}

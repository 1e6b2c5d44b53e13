// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package announce says where a program listens, which only it knows when it was told to take any port.
package announce

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Prefix begins the line by which a program says where it listens; the base URL follows.
const Prefix = "listening on "

// URL writes the line to w and, where file is not empty, the URL to file. The file appears complete or not at all, so that
// whoever waits for it never reads half an address. It returns the errors of the file system and of w.
func URL(url, file string, w io.Writer) error {
	if file != "" {
		half := filepath.Join(filepath.Dir(file), "."+filepath.Base(file)+".new")
		if err := os.WriteFile(half, []byte(url+"\n"), 0o644); err != nil {
			return err
		}
		if err := os.Rename(half, file); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, Prefix+url)
	return err
}

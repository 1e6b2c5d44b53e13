// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package announce_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/delegation-dev/delegation-operator/internal/announce"
)

const url = "http://127.0.0.1:41234"

func TestURL(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "address")
	for _, c := range []struct {
		name, file string
		written    bool
		err        error
	}{
		{name: "without a file"},
		{name: "with one", file: file, written: true},
		{name: "in the place of an old one", file: file, written: true},
		{name: "in a folder that is not there", file: filepath.Join(dir, "missing", "address"), err: fs.ErrNotExist},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := announce.URL(url, c.file, &out); !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if want := announce.Prefix + url + "\n"; c.err == nil && out.String() != want {
				t.Errorf("said %q, want %q", out.String(), want)
			}
			if !c.written {
				return
			}
			if text, err := os.ReadFile(c.file); err != nil || string(text) != url+"\n" {
				t.Errorf("the file holds %q, %v", text, err)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
				t.Errorf("%d files are left, %v", len(left), err)
			}
		})
	}
}

// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package save

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrExists says that a file is there already.
var ErrExists = errors.New("the file is there already")

// Dir writes files into one directory, and nowhere else: a name or a symbolic link that leads out of it is refused by the
// operating system's own walk (os.Root), whatever the name looks like.
type Dir struct {
	root *os.Root
	// Overwrite replaces files that are there.
	Overwrite bool
}

// Open makes the directory where it is missing.
func Open(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &Dir{root: root}, nil
}

// Close releases the directory.
func (d *Dir) Close() error { return d.root.Close() }

// Write writes a file whole or not at all: under another name first, which it keeps only until all is written.
func (d *Dir) Write(name string, content []byte) (err error) {
	if _, err := d.root.Lstat(name); err == nil && !d.Overwrite {
		return fmt.Errorf("%s: %w; give --overwrite, or another directory", name, ErrExists)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	part := ".part-" + name
	// What is left of an earlier run that was killed, or a link that somebody put there.
	if err := d.root.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := d.root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err == nil {
		err = d.root.Rename(part, name)
	}
	if err != nil {
		return errors.Join(err, d.root.Remove(part))
	}
	return nil
}

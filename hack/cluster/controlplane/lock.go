// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lock keeps a second Up or Down of the same state directory out. The file
// lies beside the directory and is never removed: a lock file that is deleted
// can be held twice. The kernel lets go of it when its holder dies.
func (o Options) lock(ctx context.Context) (release func(), err error) {
	path := o.StateDir + ".lock"
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	said := false
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			_ = file.Close()
			return nil, fmt.Errorf("locking %s: %w", path, err)
		}
		if !said {
			o.printf("waiting for another start or stop of this control plane to finish")
			said = true
		}
		if !sleep(ctx, 200*time.Millisecond) {
			_ = file.Close()
			return nil, fmt.Errorf("another start or stop of this control plane holds %s: %w", path, context.Cause(ctx))
		}
	}
}

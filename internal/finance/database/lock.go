// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ErrLocked says that another process, or this one, holds the lock.
var ErrLocked = errors.New("in use by another process: end that one first, or use another directory")

// Lock takes the lock that the file stands for. It is held until it is closed, or its process ends in whatever way.
func Lock(ctx context.Context, path string) (io.Closer, error) {
	handle, err := sql.Open("sqlite", fileURL(path, url.Values{"_txlock": {"exclusive"}}))
	if err != nil {
		return nil, err
	}
	// The transaction is never committed: it holds the lock. Its end must not be that of the caller's context.
	tx, err := handle.BeginTx(context.WithoutCancel(ctx), nil)
	if err == nil {
		return &lock{handle: handle, tx: tx}, nil
	}
	if code := new(sqlite.Error); errors.As(err, &code) && code.Code()&0xff == sqlite3.SQLITE_BUSY {
		err = ErrLocked
	}
	return nil, fmt.Errorf("locking %s: %w", path, errors.Join(err, handle.Close()))
}

type lock struct {
	handle *sql.DB
	tx     *sql.Tx
}

// Close implements [io.Closer].
func (l *lock) Close() error { return errors.Join(l.tx.Rollback(), l.handle.Close()) }

// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

const (
	// BusyTimeout is how long a write to SQLite waits for another process's.
	BusyTimeout = 10 * time.Second
	// sqliteReaders is how many reads are under way at once.
	sqliteReaders = 4
	// sqliteRetry is the time between two looks at a database that another process is just making.
	sqliteRetry = 10 * time.Millisecond
)

// ErrPath says that no path of a file was given.
var ErrPath = errors.New("give the path of a file, such as /var/lib/a2a/state.db")

// SQLite is an open SQLite database. SQLite lets one write at a time: those of this process wait in order for the one
// connection that writes, rather than by trying again. Reads go by the others, and wait for nobody.
type SQLite struct{ Writer, Reader *sql.DB }

// OpenSQLite opens the file at path, which it makes when there is none, readable by its owner alone, and migrates the
// schema. Other tables in the file are left alone. Errors wrap ErrPath or ErrNewerSchema, or come from the file system and
// from SQLite.
func OpenSQLite(ctx context.Context, path string, schema Schema) (*SQLite, error) {
	if path == "" || path == ":memory:" || strings.HasPrefix(path, "file:") {
		return nil, fmt.Errorf("SQLite database %q: %w", path, ErrPath)
	}
	d, err := openSQLite(ctx, path, schema)
	if err != nil {
		return nil, fmt.Errorf("SQLite database %q: %w", path, err)
	}
	return d, nil
}

func openSQLite(ctx context.Context, path string, schema Schema) (*SQLite, error) {
	// SQLite would make the file readable by everybody.
	file, err := os.OpenFile(filepath.Clean(path), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	// What is not written then is the time of the file's last change. Where there is no fdatasync, fsync goes on.
	_, _ = sqlite.Fdatasync(true)
	d := &SQLite{}
	if d.Writer, err = sqliteConnections(path, 1, "journal_mode(WAL)", "synchronous(FULL)"); err != nil {
		return nil, err
	}
	if d.Reader, err = sqliteConnections(path, sqliteReaders, "query_only(1)"); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	if err := d.start(ctx, schema); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func sqliteConnections(path string, n int, pragmas ...string) (*sql.DB, error) {
	query := url.Values{"_txlock": {"immediate"}, "_pragma": {fmt.Sprintf("busy_timeout(%d)", BusyTimeout.Milliseconds())}}
	for _, pragma := range pragmas {
		query.Add("_pragma", pragma)
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: url.PathEscape(path), RawQuery: query.Encode()}).String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}

func (d *SQLite) start(ctx context.Context, schema Schema) error {
	if err := d.checkJournal(ctx); err != nil {
		return err
	}
	return schema.migrate(ctx, d.Writer, "") // the transaction begins with the write lock
}

// checkJournal opens the first connection, which turns the write-ahead log on. While another process is doing so, SQLite
// says busy at once, whatever the timeout.
func (d *SQLite) checkJournal(ctx context.Context) error {
	for {
		var mode string
		err := d.Writer.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode)
		switch {
		case err == nil && mode != "wal":
			return fmt.Errorf("journal mode is %s and can't be wal: use a local file system", mode)
		case err == nil:
			return nil
		case !isBusy(err):
			return err
		}
		select {
		case <-time.After(sqliteRetry):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

func isBusy(err error) bool {
	var failed *sqlite.Error
	return errors.As(err, &failed) && failed.Code()&0xff == sqlite3.SQLITE_BUSY
}

// Close waits for the calls that are under way and closes the connections.
func (d *SQLite) Close() error {
	var errs []error
	for _, db := range []*sql.DB{d.Reader, d.Writer} { // the last to close puts the log into the file
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

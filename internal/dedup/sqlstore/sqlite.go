// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlstore

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

	"github.com/delegation-dev/delegation-operator/internal/dedup"
)

const (
	// sqliteBusyTimeout is how long a write waits for another process's.
	sqliteBusyTimeout = 10 * time.Second

	// sqliteReaders is how many repeats are answered at once.
	sqliteReaders = 4

	sqliteFind = "SELECT digest, owner, lease, expires, kind, outcome FROM a2a_dedup_messages WHERE id = ?1 AND expires > ?2"

	sqliteInsert = "INSERT INTO a2a_dedup_messages (id, principal, message_id, digest, owner, lease, expires, kind, outcome)" +
		" VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, x'')" +
		" ON CONFLICT (id) DO UPDATE SET digest = excluded.digest, owner = excluded.owner, lease = excluded.lease," +
		" expires = excluded.expires, kind = 0, outcome = x''" +
		" WHERE a2a_dedup_messages.expires <= ?8"

	sqliteHold = "UPDATE a2a_dedup_messages SET owner = ?3, lease = ?4, expires = MAX(expires, ?5)" +
		" WHERE id = ?1 AND digest = ?2 AND kind = 0 AND expires > ?6 AND (owner = ?3 OR lease <= ?6)"

	sqliteExpire = "DELETE FROM a2a_dedup_messages WHERE id IN" +
		" (SELECT id FROM a2a_dedup_messages WHERE expires <= ?1 ORDER BY expires LIMIT ?2)"
)

// sqliteDB has one connection that writes, since SQLite lets one write at a time, and the others wait in
// order rather than by trying again; reads go by the others, and wait for nobody.
type sqliteDB struct {
	writer, reader               *sql.DB
	find, insertion, holding, gc *sql.Stmt
}

// OpenSQLite opens the table in the file at path, which it makes when there is none, readable by its owner
// alone. Other tables in the file are left alone.
func OpenSQLite(path string) (*Store, error) {
	if path == "" || path == ":memory:" || strings.HasPrefix(path, "file:") {
		return nil, fmt.Errorf("sqlstore: SQLite database %q: give the path of a file", path)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*sqliteBusyTimeout)
	defer cancel()
	d, err := openSQLite(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: SQLite database %q: %w", path, err)
	}
	return newStore(ctx, d)
}

func openSQLite(ctx context.Context, path string) (*sqliteDB, error) {
	// SQLite would make the file readable by everybody, and replies are in it.
	file, err := os.OpenFile(filepath.Clean(path), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	d := &sqliteDB{}
	if d.writer, err = sqliteConnections(path, 1, "journal_mode(WAL)", "synchronous(FULL)"); err != nil {
		return nil, err
	}
	if d.reader, err = sqliteConnections(path, sqliteReaders, "query_only(1)"); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	if err := d.start(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func sqliteConnections(path string, n int, pragmas ...string) (*sql.DB, error) {
	query := url.Values{"_txlock": {"immediate"}, "_pragma": {fmt.Sprintf("busy_timeout(%d)", sqliteBusyTimeout.Milliseconds())}}
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

func (d *sqliteDB) start(ctx context.Context) error {
	if err := d.checkJournal(ctx); err != nil {
		return err
	}
	if err := migrate(ctx, d.writer, ""); err != nil { // its transaction begins with the write lock
		return err
	}
	return errors.Join(
		prepared(ctx, d.reader, sqliteFind, &d.find),
		prepared(ctx, d.writer, sqliteInsert, &d.insertion),
		prepared(ctx, d.writer, sqliteHold, &d.holding),
		prepared(ctx, d.writer, sqliteExpire, &d.gc),
	)
}

// checkJournal opens the first connection, which turns the write-ahead log on. While another process is
// doing so, SQLite says busy at once, whatever the timeout.
func (d *sqliteDB) checkJournal(ctx context.Context) error {
	for {
		var mode string
		err := d.writer.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode)
		switch {
		case err == nil && mode != "wal":
			return fmt.Errorf("journal mode is %s and can't be wal: use a local file system", mode)
		case err == nil:
			return nil
		case !isBusy(err):
			return err
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

func isBusy(err error) bool {
	var failed *sqlite.Error
	return errors.As(err, &failed) && failed.Code()&0xff == sqlite3.SQLITE_BUSY
}

func prepared(ctx context.Context, db *sql.DB, statement string, target **sql.Stmt) (err error) {
	*target, err = db.PrepareContext(ctx, statement)
	return err
}

func (d *sqliteDB) prepare(ctx context.Context, statement string) (*sql.Stmt, error) {
	return d.writer.PrepareContext(ctx, strings.ReplaceAll(statement, "$", "?"))
}

func (d *sqliteDB) insert(ctx context.Context, id []byte, claim dedup.Claim) (*dedup.Row, bool, error) {
	// Repeats end here, without the write lock. That no live row is found proves nothing: the insert decides.
	var known scanned
	now := claim.Now.UnixMicro()
	err := d.find.QueryRowContext(ctx, id, now).Scan(&known.digest, &known.owner, &known.lease, &known.expires, &known.kind, &known.outcome)
	if err == nil {
		return known.row(), false, nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return nil, false, err
	}
	row := &dedup.Row{Digest: claim.Digest, Owner: claim.Owner, Lease: claim.Now.Add(claim.Lease), Expires: claim.Now.Add(claim.Retention)}
	n, err := affected(d.insertion.ExecContext(ctx, id, readable(claim.Key.Principal), readable(claim.Key.MessageID),
		claim.Digest, claim.Owner, row.Lease.UnixMicro(), row.Expires.UnixMicro(), now))
	if err != nil || n == 0 {
		return nil, false, err
	}
	return row, true, nil
}

func (d *sqliteDB) hold(ctx context.Context, id []byte, claim dedup.Claim) (sql.Result, error) {
	now := claim.Now
	return d.holding.ExecContext(ctx, id, claim.Digest, claim.Owner,
		now.Add(claim.Lease).UnixMicro(), now.Add(claim.Retention).UnixMicro(), now.UnixMicro())
}

func (d *sqliteDB) expire(ctx context.Context, now time.Time, limit int) (sql.Result, error) {
	return d.gc.ExecContext(ctx, now.UnixMicro(), limit)
}

func (d *sqliteDB) Close() error {
	var errs []error
	for _, db := range []*sql.DB{d.reader, d.writer} { // the last to close puts the log into the file
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

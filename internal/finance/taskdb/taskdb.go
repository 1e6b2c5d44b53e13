// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package taskdb keeps an agent's tasks and their steps in one SQLite file.
//
// The tasks behave as those of the SDK's store in memory do; the conformance test holds both to one table. A step
// can't be recorded of a task that isn't there.
package taskdb

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"

	"github.com/delegation-dev/delegation-operator/internal/finance/database"
)

var schema = database.Schema{Version: 1, Tables: `
CREATE TABLE tasks (
	id           TEXT PRIMARY KEY,
	user         TEXT NOT NULL,
	context_id   TEXT NOT NULL,
	state        TEXT NOT NULL,
	status_time  INTEGER, -- nanoseconds since 1970, as updated; NULL where the status has none
	updated      INTEGER NOT NULL,
	version      INTEGER NOT NULL,
	task         BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX tasks_by_update ON tasks (user, updated, id);
CREATE INDEX tasks_by_context ON tasks (user, context_id, updated, id);
CREATE INDEX tasks_by_state ON tasks (state);
CREATE TABLE messages (
	user       TEXT NOT NULL,
	message_id TEXT NOT NULL,
	task_id    TEXT NOT NULL REFERENCES tasks (id),
	PRIMARY KEY (user, message_id, task_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE steps (
	task_id TEXT NOT NULL REFERENCES tasks (id),
	number  INTEGER NOT NULL,
	kind    TEXT NOT NULL,
	state   TEXT NOT NULL CHECK (state IN ('planned', 'done')),
	input   BLOB,
	result  BLOB,
	PRIMARY KEY (task_id, number)
) STRICT, WITHOUT ROWID;
`}

// DB is the file.
type DB struct{ db *database.DB }

// Open opens the file, and makes it where there is none.
func Open(ctx context.Context, path string) (*DB, error) {
	db, err := database.Open(ctx, path, schema)
	if err != nil {
		return nil, err
	}
	d := &DB{db: db}
	if err := d.settleAll(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Close closes the file.
func (d *DB) Close() error { return d.db.Close() }

// Tasks is the file as a task store.
type Tasks struct {
	db   *database.DB
	user taskstore.Authenticator
	now  func() time.Time
}

var _ taskstore.Store = (*Tasks)(nil)

// Tasks returns the tasks, to each caller his own: user names the caller.
func (d *DB) Tasks(user taskstore.Authenticator) *Tasks {
	return &Tasks{db: d.db, user: user, now: time.Now}
}

func (t *Tasks) caller(ctx context.Context) (string, error) {
	user, err := t.user(ctx)
	if err != nil {
		return "", fmt.Errorf("task store: who calls: %w", err)
	}
	return user, nil
}

// Create implements [taskstore.Store].
func (t *Tasks) Create(ctx context.Context, task *a2a.Task) (taskstore.TaskVersion, error) {
	const first = taskstore.TaskVersion(1)
	user, err := t.caller(ctx)
	if err != nil {
		return taskstore.TaskVersionMissing, err
	}
	body, err := json.Marshal(task)
	if err != nil {
		return taskstore.TaskVersionMissing, err
	}
	err = t.db.Write(ctx, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `INSERT INTO tasks (id, user, context_id, state, status_time, updated, version, task)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
			string(task.ID), user, task.ContextID, string(task.Status.State), statusTime(task), t.now().UnixNano(), int64(first), body)
		if err != nil {
			return err
		}
		if added, err := result.RowsAffected(); err != nil || added == 0 {
			return errors.Join(err, taskstore.ErrTaskAlreadyExists)
		}
		return index(ctx, tx, user, task)
	})
	if err != nil {
		return taskstore.TaskVersionMissing, err
	}
	return first, nil
}

// Update implements [taskstore.Store].
func (t *Tasks) Update(ctx context.Context, update *taskstore.UpdateRequest) (version taskstore.TaskVersion, err error) {
	user, err := t.caller(ctx)
	if err != nil {
		return taskstore.TaskVersionMissing, err
	}
	task := update.Task
	body, err := json.Marshal(task)
	if err != nil {
		return taskstore.TaskVersionMissing, err
	}
	err = t.db.Write(ctx, func(tx *sql.Tx) error {
		var stored int64
		err := tx.QueryRowContext(ctx, `SELECT version FROM tasks WHERE id = ? AND user = ?`, string(task.ID), user).Scan(&stored)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return a2a.ErrTaskNotFound // also for another caller's task (A2A 1.0, section 3.3.2)
		case err != nil:
			return err
		case update.PrevVersion != taskstore.TaskVersionMissing && int64(update.PrevVersion) != stored:
			return taskstore.ErrConcurrentModification
		}
		version = taskstore.TaskVersion(stored + 1)
		_, err = tx.ExecContext(ctx, `UPDATE tasks SET context_id = ?, state = ?, status_time = ?, updated = ?, version = ?, task = ? WHERE id = ?`,
			task.ContextID, string(task.Status.State), statusTime(task), t.now().UnixNano(), int64(version), body, string(task.ID))
		if err != nil {
			return err
		}
		return index(ctx, tx, user, task)
	})
	if err != nil {
		return taskstore.TaskVersionMissing, err
	}
	return version, nil
}

// index enters the messages that clients sent, under which their task is found.
func index(ctx context.Context, tx *sql.Tx, user string, task *a2a.Task) error {
	for _, msg := range task.History {
		if msg == nil || msg.Role == a2a.MessageRoleAgent || msg.ID == "" {
			continue
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO messages (user, message_id, task_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`,
			user, msg.ID, string(task.ID))
		if err != nil {
			return err
		}
	}
	return nil
}

func statusTime(task *a2a.Task) sql.NullInt64 {
	if task.Status.Timestamp == nil {
		return sql.NullInt64{}
	}
	return sql.NullInt64{Int64: task.Status.Timestamp.UnixNano(), Valid: true}
}

// Get implements [taskstore.Store].
func (t *Tasks) Get(ctx context.Context, id a2a.TaskID) (*taskstore.StoredTask, error) {
	user, err := t.caller(ctx)
	if err != nil {
		return nil, err
	}
	var body []byte
	var version int64
	err = t.db.QueryRowContext(ctx, `SELECT task, version FROM tasks WHERE id = ? AND user = ?`, string(id), user).Scan(&body, &version)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, a2a.ErrTaskNotFound
	}
	if err != nil {
		return nil, err
	}
	task, err := decode(body)
	if err != nil {
		return nil, err
	}
	return &taskstore.StoredTask{Task: task, Version: taskstore.TaskVersion(version), User: user}, nil
}

// ByMessage returns the task that the caller's message made or continues. Of several, which only an agent without
// deduplication makes, it returns one.
func (t *Tasks) ByMessage(ctx context.Context, messageID string) (id a2a.TaskID, found bool, err error) {
	user, err := t.caller(ctx)
	if err != nil {
		return "", false, err
	}
	var one string
	err = t.db.QueryRowContext(ctx, `SELECT task_id FROM messages WHERE user = ? AND message_id = ? LIMIT 1`, user, messageID).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	return a2a.TaskID(one), err == nil, err
}

func decode(body []byte) (*a2a.Task, error) {
	task := &a2a.Task{}
	if err := json.Unmarshal(body, task); err != nil {
		return nil, fmt.Errorf("task store: %w", err)
	}
	return task, nil
}

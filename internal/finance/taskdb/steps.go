// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package taskdb

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/finance/agent"
	"github.com/delegation-dev/delegation-operator/internal/finance/database"
)

// Journal is the file as a journal of steps.
type Journal struct{ db *database.DB }

var _ agent.Journal = (*Journal)(nil)

// Journal returns the steps of all tasks.
func (d *DB) Journal() *Journal { return &Journal{db: d.db} }

const (
	planned = "planned"
	done    = "done"
)

// Steps implements [agent.Journal].
func (j *Journal) Steps(ctx context.Context, task a2a.TaskID) (steps []agent.Step, err error) {
	rows, err := j.db.QueryContext(ctx, `SELECT number, kind, state, input, result FROM steps WHERE task_id = ? ORDER BY number`, string(task))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var (
			step          agent.Step
			state         string
			input, result []byte
		)
		if err := rows.Scan(&step.Number, &step.Kind, &state, &input, &result); err != nil {
			return nil, err
		}
		step.Done, step.Input, step.Result = state == done, json.RawMessage(input), json.RawMessage(result)
		steps = append(steps, step)
	}
	return steps, rows.Err()
}

// Write implements [agent.Journal].
func (j *Journal) Write(ctx context.Context, task a2a.TaskID, steps ...agent.Step) error {
	return j.db.Write(ctx, func(tx *sql.Tx) error {
		for _, step := range steps {
			if err := write(ctx, tx, task, step); err != nil {
				return err
			}
		}
		return nil
	})
}

func write(ctx context.Context, tx *sql.Tx, task a2a.TaskID, step agent.Step) error {
	statement, value, state := `INSERT INTO steps (input, state, task_id, number, kind) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`, step.Input, planned
	if step.Done {
		statement, value, state = `UPDATE steps SET result = ?, state = ? WHERE task_id = ? AND number = ? AND kind = ? AND state = 'planned'`, step.Result, done
	}
	body, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("%w: %w", agent.ErrJournal, err)
	}
	result, err := tx.ExecContext(ctx, statement, body, state, string(task), step.Number, step.Kind)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return errors.Join(err, fmt.Errorf("%w: step %d, %s", agent.ErrJournal, step.Number, step.Kind))
	}
	return nil
}

// Settle implements [agent.Journal]. The steps stay, without what they held.
func (j *Journal) Settle(ctx context.Context, task a2a.TaskID) error {
	return j.db.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE steps SET input = NULL, result = NULL WHERE kind <> ? AND task_id = ?`, agent.KindPost, string(task))
		return err
	})
}

// settleAll settles the tasks whose end was stored right before that of the process.
func (d *DB) settleAll(ctx context.Context) error {
	return d.db.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE steps SET input = NULL, result = NULL WHERE kind <> ? AND input IS NOT NULL AND task_id IN
			(SELECT id FROM tasks WHERE state IN (?, ?, ?, ?))`, agent.KindPost,
			string(a2a.TaskStateCompleted), string(a2a.TaskStateCanceled), string(a2a.TaskStateFailed), string(a2a.TaskStateRejected))
		return err
	})
}

// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package taskdb

import (
	"context"
	"errors"
	"iter"

	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"
)

// All yields every caller's tasks, those first that have not changed for longest. It ends with the error that kept it
// from going on.
func (d *DB) All(ctx context.Context) iter.Seq2[*taskstore.StoredTask, error] {
	return func(yield func(*taskstore.StoredTask, error) bool) {
		if err := d.each(ctx, func(task *taskstore.StoredTask) bool { return yield(task, nil) }); err != nil {
			yield(nil, err)
		}
	}
}

func (d *DB) each(ctx context.Context, visit func(*taskstore.StoredTask) bool) (err error) {
	rows, err := d.db.QueryContext(ctx, `SELECT user, version, task FROM tasks ORDER BY updated, id`)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var (
			user    string
			version int64
			body    []byte
		)
		if err := rows.Scan(&user, &version, &body); err != nil {
			return err
		}
		task, err := decode(body)
		if err != nil {
			return err
		}
		if !visit(&taskstore.StoredTask{Task: task, Version: taskstore.TaskVersion(version), User: user}) {
			return nil
		}
	}
	return rows.Err()
}

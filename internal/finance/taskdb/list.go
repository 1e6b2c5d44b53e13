// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package taskdb

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// The bounds of a page and of the history in it, as in the SDK's store.
const (
	defaultPageSize = 50
	maxPageSize     = 100
	defaultHistory  = 100
)

// List implements [taskstore.Store]: the task that changed last comes first.
func (t *Tasks) List(ctx context.Context, req *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	user, err := t.user(ctx)
	if err != nil || user == "" {
		return nil, a2a.ErrUnauthenticated
	}
	size := req.PageSize
	if size == 0 {
		size = defaultPageSize
	}
	if size < 1 || size > maxPageSize {
		return nil, fmt.Errorf("page size must be between 1 and %d, got %d: %w", maxPageSize, size, a2a.ErrInvalidRequest)
	}
	where, args := filter(user, req)
	total := 0
	if err := t.db.QueryRowContext(ctx, "SELECT count(*) FROM tasks WHERE "+where, args...).Scan(&total); err != nil {
		return nil, err
	}
	if req.PageToken != "" {
		updated, id, err := readToken(req.PageToken)
		if err != nil {
			return nil, err
		}
		where, args = where+" AND (updated, id) < (?, ?)", append(args, updated, id)
	}
	tasks, next, err := t.page(ctx, where, args, size)
	if err != nil {
		return nil, err
	}
	for _, task := range tasks {
		trim(task, req)
	}
	return &a2a.ListTasksResponse{Tasks: tasks, TotalSize: total, PageSize: size, NextPageToken: next}, nil
}

func filter(user string, req *a2a.ListTasksRequest) (where string, args []any) {
	terms, args := []string{"user = ?"}, []any{user}
	add := func(term string, arg any) { terms, args = append(terms, term), append(args, arg) }
	if req.ContextID != "" {
		add("context_id = ?", req.ContextID)
	}
	if req.Status != a2a.TaskStateUnspecified {
		add("state = ?", string(req.Status))
	}
	if req.StatusTimestampAfter != nil {
		add("coalesce(status_time >= ?, 1)", req.StatusTimestampAfter.UnixNano())
	}
	return strings.Join(terms, " AND "), args
}

// page reads one row more than it returns, to know whether there is a next page.
func (t *Tasks) page(ctx context.Context, where string, args []any, size int) (tasks []*a2a.Task, next string, err error) {
	rows, err := t.db.QueryContext(ctx, "SELECT id, updated, task FROM tasks WHERE "+where+" ORDER BY updated DESC, id DESC LIMIT ?", append(args, size+1)...)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var (
		id      string
		updated int64
		body    sql.RawBytes
	)
	for rows.Next() {
		if len(tasks) == size {
			return tasks, writeToken(updated, id), nil
		}
		if err := rows.Scan(&id, &updated, &body); err != nil {
			return nil, "", err
		}
		task, err := decode(body)
		if err != nil {
			return nil, "", err
		}
		tasks = append(tasks, task)
	}
	return tasks, "", rows.Err()
}

func trim(task *a2a.Task, req *a2a.ListTasksRequest) {
	length := defaultHistory
	if req.HistoryLength != nil {
		length = *req.HistoryLength
	}
	if n := len(task.History); length >= 0 && n > length {
		task.History = task.History[n-length:]
	}
	if !req.IncludeArtifacts {
		task.Artifacts = nil
	}
}

// A page token is the last row before the page.
func writeToken(updated int64, id string) string {
	return base64.URLEncoding.EncodeToString([]byte(strconv.FormatInt(updated, 10) + "_" + id))
}

func readToken(token string) (updated int64, id string, err error) {
	decoded, err := base64.URLEncoding.DecodeString(token)
	if err != nil {
		return 0, "", a2a.ErrParseError
	}
	when, id, ok := strings.Cut(string(decoded), "_")
	if updated, err = strconv.ParseInt(when, 10, 64); err != nil || !ok {
		return 0, "", a2a.ErrParseError
	}
	return updated, id, nil
}

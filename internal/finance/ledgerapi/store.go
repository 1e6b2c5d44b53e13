// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ledgerapi

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/finance"
	"github.com/delegation-dev/delegation-operator/internal/finance/database"
)

// ErrOtherBody says that the idempotency key came before with another posting.
var ErrOtherBody = errors.New("idempotency key was used for another posting")

// Record is one posting of the ledger.
type Record struct {
	// ID is the ledger's, such as P-17; postings are numbered in the order in which they were made.
	ID      string          `json:"id"`
	Key     string          `json:"key"` // the idempotency key
	Posting finance.Posting `json:"posting"`
	// Created is when the posting was made.
	Created time.Time `json:"created"`
	// Received counts the requests that brought this posting under this key.
	Received int `json:"received"`
}

// Store is a ledger. It is safe for concurrent use.
type Store interface {
	// Post makes a posting, unless the key was used before: then it returns the posting of that time, and replayed. It
	// returns ErrOtherBody where that was another one.
	Post(ctx context.Context, key string, posting finance.Posting) (record Record, replayed bool, err error)
	// List returns the postings in the order of their making: all, or those whose key begins with prefix.
	List(ctx context.Context, prefix string) ([]Record, error)
	// Close ends the use of the ledger.
	Close() error
}

// file is a [Store] in SQLite.
type file struct{ db *database.DB }

var schema = database.Schema{Version: 1, Tables: `
CREATE TABLE postings (
	id       INTEGER PRIMARY KEY, -- without gaps: no posting is ever removed
	key      TEXT NOT NULL UNIQUE,
	posting  BLOB NOT NULL,
	created  INTEGER NOT NULL,
	received INTEGER NOT NULL
)`}

// Open opens the ledger in the file, and makes it where there is none.
func Open(ctx context.Context, path string) (Store, error) {
	db, err := database.Open(ctx, path, schema)
	if err != nil {
		return nil, err
	}
	return &file{db: db}, nil
}

// Close implements [Store].
func (s *file) Close() error { return s.db.Close() }

// Post implements [Store]. One statement decides.
func (s *file) Post(ctx context.Context, key string, posting finance.Posting) (record Record, replayed bool, err error) {
	body, err := json.Marshal(posting)
	if err != nil {
		return Record{}, false, err
	}
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		row := tx.QueryRowContext(ctx, `INSERT INTO postings (key, posting, created, received) VALUES (?, ?, ?, 1)
			ON CONFLICT (key) DO UPDATE SET received = received + 1 WHERE posting = excluded.posting
			RETURNING id, key, posting, created, received`, key, body, time.Now().UnixNano())
		record, err = scan(row.Scan)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrOtherBody
		}
		return err
	})
	return record, record.Received > 1, err
}

// List implements [Store].
func (s *file) List(ctx context.Context, prefix string) (records []Record, err error) {
	rows, err := s.db.QueryContext(ctx, `SELECT id, key, posting, created, received FROM postings
		WHERE substr(key, 1, length(?1)) = ?1 ORDER BY id`, prefix)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	records = []Record{}
	for rows.Next() {
		record, err := scan(rows.Scan)
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	return records, rows.Err()
}

func scan(into func(...any) error) (r Record, err error) {
	var id, created int64
	var body []byte
	if err := into(&id, &r.Key, &body, &created, &r.Received); err != nil {
		return Record{}, err
	}
	r.ID, r.Created = name(id), time.Unix(0, created).UTC()
	return r, json.Unmarshal(body, &r.Posting)
}

// name is the ledger's id of its n-th posting.
func name(n int64) string { return fmt.Sprintf("P-%d", n) }

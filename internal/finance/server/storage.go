// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
	"github.com/delegation-dev/delegation-operator/internal/dedup/sqlstore"
	"github.com/delegation-dev/delegation-operator/internal/finance/agent"
	"github.com/delegation-dev/delegation-operator/internal/finance/database"
	"github.com/delegation-dev/delegation-operator/internal/finance/ledgerapi"
	"github.com/delegation-dev/delegation-operator/internal/finance/taskdb"
)

// The files in the data directory.
const (
	lockFile     = "lock.db"
	tasksFile    = "tasks.db"    // tasks and their steps
	messagesFile = "messages.db" // the deduplication table
	ledgerFile   = "ledger.db"   // the agent's own ledger
)

// lease is how long the table waits for a process that holds a message and gives no sign of life. It is short, since
// the data directory's lock says that an earlier agent has ended.
const lease = 5 * time.Second

// storage is what the agent keeps, in memory or in files.
type storage struct {
	tasks    taskstore.Store
	journal  agent.Journal
	received dedup.Store
	ledger   agent.Ledger
	// postings is the agent's own ledger; nil where it posts to another.
	postings ledgerapi.Store
	// byMessage and stored are the files'; nil for what is in memory.
	byMessage func(ctx context.Context, messageID string) (a2a.TaskID, bool, error)
	stored    *taskdb.DB
	closers   []func() error
}

func openStorage(ctx context.Context, cfg Config) (*storage, error) {
	s := &storage{}
	open := s.openMemory
	if cfg.DataDir != "" {
		open = s.openFiles
	}
	if err := open(ctx, cfg); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *storage) openMemory(_ context.Context, cfg Config) error {
	s.tasks = taskstore.NewInMemory(&taskstore.InMemoryStoreConfig{Authenticator: a2asrv.NewTaskStoreAuthenticator()})
	s.journal = &agent.MemoryJournal{}
	s.received = dedup.NewMemory()
	return s.openLedger(cfg, func() (ledgerapi.Store, error) { return ledgerapi.NewMemory(), nil })
}

func (s *storage) openFiles(ctx context.Context, cfg Config) error {
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	in := func(file string) string { return filepath.Join(cfg.DataDir, file) }
	lock, err := database.Lock(ctx, in(lockFile))
	if err != nil {
		return fmt.Errorf("data directory %s: %w", cfg.DataDir, err)
	}
	s.closers = append(s.closers, lock.Close)
	if s.stored, err = taskdb.Open(ctx, in(tasksFile)); err != nil {
		return err
	}
	s.closers = append(s.closers, s.stored.Close)
	tasks := s.stored.Tasks(a2asrv.NewTaskStoreAuthenticator())
	s.tasks, s.byMessage, s.journal = tasks, tasks.ByMessage, s.stored.Journal()
	received, err := sqlstore.OpenSQLite(in(messagesFile))
	if err != nil {
		return err
	}
	s.received = received
	s.closers = append(s.closers, received.Close)
	return s.openLedger(cfg, func() (ledgerapi.Store, error) { return ledgerapi.Open(ctx, in(ledgerFile)) })
}

func (s *storage) openLedger(cfg Config, own func() (ledgerapi.Store, error)) (err error) {
	if cfg.LedgerURL != "" {
		s.ledger = ledgerapi.NewClient(cfg.LedgerURL, cfg.LedgerToken)
		return nil
	}
	if s.postings, err = own(); err != nil {
		return err
	}
	s.closers = append(s.closers, s.postings.Close)
	s.ledger = ledgerapi.NewLocalClient(ledgerapi.Handler(s.postings))
	return nil
}

// Close closes the files, the lock last.
func (s *storage) Close() error {
	var failed error
	for _, closeOne := range slices.Backward(s.closers) {
		failed = errors.Join(failed, closeOne())
	}
	return failed
}

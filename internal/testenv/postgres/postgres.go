// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package postgres runs a private PostgreSQL cluster for tests, from the binaries that are installed. It
// is reached by a socket in a folder of its own, so it needs no port. It ends with the test, and also
// when the test's process is killed.
package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver by the name pgx
)

const (
	// startTimeout bounds making a cluster and starting it.
	startTimeout = time.Minute

	superuser = "postgres"
)

// ErrMissing says that PostgreSQL is not installed.
var ErrMissing = errors.New("PostgreSQL is not installed: apt-get install postgresql")

// Server is one cluster.
type Server struct {
	install   install
	dir       string
	fsync     bool
	postgres  *process
	databases atomic.Int64
}

// Option changes how a cluster works.
type Option func(*Server)

// WithFsync makes commits reach the disk, for measurements. Without it they survive every crash but that
// of the machine, which no test needs.
func WithFsync() Option { return func(s *Server) { s.fsync = true } }

// Start returns a cluster that lives as long as the test. Where PostgreSQL is not installed the test fails with a message
// that says how to install it.
func Start(t testing.TB, options ...Option) *Server {
	t.Helper()
	s, err := New(t.Context(), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close PostgreSQL: %v", err)
		}
	})
	return s
}

// New is Start for a TestMain: the caller closes the cluster. It returns ErrMissing where PostgreSQL is
// not installed.
func New(ctx context.Context, options ...Option) (*Server, error) {
	installed, err := findInstall()
	if err != nil {
		return nil, err
	}
	removeLeftovers(os.TempDir())
	s := &Server{install: installed}
	for _, option := range options {
		option(s)
	}
	if s.dir, err = installed.makeDir(os.TempDir()); err != nil {
		return nil, fmt.Errorf("PostgreSQL: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := s.install.initdb(ctx, s.data()); err != nil {
		return nil, errors.Join(fmt.Errorf("PostgreSQL: %w", err), os.RemoveAll(s.dir))
	}
	if err := s.Run(ctx); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	return s, nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// Run starts the cluster again after Stop or Kill, with everything it held, and waits until it answers.
func (s *Server) Run(ctx context.Context) error {
	fsync := "fsync=off"
	if s.fsync {
		fsync = "fsync=on"
	}
	p, err := s.install.start(s.dir, "postgres", "-D", s.data(), "-k", s.dir,
		"-c", "listen_addresses=", "-c", fsync, "-c", "max_connections=200", "-c", "log_min_messages=fatal")
	if err != nil {
		return fmt.Errorf("PostgreSQL: %w", err)
	}
	s.postgres = p
	if err := s.ready(ctx); err != nil {
		return errors.Join(fmt.Errorf("PostgreSQL does not answer: %w: %s", err, p.log()), p.stop())
	}
	return nil
}

// Stop ends the cluster in order; connections break.
func (s *Server) Stop() error { return s.postgres.stop() }

// Kill ends the cluster as a crash does.
func (s *Server) Kill() error { return s.postgres.kill() }

// Close ends the cluster and removes it.
func (s *Server) Close() error { return errors.Join(s.postgres.stop(), os.RemoveAll(s.dir)) }

func (s *Server) ready(ctx context.Context) error {
	for {
		err := s.exec(ctx, "SELECT")
		if err == nil {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-s.postgres.ended:
			return err
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

// Database makes an empty database and returns its connection string, which the URL parsers of PostgreSQL's
// clients take: postgres://postgres@/NAME?host=FOLDER.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := "test" + strconv.FormatInt(s.databases.Add(1), 10)
	if err := s.exec(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatalf("PostgreSQL: make a database: %v", err)
	}
	return s.url(name)
}

func (s *Server) url(database string) string {
	return "postgres://" + superuser + "@/" + database + "?" + url.Values{"host": {s.dir}}.Encode()
}

func (s *Server) exec(ctx context.Context, statement string) (err error) {
	db, err := sql.Open("pgx", s.url("postgres"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	_, err = db.ExecContext(ctx, statement)
	return err
}

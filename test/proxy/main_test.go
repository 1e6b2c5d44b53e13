// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package proxy tests the deduplicating proxy as it runs in production: as processes, in front of an agent that does not
// deduplicate, on tables that survive. The agent's ledger says how often a message was executed.
package proxy

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/delegation-dev/delegation-operator/internal/testenv/postgres"
)

// server is nil where PostgreSQL is not installed.
var server *postgres.Server

func TestMain(m *testing.M) {
	flag.Parse()
	// The runs wait much more than they compute.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(runAll(m))
}

func runAll(m *testing.M) int {
	var err error
	server, err = postgres.New(context.Background())
	if err != nil && !errors.Is(err, postgres.ErrMissing) { // without it the tests that need it fail
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if server != nil {
		if err := server.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return max(code, 1)
		}
	}
	return code
}

// database returns the URL of an empty database.
func database(t *testing.T) string {
	t.Helper()
	if server == nil {
		t.Fatal(postgres.ErrMissing)
	}
	return server.Database(t)
}

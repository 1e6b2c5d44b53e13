// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/delegation-dev/delegation-operator/internal/testenv/postgres"
)

// begun says that a test needed the shared cluster.
var begun bool

// cluster is the one that the tests share, begun by the first that needs it.
var cluster = sync.OnceValues(func() (*postgres.Server, error) {
	begun = true
	return postgres.New(context.Background())
})

// database makes an empty one in the shared cluster.
func database(t *testing.T) string {
	t.Helper()
	server, err := cluster()
	if err != nil {
		t.Fatal(err)
	}
	return server.Database(t)
}

func TestMain(m *testing.M) {
	code := m.Run()
	if begun {
		if server, err := cluster(); err == nil {
			if err := server.Close(); err != nil {
				fmt.Fprintln(os.Stderr, "close PostgreSQL:", err)
				code = 1
			}
		}
	}
	os.Exit(code)
}

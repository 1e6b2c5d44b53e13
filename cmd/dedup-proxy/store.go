// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
	"github.com/delegation-dev/delegation-operator/internal/dedup/sqlstore"
)

// table is the store with its end.
type table interface {
	dedup.Store
	Close() error
}

// open opens the table that --store names.
func open(ctx context.Context, o *options) (table, error) {
	location, err := o.location()
	if err != nil {
		return nil, err
	}
	kind, rest, _ := strings.Cut(location, ":")
	switch {
	case kind == "sqlite" && rest != "":
		return opened(sqlstore.OpenSQLite(strings.TrimPrefix(rest, "//")))
	case kind == "postgres", kind == "postgresql":
		return opened(sqlstore.OpenPostgres(ctx, location))
	case location == "memory":
		slog.Warn("--store=memory: messages are forgotten when the proxy ends, and a repeat is a new message then")
		return memory{dedup.NewMemory()}, nil
	}
	// The location is not shown: it may hold a password.
	return nil, errors.New("--store: must be sqlite:PATH, postgres://… or memory")
}

func opened(s *sqlstore.Store, err error) (table, error) {
	if err != nil {
		return nil, fmt.Errorf("--store: %w", err)
	}
	return s, nil
}

// memory has nothing to close.
type memory struct{ *dedup.Memory }

// Close implements table.
func (memory) Close() error { return nil }

// ping says whether the table takes writes, by one that changes nothing: no message has an empty id.
func ping(ctx context.Context, store dedup.Store) error {
	return store.Release(ctx, dedup.Key{}, "readiness")
}

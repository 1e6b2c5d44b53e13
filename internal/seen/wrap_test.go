// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package seen_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/delegation-dev/delegation-operator/internal/seen"
	"github.com/delegation-dev/delegation-operator/internal/seen/seentest"
)

var errStore = errors.New("the store is down")

// broken is a store with calls that fail while they are told to.
type broken struct {
	seen.Store
	seen, remember bool
}

// Seen implements seen.Store.
func (b *broken) Seen(ctx context.Context, id string) (bool, error) {
	if b.seen {
		return false, errStore
	}
	return b.Store.Seen(ctx, id)
}

// Remember implements seen.Store.
func (b *broken) Remember(ctx context.Context, id string) error {
	if b.remember {
		return errStore
	}
	return b.Store.Remember(ctx, id)
}

func TestWrapWithBrokenStore(t *testing.T) {
	store := &broken{Store: newMemory(t, seentest.NewClock())}
	var log bytes.Buffer
	calls := 0
	handle := seen.Wrap(store, itself, func(context.Context, string) error {
		calls++
		return nil
	}, seen.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	for i, c := range []struct {
		name           string
		id             string
		seen, remember bool
		want           error
		calls          int
		logged         bool
	}{
		{name: "can't be asked: does not run, is repeated", id: "a", seen: true, want: errStore},
		{name: "can't be written: the work is done", id: "a", remember: true, calls: 1, logged: true},
		{name: "the repeat of it runs", id: "a", calls: 1},
		{name: "and is remembered", id: "a"},
		{name: "without an id no store is asked", seen: true, remember: true, calls: 1},
	} {
		store.seen, store.remember, calls = c.seen, c.remember, 0
		log.Reset()
		if err := handle(t.Context(), c.id); !errors.Is(err, c.want) || calls != c.calls || strings.Contains(log.String(), errStore.Error()) != c.logged {
			t.Errorf("%d %s: error %v, %d calls, log %q; want error %v, %d calls, logged: %t", i, c.name, err, calls, log.String(), c.want, c.calls, c.logged)
		}
	}
}

// A sender that hangs up once the work is done does not get it done twice.
func TestWrapRemembersWithoutTheSender(t *testing.T) {
	store := newMemory(t, seentest.NewClock())
	ctx, hangUp := context.WithCancel(t.Context())
	handle := seen.Wrap(store, itself, func(context.Context, string) error {
		hangUp()
		return nil
	})
	if err := handle(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	if known, err := store.Seen(t.Context(), "a"); !known || err != nil {
		t.Errorf("Seen = %t, %v", known, err)
	}
}

func TestWrapWithPanic(t *testing.T) {
	store := newMemory(t, seentest.NewClock())
	handle := seen.Wrap(store, itself, func(context.Context, string) error { panic(errStore) })
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic did not come through")
			}
		}()
		_ = handle(t.Context(), "a")
	}()
	if known, err := store.Seen(t.Context(), "a"); known || err != nil {
		t.Errorf("Seen = %t, %v", known, err)
	}
}

func itself(id string) string { return id }

// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// Patience bounds every wait for something that is expected at once. It is long because machines are busy.
	Patience = 90 * time.Second

	pollInterval = 25 * time.Millisecond
)

// Check looks at something once. It says what it saw, for the message of a wait that fails.
type Check func(ctx context.Context) (ok bool, saw string)

// Eventually waits until a check succeeds and fails the test if that takes longer than limit.
func Eventually(t testing.TB, limit time.Duration, what string, check Check) {
	t.Helper()
	saw := "nothing"
	err := wait.PollUntilContextTimeout(t.Context(), pollInterval, limit, true, func(ctx context.Context) (bool, error) {
		ok, now := check(ctx)
		// What is seen as the time runs out is only that it did.
		if ctx.Err() == nil {
			saw = now
		}
		return ok, nil
	})
	if err != nil {
		t.Fatalf("waited %s for %s; last seen: %s", limit, what, saw)
	}
}

// Throughout requires a check to succeed all the time for a while.
func Throughout(t testing.TB, while time.Duration, what string, check Check) {
	t.Helper()
	broken := ""
	err := wait.PollUntilContextTimeout(t.Context(), pollInterval, while, true, func(ctx context.Context) (bool, error) {
		ok, saw := check(ctx)
		if !ok && ctx.Err() == nil {
			broken = saw
			return true, nil
		}
		return false, nil
	})
	if err == nil {
		t.Fatalf("not for %s: %s; seen: %s", while, what, broken)
	}
}

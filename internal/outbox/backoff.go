// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"fmt"
	"hash/fnv"
	"time"
)

const (
	firstBackoff = time.Second
	maxBackoff   = time.Minute
	// Credentials rarely mend themselves; a changed Secret ends the wait at once.
	firstAuthBackoff = 15 * time.Second
	maxAuthBackoff   = 5 * time.Minute

	maxRetryAfter = 15 * time.Minute

	// maxBusyAttempts is how many attempts an agent is given to take a message that its task waits for: some five minutes.
	maxBusyAttempts = 10

	// maxResends is how many copies onUnknown: Resend sends at the most before a person has to decide: each may be a task.
	maxResends = 5

	minLookupInterval = time.Second
	maxLookupInterval = 30 * time.Second
	// unknownLookupInterval is how often a message of unknown outcome is looked up again.
	unknownLookupInterval = 10 * time.Minute

	// lookupSkew is how far the agent's clock may be behind.
	lookupSkew = 5 * time.Minute
	// deadlineGrace is how long a task past its active deadline is asked to cancel before the Delegation fails.
	deadlineGrace = time.Minute

	// taskLostAfter is how long an agent must deny a task that it once named before the operator believes it.
	taskLostAfter = time.Minute
	// releaseAfter is how long a deletion waits for an agent at the most.
	releaseAfter = 5 * time.Minute
	cancelRetry  = 5 * time.Second
	// journalRetry is how long the operator waits after a journal write that the API server did not confirm.
	journalRetry = 2 * time.Second
)

// backoff returns first·2^(n-1), at most limit, spread by ±20 % so that delegations that failed together do not come
// back together. The spread is taken from the message and the attempt, which makes the decision repeatable.
func backoff(first, limit time.Duration, n int32, messageID string) time.Duration {
	d := first
	for i := int32(1); i < n && d < limit; i++ {
		d *= 2
	}
	d = min(d, limit)
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%s/%d", messageID, n)
	return d*4/5 + d*2/5*time.Duration(h.Sum32()%1024)/1024
}

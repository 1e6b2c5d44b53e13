// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package push

import "time"

// What the manager allows.
var (
	// PerDelegation bounds the pushes that are handled for each Delegation.
	PerDelegation = Pace{PerSecond: 20, Burst: 40}
	// InAll bounds the pushes that are handled for all of them.
	InAll = Pace{PerSecond: 1000, Burst: 2000}
	// RelayPerDelegation bounds the pushes that are written to the API server for each Delegation.
	RelayPerDelegation = Pace{PerSecond: 1, Burst: 5}
	// RelayInAll bounds those that are written for all of them.
	RelayInAll = Pace{PerSecond: 50, Burst: 200}
)

const (
	// SeenEntries is how many pushes that were handled are remembered.
	SeenEntries = 20_000
	// SeenAge is how long.
	SeenAge = time.Hour
)

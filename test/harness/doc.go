// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package harness runs the operator and its agents as they run in production, as processes, against a real API server,
// and looks at them from outside: through the API, the agent's ledger, and proxies on both sides of the manager.
package harness

// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package push takes the push notifications of agents (A2A 1.0, section 3.5.3 and 4.3.3). A push has its task looked at, and nothing that
// it says is believed: whoever forges, repeats, delays or reorders one makes the operator ask the agent what is true.
//
// An agent gets a URL and a token for each Delegation. The token is derived from the Delegation's UID and one key, so that
// every replica knows it, before and after a restart, and nothing has to be stored.
package push

// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package outbox decides what happens to a Delegation. It does no I/O, reads no clock and draws no random number: Next
// maps what is known to the one action that may be taken now. The words in which the edges report to it (Exchange,
// Result) are defined here too, so that every part speaks of the same outcomes.
package outbox

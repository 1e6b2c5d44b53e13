// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

// Clean returns text from outside as one line without control characters, at most 1 KiB, fit for a condition.
func Clean(s string) string { return oneLine(s) }

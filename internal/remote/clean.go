// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

// Clean returns text from outside as one line without control characters, at most 1 KiB, fit for a condition.
func Clean(s string) string { return oneLine(s) }

// CleanText returns text from outside without what a terminal would act on. Line breaks and tabs stay, and nothing is cut.
func CleanText(s string) string { return printable(s) }

// PublicURL returns a URL without what is private in it: userinfo, query and fragment.
func PublicURL(s string) string { return publicURL(s) }

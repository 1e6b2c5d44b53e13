// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import "errors"

// ErrDenied says that the policy forbids a connection. Nothing was sent. Errors of Policy's methods that wrap it are of
// type *DeniedError.
var ErrDenied = errors.New("egress denied")

// DeniedError says which connection is forbidden, why, and which of the manager's flags decides it. Its text is fit to be
// shown to users: it names no address that they have not written themselves, but for the ranges that are denied by default.
type DeniedError struct {
	// Host is the host as it was asked for, without a port.
	Host string
	// Why says what is wrong with it, as the rest of a sentence that begins with the host.
	Why string
	// Remedy says which flag of the manager allows it.
	Remedy string
}

// Error implements error.
func (e *DeniedError) Error() string {
	return "the manager does not connect to " + e.Host + ": it " + e.Why + "; " + e.Remedy
}

// Is makes it an ErrDenied.
func (e *DeniedError) Is(target error) bool { return target == ErrDenied }

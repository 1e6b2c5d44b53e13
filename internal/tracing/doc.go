// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tracing tells an OpenTelemetry collector of Delegations. Each has one trace, whichever process works on it and
// however often that is killed: the ids of the trace and of its first span follow from the object's UID, so that nothing has
// to be kept. Agents are sent the context of the call in the headers of the W3C, and the message stays as it is.
package tracing

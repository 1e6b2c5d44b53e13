// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dedup makes a repeated A2A message harmless for the agent that receives it.
//
// The A2A 1.0 specification (section 3.3.1) lets an agent use the messageId to detect duplicates and
// leaves it to the agent. This package is the table an agent, or a proxy in front of one, needs for that:
//
//	(principal, messageId) → body digest, task or reply, expiry
//
// A row has two states. It is inserted while the first copy of the message is being processed, and
// bound once the outcome of that copy is known. One conditional insert decides which of several copies
// is the first, so copies that race, also through different replicas, make one task:
//
//	known row, other digest       → error, reason MESSAGE_ID_MISMATCH
//	known row, inserted           → error, reason MESSAGE_IN_PROGRESS: send the same message again later
//	known row, bound              → the task in its current state, or the stored reply; nothing is executed
//	no row, or an expired one     → this copy is the first: it is executed
//
// A first copy that was refused without a task releases its row, so that, for instance, an answer that
// came too early can be sent again when the task asks for it. Where a task may exist the row stays.
//
// # Limits
//
// A row that is inserted when its process dies stays so until it expires, and repeats are told to come
// back later: whether the task exists can be found out only from the task store, which is the caller's
// to do. The retention has to be longer than the longest time a client repeats a message, and longer
// than any single send takes.
package dedup

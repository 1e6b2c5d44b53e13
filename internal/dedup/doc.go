// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dedup makes a repeated A2A message harmless for the agent that receives it.
//
// The A2A 1.0 specification (section 3.3.1) lets an agent use the messageId to detect duplicates and
// leaves it to the agent. This package is the table an agent, or a proxy in front of one, needs for that:
//
//	(principal, messageId) → body digest, task or reply, owner, lease, expiry
//
// A row has two states. It is inserted while the first copy of the message is being processed, and
// bound once the outcome of that copy is known. Whoever inserted it is its owner, and is believed to live
// until its lease is over; it extends the lease as long as it processes the message. One conditional
// insert decides which of several copies is the first, and one conditional update which of several takes
// over a row whose owner is gone, so copies that race, also through different replicas, make one task:
//
//	no row, or an expired one          → first: this copy is executed or forwarded
//	known row, other digest            → error, reason MESSAGE_ID_MISMATCH
//	known row, inserted, owner lives   → error, reason MESSAGE_IN_PROGRESS: send the same message again later
//	known row, inserted, owner is gone → abandoned: this copy owns the row now, and looks the task up
//	known row, bound                   → the task in its current state, or the stored reply; nothing is executed
//
// An abandoned message may have made a task or not, and the table can't know. Where a [Lookup] finds the
// task, the row is bound to it; where it finds that there is none, the message is executed; without one
// the sender is told the reason MESSAGE_OUTCOME_UNKNOWN, and nothing is executed.
//
// A first copy that was refused without a task releases its row, so that, for instance, an answer that
// came too early can be sent again when the task asks for it. Where a task may exist the row stays, and
// is given up when its copy has come to an end, so that the next copy finds it abandoned.
//
// [Table] is that decision over any [Store]; [Handler] is a table inside an agent.
//
// # Limits
//
// A process that is paused between its last look at [Ticket.Held] and the write of its request, for longer
// than the rest of its lease, sends although another process holds the row by then. No lease can prevent
// that. The other one has looked the task up by then and not found it.
//
// The retention has to be longer than the longest time a client repeats a message. It counts from when the
// first copy was last known to be processed, so it may be shorter than a send takes.
package dedup

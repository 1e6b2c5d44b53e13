// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package seen lets a consumer of messages that may be delivered more than once process each of them once.
//
// Webhooks, queues and streams deliver at least once: the sender repeats what it got no acknowledgement for. [Wrap] puts a
// set of the ids that were processed in front of a handler:
//
//	no id                      → the handler runs: what can't be told apart is never dropped (fail open)
//	id in the set              → the handler does not run; success, so that the sender stops repeating
//	id not in the set          → the handler runs
//	    it succeeds            → the id is remembered; success
//	    it fails, or panics    → the id is not remembered; its error, so that the sender repeats and the handler runs again
//	the set can't be asked     → the handler does not run; the store's error, so that the sender repeats when it can
//	the id can't be remembered → success, since the work is done; it is logged, and a repeat runs the handler again
//
// The id is the message's own, taken as it is: not trimmed, not folded, and not an id that several messages share, such as
// that of a trace or a conversation. One [Store] serves one handler. Handlers that share a store put their own name in front
// of the id, or the first one's success would hide the message from the others.
//
// [Store.Forget] is for a replay that is wanted: the next delivery of that id runs the handler again.
//
// # What it does not do
//
// It is a record of what is done, not a lock on what is being done. Two copies that are handled at the same time both run,
// here and across processes, because neither has succeeded when the other is looked up. The same is true of a repeat after a
// crash between the handler's success and the write that remembers it, and of one that comes when the id has been evicted. So
// a handler has to be harmless when it runs twice; this package makes that rare, not impossible. It keeps no result either:
// a repeat is acknowledged, not answered with what the first copy returned.
//
// # Stores
//
// [Memory] belongs to one process and ends with it. Several replicas, or one that must remember across a restart, use the SQL
// stores of the package sqlstore below this one. Both keep a digest of fixed size in place of the id, so that a sender that chooses long ids does not
// choose how much is stored; and both forget ids after a time, which has to be longer than the sender repeats.
package seen

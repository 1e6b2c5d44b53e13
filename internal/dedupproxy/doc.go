// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dedupproxy is a reverse proxy that makes an A2A 1.0 agent safe to retry: a message that comes again
// returns what the first copy made, and executes nothing. The agent is not changed and may be in any language.
//
// Everything but sends and agent cards goes through untouched. A send is looked up in a [dedup.Table] under the
// verified caller, the tenant and the messageId, and only the first copy is forwarded. The proxy works on the bytes of
// the wire, in both bindings that run over HTTP, so that what it does not know is not lost.
//
//	first       → forwarded; bound to the task or the reply that came of it, released when the agent refused it
//	known       → GetTask at the agent, answered in the shape of the send; a stored reply is answered again
//	in progress → retry later
//	abandoned   → whoever forwarded the first copy is gone: the task is looked for at the agent, see [Lookup]
//
// An exchange with the agent that proves nothing (a broken connection, a 5xx, an unreadable answer) leaves the outcome
// open. The task is looked for at once; if that does not tell, the next copy is an abandoned one.
package dedupproxy

// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sqlstore keeps the deduplication table in SQLite or in PostgreSQL.
//
// Both hold one row per message, under the SHA-256 of principal and messageId, so that ids of any length
// and any bytes are told apart, and an index holds 32 bytes of each. The readable columns next to it are for
// people. Times are microseconds since 1970.
//
// # SQLite
//
// For one machine, also for several processes on it. The file must not be on a network file system: the
// write-ahead log needs shared memory. Every write reaches the disk before its call returns
// (synchronous=FULL), so that a bound row survives the loss of power. Leases and expiry go by the
// callers' clock, which the processes of one machine share.
//
// # PostgreSQL
//
// For replicas on several machines. Times are taken from the database's clock, never from a caller's:
// a replica whose clock is wrong neither takes over a row that is alive nor forgets one too early. What
// a replica compares on its own, [dedup.Ticket.Held], is a length of time measured from before the call
// that won the lease, so it ends before the lease does by the database's clock.
//
// Each decision is one statement. They rely on the isolation level READ COMMITTED, where a statement that
// waited for another one's row goes by the row as it is then; connections are set to it whatever the
// database's default is. synchronous_commit=off is set to on, and no other setting of it is touched.
// With asynchronous replication a failover loses the last commits, and with them rows: use
// synchronous_standby_names where that is not acceptable.
package sqlstore

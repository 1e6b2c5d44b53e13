// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sqldb opens the SQL databases that tables of this module are in, and brings their schema up to date.
//
// SQLite is for one machine, also for several processes on it. The file must not be on a network file system, since the
// write-ahead log needs shared memory. A write reaches the disk before its call returns (synchronous=FULL).
//
// PostgreSQL is for replicas on several machines. Sessions run at the isolation level READ COMMITTED, whatever the
// database's default is: a statement that waited for another one's row goes by the row as it is then. synchronous_commit=off
// is set to on. Behind a connection pooler that has no prepared statements, add default_query_exec_mode=exec to the URL.
package sqldb

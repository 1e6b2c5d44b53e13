// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package remote is one agent on the wire: the requests that the operator makes to it, and what each exchange proved.
//
// An outcome is decided on what was seen on the wire and never on an error's text. Three layers keep that true:
//
//   - wire and gate make one HTTP exchange and bring back evidence: whether a byte of the message may have left this
//     process, the status, the headers, and the body as far as it came.
//   - a binding (rpc for JSONRPC, rest for HTTP+JSON, unary for GRPC, legacyRPC for JSONRPC of A2A 0.3) turns a call into an
//     HTTP request, and a response into an answer: a result, in the JSON of A2A 1.0, or a fault.
//   - judge maps evidence and answer to an outbox.Outcome. It knows neither sockets nor bindings, so that the same answer
//     proves the same through each of them.
//
// Whatever is not proved is Ambiguous.
package remote

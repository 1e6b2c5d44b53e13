// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package egress decides which addresses this process may connect to on behalf of the users who name them: agents, their
// cards, token endpoints. It keeps what a user writes into an object from reaching what only this process can reach, such
// as the credentials that a cloud's metadata service hands to its node (server-side request forgery, CWE-918).
//
// A name is decided on before it is resolved, and each address on the socket that is about to be connected to it. Nothing
// is resolved between the check and the connection, so an answer of DNS that changes from one question to the next is
// judged by the address that is used.
package egress

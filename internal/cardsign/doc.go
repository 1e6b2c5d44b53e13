// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cardsign decides whether an agent card was signed by a key that is trusted (A2A 1.0, section 8.4). It has no I/O
// and no clock: it is given the document and the keys.
//
// A signature is a JWS (RFC 7515) over the canonical form (RFC 8785) of the card without its signatures. Keys come from who
// asks and from nowhere else: what a signature's header says about where its key is (jku, jwk, x5u, x5c) is not read, since
// whoever forges a card would put their own there. Of the header, the protected part alone counts.
package cardsign

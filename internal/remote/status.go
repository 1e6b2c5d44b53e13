// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"net/http"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// readStatus reads an error in the shape of AIP-193, which is {"error": google.rpc.Status} (A2A 1.0, section 11.6), or the
// bare google.rpc.Status that gRPC gateways write. Which A2A error it is stands in its details only: the HTTP status and
// the status word are those of a class of errors. One that names no A2A error is not the agent's own word, and leaves the
// judgement to the HTTP status.
func readStatus(o lax, status int) answer {
	if inner := object(o["error"]); inner != nil {
		o = inner
	}
	said, message := readDetails(o["details"]), o.text("message")
	f, known := said.fault(refuses(status))
	if !known {
		return answer{note: message, retryAfter: said.retryDelay}
	}
	f.label, f.message = "A2A error "+f.reason, message
	return answer{fault: &f, retryAfter: said.retryDelay}
}

// refuses reports whether an HTTP status says by itself that the request was not acted on.
func refuses(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// fault gives the fault of an error that its details identify, by the deduplicator's word or by the protocol's. An A2A
// error that this package does not know is a refusal where the error's class is one, and else proves nothing.
func (d details) fault(refused bool) (fault, bool) {
	if f, known := d.deduplicator(); known {
		return f, true
	}
	if f, known := d.named(); known {
		return f, true
	}
	switch {
	case d.protocol == nil:
		return fault{}, false
	case refused:
		return fault{outcome: outbox.Refused, reason: ReasonRequestRefused}, true
	}
	return fault{outcome: outbox.Ambiguous, reason: ReasonServerError}, true
}

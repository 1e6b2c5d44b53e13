// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// The reasons by which a deduplicating agent answers a repeated messageId, in an error detail of the kind
// google.rpc.ErrorInfo (A2A 1.0, section 3.3.2).
const (
	infoInProgress = "MESSAGE_IN_PROGRESS"
	infoMismatch   = "MESSAGE_ID_MISMATCH"
	infoUnresolved = "MESSAGE_OUTCOME_UNKNOWN"
)

// faults are the errors of A2A and of JSON-RPC (A2A 1.0, sections 3.3.2 and 5.4) by the reason of their ErrorInfo, for
// which the specification has their names in upper case. The outcomes are those of their JSON-RPC codes.
var faults = map[string]fault{
	"PARSE_ERROR":                        rpcFaults[-32700],
	"INVALID_REQUEST":                    rpcFaults[-32600],
	"METHOD_NOT_FOUND":                   rpcFaults[-32601],
	"INVALID_PARAMS":                     rpcFaults[-32602],
	"INTERNAL_ERROR":                     rpcFaults[-32603],
	"SERVER_ERROR":                       {outcome: outbox.Ambiguous, reason: ReasonServerError},
	"TASK_NOT_FOUND":                     rpcFaults[-32001],
	"TASK_NOT_CANCELABLE":                rpcFaults[-32002],
	"PUSH_NOTIFICATION_NOT_SUPPORTED":    rpcFaults[-32003],
	"UNSUPPORTED_OPERATION":              rpcFaults[-32004],
	"CONTENT_TYPE_NOT_SUPPORTED":         rpcFaults[-32005],
	"INVALID_AGENT_RESPONSE":             rpcFaults[-32006],
	"EXTENDED_AGENT_CARD_NOT_CONFIGURED": rpcFaults[-32007],
	"EXTENSION_SUPPORT_REQUIRED":         rpcFaults[-32008],
	"VERSION_NOT_SUPPORTED":              rpcFaults[-32009],
	"UNAUTHENTICATED":                    unauthenticated,
	"UNAUTHORIZED":                       permissionDenied,
}

// details is what the structured part of an error says.
type details struct {
	// reasons are those of all ErrorInfo objects; protocol are those of A2A's own domain.
	reasons, protocol []string
	retryDelay        time.Duration
}

// named gives the fault of the first A2A error that the details name and this package knows.
func (d details) named() (fault, bool) {
	for _, reason := range d.protocol {
		if f, known := faults[reason]; known {
			return f, true
		}
	}
	return fault{}, false
}

var (
	unauthenticated  = fault{outcome: outbox.Unauthorized, reason: "Unauthenticated"}
	permissionDenied = fault{outcome: outbox.Unauthorized, reason: "PermissionDenied"}
)

// deduplicator gives the fault of an agent that knows the messageId. It wins over the error's code, which can only name
// the nearest class of error.
func (d details) deduplicator() (fault, bool) {
	for _, r := range d.reasons {
		switch r {
		case infoInProgress:
			return fault{outcome: outbox.InProgress, reason: ReasonInProgress}, true
		case infoMismatch:
			return fault{outcome: outbox.Refused, reason: ReasonDigestMismatch}, true
		case infoUnresolved:
			return fault{outcome: outbox.Unresolved, reason: ReasonOutcomeUnknown}, true
		}
	}
	return fault{}, false
}

func (d *details) add(reason, domain string) {
	if reason == "" {
		return
	}
	d.reasons = append(d.reasons, reason)
	if domain == a2a.ProtocolDomain {
		d.protocol = append(d.protocol, reason)
	}
}

// readDetails reads the details of an error: by the specification an array of objects that name their type. An object, a
// string or anything else in its place is read as far as it goes, since a refusal must not get lost over it.
func readDetails(raw json.RawMessage) details {
	list := elements(raw)
	if list == nil {
		list = []json.RawMessage{raw}
	}
	var d details
	for _, item := range list {
		o := object(item)
		d.add(o.text("reason"), o.text("domain"))
		if strings.HasSuffix(o.text("@type"), "/google.rpc.RetryInfo") {
			if delay, err := time.ParseDuration(o.text("retryDelay")); err == nil {
				d.retryDelay = bounded(delay)
			}
		}
	}
	return d
}

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
)

// refusals are the A2A errors (A2A 1.0, sections 3.3.2 and 5.4) by the reason of their ErrorInfo. An invalid answer of the
// agent is not among them: a gateway may report it of a message that the agent took.
var refusals = map[string]string{
	"TASK_NOT_FOUND":                     ReasonTaskNotFound,
	"TASK_NOT_CANCELABLE":                ReasonTaskNotCancelable,
	"PUSH_NOTIFICATION_NOT_SUPPORTED":    "PushNotificationNotSupported",
	"UNSUPPORTED_OPERATION":              "UnsupportedOperation",
	"CONTENT_TYPE_NOT_SUPPORTED":         "ContentTypeNotSupported",
	"EXTENDED_AGENT_CARD_NOT_CONFIGURED": "ExtendedAgentCardNotConfigured",
	"EXTENSION_SUPPORT_REQUIRED":         "ExtensionSupportRequired",
	"VERSION_NOT_SUPPORTED":              "VersionNotSupported",
}

// details is what the structured part of an error says.
type details struct {
	// reasons are those of all ErrorInfo objects; protocol are those of A2A's own domain.
	reasons, protocol []string
	retryDelay        time.Duration
}

// identify gives the fault of a protocol error that no code names: by its details, or else nothing is proved.
func (d details) identify() fault {
	for _, r := range d.protocol {
		switch reason, known := refusals[r]; {
		case known:
			return fault{outcome: outbox.Refused, reason: reason}
		case r == a2a.ErrorReason(a2a.ErrUnauthenticated):
			return unauthenticated
		case r == a2a.ErrorReason(a2a.ErrUnauthorized):
			return permissionDenied
		}
	}
	return fault{outcome: outbox.Ambiguous, reason: ReasonServerError}
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
		}
	}
	return fault{}, false
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
		if reason := o.text("reason"); reason != "" {
			d.reasons = append(d.reasons, reason)
			if o.text("domain") == a2a.ProtocolDomain {
				d.protocol = append(d.protocol, reason)
			}
		}
		if strings.HasSuffix(o.text("@type"), "/google.rpc.RetryInfo") {
			if delay, err := time.ParseDuration(o.text("retryDelay")); err == nil {
				d.retryDelay = bounded(delay)
			}
		}
	}
	return d
}

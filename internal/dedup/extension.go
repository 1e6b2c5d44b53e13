// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// ExtensionURI names the agent card extension by which an agent promises to deduplicate messages on
// their messageId. A2A 1.0 has no card field for that; extensions are section 4.6 of it.
const ExtensionURI = "https://a2a.delegation.dev/extensions/message-deduplication/v1"

// ParamRetention is the extension's only parameter: how long a messageId is remembered, as a Go duration.
const ParamRetention = "retention"

// Extension is the card entry of an agent that remembers messages for the given time. It is never
// marked required: a client that does not know it loses nothing.
func Extension(retention time.Duration) a2a.AgentExtension {
	return a2a.AgentExtension{
		URI:         ExtensionURI,
		Description: "A repeated messageId with the same body returns the first copy's task and executes nothing.",
		Params:      map[string]any{ParamRetention: shortDuration(retention)},
	}
}

// shortDuration drops the zero units that Duration.String writes: 72h, not 72h0m0s.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

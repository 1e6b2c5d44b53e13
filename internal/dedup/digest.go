// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// digestedBody lists what makes two copies of a message the same message: what was said, and to which
// task or context. The transport's envelope, the role, metadata and extensions may differ from attempt
// to attempt (tracing headers, for instance) without making another message of it.
type digestedBody struct {
	Parts          a2a.ContentParts `json:"parts,omitempty"`
	TaskID         a2a.TaskID       `json:"taskId,omitempty"`
	ContextID      string           `json:"contextId,omitempty"`
	ReferenceTasks []a2a.TaskID     `json:"referenceTaskIds,omitempty"`
}

// Digest is the SHA-256 of the message's canonical body, as "sha256:" and lower-case hex.
//
// The canonical body is the JSON object of parts, taskId, contextId and referenceTaskIds with empty
// members left out, the members of every object sorted by name, no white space between tokens, numbers
// as IEEE 754 doubles and no escaping beyond what JSON requires. Two integers that differ only beyond
// 2^53 therefore have one digest.
//
// It returns an error for content that has no JSON form, which a message off the wire can't hold.
func Digest(msg *a2a.Message) (string, error) {
	wire, err := json.Marshal(digestedBody{
		Parts: msg.Parts, TaskID: msg.TaskID, ContextID: msg.ContextID, ReferenceTasks: msg.ReferenceTasks,
	})
	if err != nil {
		return "", fmt.Errorf("dedup: body has no JSON form: %w", err)
	}
	// Structs marshal in field order and maps in key order: through a map, both give the same bytes.
	var tree map[string]any
	if err := json.Unmarshal(wire, &tree); err != nil {
		return "", fmt.Errorf("dedup: body can't be read back: %w", err)
	}
	var canonical bytes.Buffer
	enc := json.NewEncoder(&canonical)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(tree); err != nil {
		return "", fmt.Errorf("dedup: body has no canonical form: %w", err)
	}
	sum := sha256.Sum256(bytes.TrimSuffix(canonical.Bytes(), []byte("\n")))
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

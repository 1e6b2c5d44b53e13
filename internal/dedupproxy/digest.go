// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedupproxy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// digest is the SHA-256 of what makes two copies of a message the same message: parts, taskId, contextId and
// referenceTaskIds, as canonical JSON in the form of [dedup.Digest]. It is made of the bytes on the wire, since a part
// of a kind that is not known here is content as well. Empty members are left out.
func digest(parts json.RawMessage, taskID, contextID string, references json.RawMessage) (string, error) {
	body := map[string]any{}
	if taskID != "" {
		body["taskId"] = taskID
	}
	if contextID != "" {
		body["contextId"] = contextID
	}
	for name, raw := range map[string]json.RawMessage{"parts": parts, "referenceTaskIds": references} {
		value, err := tree(raw)
		if err != nil {
			return "", fmt.Errorf("message.%s: %w", name, err)
		}
		if list, isList := value.([]any); value != nil && (!isList || len(list) > 0) {
			body[name] = value
		}
	}
	var canonical bytes.Buffer
	enc := json.NewEncoder(&canonical)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body); err != nil {
		return "", fmt.Errorf("message has no canonical form: %w", err)
	}
	sum := sha256.Sum256(bytes.TrimSuffix(canonical.Bytes(), []byte("\n")))
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// tree reads numbers as doubles, so that 1 and 1.0 are one. A number that is none keeps its digits.
func tree(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var value any
	if json.Unmarshal(raw, &value) == nil {
		return value, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err := d.Decode(&value)
	return value, err
}

// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/gowebpki/jcs"

	"github.com/delegation-dev/delegation-operator/internal/rawjson"
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

// digestedMembers are the names of the same, in canonical order.
var digestedMembers = []string{"contextId", "parts", "referenceTaskIds", "taskId"}

// Digest is [DigestJSON] of a message that was read already. It returns an error for content that has no
// JSON form, or one that is no I-JSON, which a message that the SDK read off the wire can't hold.
func Digest(msg *a2a.Message) (string, error) {
	wire, err := json.Marshal(digestedBody{
		Parts: msg.Parts, TaskID: msg.TaskID, ContextID: msg.ContextID, ReferenceTasks: msg.ReferenceTasks,
	})
	if err != nil {
		return "", fmt.Errorf("dedup: message has no JSON form: %w", err)
	}
	return DigestJSON(wire)
}

// DigestJSON is the SHA-256 of the canonical body of a message, given as its JSON (A2A 1.0, section
// 4.1.4), as "sha256:" and lower-case hex.
//
// The canonical body is the JSON object of contextId, parts, referenceTaskIds and taskId in the form of
// RFC 8785 (JCS). Of these, members that are missing, null or empty are left out, and so are the
// optional members of a part. Numbers are IEEE 754 doubles there: two integers that differ only beyond
// 2^53 have one digest. Members of a part that A2A does not know count: somebody may read them.
//
// It returns an error that names the member for a body whose members have the wrong type, and for what
// readers don't agree on (RFC 7493): names that occur twice, lone surrogates, numbers beyond a double.
func DigestJSON(message json.RawMessage) (string, error) {
	body, err := canonicalBody(message)
	if err != nil {
		return "", fmt.Errorf("dedup: %w", err)
	}
	sum := sha256.Sum256(body)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

func canonicalBody(message json.RawMessage) ([]byte, error) {
	if !json.Valid(message) {
		return nil, fmt.Errorf("message: %w", json.Unmarshal(message, new(json.RawMessage)))
	}
	all, err := members(message)
	if err != nil {
		return nil, fmt.Errorf("message: %w", err)
	}
	var body [][]byte
	for _, name := range digestedMembers {
		i := slices.IndexFunc(all, func(m rawjson.Member) bool { return m.Name == name })
		if i < 0 || empty(all[i].Value) {
			continue
		}
		value, err := canonicalMember(name, all[i].Value)
		if err != nil {
			return nil, fmt.Errorf("message.%s: %w", name, err)
		}
		body = append(body, slices.Concat([]byte(`"`+name+`":`), value))
	}
	return join('{', body, '}'), nil
}

func canonicalMember(name string, value json.RawMessage) ([]byte, error) {
	switch name {
	case "parts":
		return canonicalParts(value)
	case "referenceTaskIds":
		if err := json.Unmarshal(value, new([]string)); err != nil {
			return nil, err
		}
	default:
		if err := json.Unmarshal(value, new(string)); err != nil {
			return nil, err
		}
	}
	return jcs.Transform(value)
}

// optionalPartMembers may be missing, null or empty in a part, which means the same. The null of data is
// a value; an empty text is a text.
var optionalPartMembers = map[string]func(json.RawMessage) bool{
	"filename": empty, "mediaType": empty, "metadata": empty, "url": empty,
	"text": null, "raw": null,
}

// canonicalParts makes the text canonical first. Its pieces are canonical then, also the members that are kept of a part in
// the order they had.
func canonicalParts(value json.RawMessage) ([]byte, error) {
	if value[0] != '[' {
		return nil, errNotArray
	}
	canonical, err := jcs.Transform(value)
	if err != nil {
		return nil, err
	}
	var texts [][]byte
	for part := range rawjson.Elements(canonical) {
		text, err := canonicalPart(part)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", len(texts), err)
		}
		texts = append(texts, text)
	}
	return join('[', texts, ']'), nil
}

func canonicalPart(part json.RawMessage) ([]byte, error) {
	all, err := members(part)
	if err != nil {
		return nil, err
	}
	var kept [][]byte
	for _, m := range all {
		if unset, optional := optionalPartMembers[m.Name]; !optional || !unset(m.Value) {
			kept = append(kept, m.Text)
		}
	}
	return join('{', kept, '}'), nil
}

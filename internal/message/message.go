// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package message builds a Delegation's message as it goes over the wire, and the digest that names its body.
package message

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// MaxBytes is how large the content of a message may be. etcd holds what a manifest holds; this bounds what its sources
// may add.
const MaxBytes = 8 << 20

// MaxInlineBytes is how large spec.message may be as JSON. The object has to leave room in etcd (1.5 MiB in all) for the
// journal and the status: what can be sent must be able to be recorded.
const MaxInlineBytes = 1 << 20

var (
	// ErrTooLarge says that a message's content is over MaxBytes or MaxInlineBytes.
	ErrTooLarge = errors.New("the message is too large")
	// ErrInvalid says that a part can't be sent as it is.
	ErrInvalid = errors.New("the message is invalid")
)

// Source reads the value that a part takes from another object.
type Source func(v1alpha1.ValueSource) ([]byte, error)

// Message is a message ready to be sent.
type Message struct {
	// Request is what SendMessage takes.
	Request *a2a.SendMessageRequest
	// Digest is the SHA-256, as sha256:<hex>, of all that makes up the body: the parts, the task, the context, the
	// references, metadata, extensions and accepted output modes. The messageId is not in it: it names the body.
	Digest string
}

// Build makes the message of d in its envelope. A part whose source can't be read fails with the source's error,
// wrapped with the path of the part.
func Build(d *v1alpha1.Delegation, to outbox.Envelope, source Source) (*Message, error) {
	m := &a2a.Message{
		ID: to.MessageID, ContextID: to.ContextID, TaskID: a2a.TaskID(to.TaskID),
		Role: a2a.MessageRoleUser, Extensions: d.Spec.Message.Extensions,
	}
	for _, task := range to.References {
		m.ReferenceTasks = append(m.ReferenceTasks, a2a.TaskID(task))
	}
	if err := checkInline(&d.Spec.Message); err != nil {
		return nil, err
	}
	size := 0
	for i, p := range d.Spec.Message.Parts {
		part, n, err := build(p, source)
		if err != nil {
			return nil, fmt.Errorf("spec.message.parts[%d]: %w", i, err)
		}
		if size += n; size > MaxBytes {
			return nil, fmt.Errorf("spec.message.parts[%d]: %w: over %d bytes; send a url part instead", i, ErrTooLarge, MaxBytes)
		}
		m.Parts = append(m.Parts, part)
	}
	if meta := d.Spec.Message.Metadata; meta != nil {
		if err := decode(meta, &m.Metadata); err != nil {
			return nil, fmt.Errorf("spec.message.metadata: %w", err)
		}
	}
	req := &a2a.SendMessageRequest{Message: m, Config: &a2a.SendMessageConfig{AcceptedOutputModes: d.Spec.AcceptedOutputModes}}
	digest, err := digest(req)
	if err != nil {
		return nil, err
	}
	return &Message{Request: req, Digest: digest}, nil
}

// checkInline bounds what the manifest itself holds of a message.
func checkInline(m *v1alpha1.MessageTemplate) error {
	rough := 0
	for i := range m.Parts {
		p := &m.Parts[i]
		rough += len(ptr.Deref(p.Text, "")) + len(ptr.Deref(p.URL, "")) + len(p.Raw)
		if p.Data != nil {
			rough += len(p.Data.Raw)
		}
	}
	if m.Metadata != nil {
		rough += len(m.Metadata.Raw)
	}
	// JSON writes no byte in more than six; what is small in any case need not be written to be measured.
	if rough < MaxInlineBytes/8 {
		return nil
	}
	inline, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("spec.message: %w: %w", ErrInvalid, err)
	}
	if len(inline) > MaxInlineBytes {
		return fmt.Errorf("spec.message: %w: %d bytes in the manifest, and %d are allowed; take parts from ConfigMaps with valueFrom, or send url parts instead",
			ErrTooLarge, len(inline), MaxInlineBytes)
	}
	return nil
}

// build returns one part and the size of its content in bytes.
func build(p v1alpha1.Part, source Source) (*a2a.Part, int, error) {
	out := &a2a.Part{MediaType: p.MediaType, Filename: p.Filename}
	switch {
	case p.Text != nil:
		out.Content = a2a.Text(*p.Text)
		return out, len(*p.Text), nil
	case p.URL != nil:
		out.Content = a2a.URL(*p.URL)
		return out, len(*p.URL), nil
	case p.Data != nil:
		var value any
		if err := decode(p.Data, &value); err != nil {
			return nil, 0, err
		}
		out.Content = a2a.Data{Value: value}
		return out, len(p.Data.Raw), nil
	case p.ValueFrom != nil:
		content, err := source(*p.ValueFrom)
		if err != nil {
			return nil, 0, err
		}
		// A text part can hold nothing but UTF-8 (RFC 8259, section 8.1); what is not goes as bytes.
		if utf8.Valid(content) {
			out.Content = a2a.Text(content)
		} else {
			out.Content = a2a.Raw(content)
		}
		return out, len(content), nil
	case p.Raw != nil:
		out.Content = a2a.Raw(p.Raw)
		return out, len(p.Raw), nil
	}
	return nil, 0, fmt.Errorf("%w: set one of text, data, url, raw and valueFrom", ErrInvalid)
}

// decode keeps numbers as they are written: a float64 would change a long account number.
func decode(in *apiextensionsv1.JSON, into any) error {
	dec := json.NewDecoder(bytes.NewReader(in.Raw))
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return nil
}

// canonical is the body in a form that only depends on its content: encoding/json sorts the keys of maps, and this
// struct belongs to this package, so that a new SDK can't change the digest of a message that is on its way.
type canonical struct {
	Parts      []canonicalPart `json:"parts"`
	TaskID     string          `json:"taskId,omitempty"`
	ContextID  string          `json:"contextId,omitempty"`
	References []a2a.TaskID    `json:"referenceTaskIds,omitempty"`
	Metadata   map[string]any  `json:"metadata,omitempty"`
	Extensions []string        `json:"extensions,omitempty"`
	Modes      []string        `json:"acceptedOutputModes,omitempty"`
}

type canonicalPart struct {
	Text      *string `json:"text,omitempty"`
	Raw       []byte  `json:"raw,omitempty"`
	Data      *any    `json:"data,omitempty"`
	URL       *string `json:"url,omitempty"`
	MediaType string  `json:"mediaType,omitempty"`
	Filename  string  `json:"filename,omitempty"`
}

func digest(req *a2a.SendMessageRequest) (string, error) {
	m := req.Message
	c := canonical{
		TaskID: string(m.TaskID), ContextID: m.ContextID, References: m.ReferenceTasks,
		Metadata: m.Metadata, Extensions: m.Extensions, Modes: req.Config.AcceptedOutputModes,
	}
	for _, p := range m.Parts {
		part := canonicalPart{MediaType: p.MediaType, Filename: p.Filename}
		switch v := p.Content.(type) {
		case a2a.Text:
			part.Text = (*string)(&v)
		case a2a.Raw:
			part.Raw = v
		case a2a.Data:
			part.Data = &v.Value
		case a2a.URL:
			part.URL = (*string)(&v)
		}
		c.Parts = append(c.Parts, part)
	}
	text, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

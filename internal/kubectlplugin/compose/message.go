// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package compose makes Delegations of what a command line says. What it reads comes through its arguments.
package compose

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"path/filepath"
	"strings"
	"unicode/utf8"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// The schema's limits for content in a manifest.
const (
	maxText = 256 << 10
	maxRaw  = 288 << 10
)

// Error names what on the command line is wrong, and what to write instead.
type Error struct{ Field, Problem, Remedy string }

// Error implements error.
func (e *Error) Error() string {
	text := e.Field + ": " + e.Problem
	if e.Remedy != "" {
		text += "; " + e.Remedy
	}
	return text
}

// Message is the content of a message as a command line gives it.
type Message struct {
	// PartsFile holds the parts, or a whole message, as YAML or JSON; - for standard input.
	PartsFile string
	Texts     []string
	Data      []string
	// Files are attached; ConfigMaps and Secrets are NAME/KEY.
	Files, ConfigMaps, Secrets []string
	Metadata                   string
	Extensions                 []string
}

// Reader reads a file that the command line names.
type Reader func(path string) ([]byte, error)

// Template makes the message: the parts of the file first, then texts, data, files, and values from ConfigMaps and Secrets.
func (m Message) Template(read Reader) (v1alpha1.MessageTemplate, error) {
	out := v1alpha1.MessageTemplate{}
	if m.PartsFile != "" {
		if err := m.fromFile(read, &out); err != nil {
			return out, err
		}
	}
	for _, text := range m.Texts {
		// JSON would have other characters for these, and the agent would get a text that nobody wrote.
		if !utf8.ValidString(text) {
			return out, &Error{"--text", "it is not UTF-8", "give it so, or as a file by --file PATH"}
		}
		out.Parts = append(out.Parts, v1alpha1.Part{Text: &text})
	}
	for _, text := range m.Data {
		value, err := object("--data", text)
		if err != nil {
			return out, err
		}
		out.Parts = append(out.Parts, v1alpha1.Part{Data: value})
	}
	for _, path := range m.Files {
		part, err := attached(read, path)
		if err != nil {
			return out, err
		}
		out.Parts = append(out.Parts, part)
	}
	if err := m.references(&out); err != nil {
		return out, err
	}
	if m.Metadata != "" {
		value, err := object("--metadata", m.Metadata)
		if err != nil {
			return out, err
		}
		out.Metadata = value
	}
	out.Extensions = append(out.Extensions, m.Extensions...)
	if len(out.Parts) == 0 {
		return out, &Error{"message", "there is nothing to send", "give --text TEXT, --data JSON, --file PATH, --from-configmap NAME/KEY or -f PARTS.yaml"}
	}
	return out, nil
}

// fromFile reads a list of parts, or an object as in spec.message.
func (m Message) fromFile(read Reader, into *v1alpha1.MessageTemplate) error {
	text, err := read(m.PartsFile)
	if err != nil {
		return err
	}
	if asJSON, convErr := yaml.YAMLToJSON(text); convErr == nil && bytes.HasPrefix(bytes.TrimSpace(asJSON), []byte("[")) {
		err = yaml.UnmarshalStrict(text, &into.Parts)
	} else {
		err = yaml.UnmarshalStrict(text, into)
	}
	if err != nil {
		return &Error{"--parts-file " + m.PartsFile, err.Error(), "it holds a list of parts such as [{text: Hello}], or an object as spec.message"}
	}
	return nil
}

func (m Message) references(into *v1alpha1.MessageTemplate) error {
	for _, list := range []struct {
		flag string
		refs []string
		set  func(*v1alpha1.ValueSource, *v1alpha1.KeyReference)
	}{
		{"--from-configmap", m.ConfigMaps, func(v *v1alpha1.ValueSource, r *v1alpha1.KeyReference) { v.ConfigMapKeyRef = r }},
		{"--from-secret", m.Secrets, func(v *v1alpha1.ValueSource, r *v1alpha1.KeyReference) { v.SecretKeyRef = r }},
	} {
		for _, text := range list.refs {
			name, key, ok := strings.Cut(text, "/")
			if !ok || name == "" || key == "" {
				return &Error{list.flag, fmt.Sprintf("%q names no key", text), "write NAME/KEY, such as september/ledger.csv"}
			}
			part := v1alpha1.Part{ValueFrom: &v1alpha1.ValueSource{}}
			list.set(part.ValueFrom, &v1alpha1.KeyReference{Name: name, Key: key})
			if part.MediaType = mediaType(key); part.MediaType != "" {
				part.Filename = key
			}
			into.Parts = append(into.Parts, part)
		}
	}
	return nil
}

// object checks that a text is a JSON object, which is all that A2A data and metadata can be here.
func object(flag, text string) (*apiextensionsv1.JSON, error) {
	if !utf8.ValidString(text) {
		return nil, &Error{flag, "it is not UTF-8", "JSON is"}
	}
	var value map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &value); err != nil || value == nil {
		problem := "it is no JSON object"
		if err != nil {
			problem += " (" + err.Error() + ")"
		}
		return nil, &Error{flag, problem, `write one such as '{"approve": true}'`}
	}
	var compacted bytes.Buffer
	if err := json.Compact(&compacted, []byte(text)); err != nil {
		return nil, &Error{flag, err.Error(), ""}
	}
	return &apiextensionsv1.JSON{Raw: compacted.Bytes()}, nil
}

// attached makes a part of a file: text where it is UTF-8, else bytes.
func attached(read Reader, path string) (v1alpha1.Part, error) {
	content, err := read(path)
	if err != nil {
		return v1alpha1.Part{}, err
	}
	name := filepath.Base(path)
	part := v1alpha1.Part{Filename: name, MediaType: mediaType(name)}
	limit := maxRaw
	if utf8.Valid(content) {
		text := string(content)
		part.Text, limit = &text, maxText
	} else {
		part.Raw = content
	}
	if len(content) > limit {
		return part, &Error{"--file " + path, fmt.Sprintf("%d bytes are too many for a manifest, which takes %d", len(content), limit), fmt.Sprintf(
			"put it into a ConfigMap with kubectl create configmap NAME --from-file=%s, and send it with --from-configmap NAME/%s", path, name)}
	}
	if len(content) == 0 {
		return part, &Error{"--file " + path, "the file is empty", ""}
	}
	return part, nil
}

// known are the media types of files that agents take most; what is not here comes from the system.
var known = map[string]string{".csv": "text/csv", ".md": "text/markdown", ".txt": "text/plain", ".json": "application/json", ".yaml": "application/yaml", ".pdf": "application/pdf"}

func mediaType(name string) string {
	ext := strings.ToLower(filepath.Ext(name))
	if t := known[ext]; t != "" {
		return t
	}
	t, _, err := mime.ParseMediaType(mime.TypeByExtension(ext))
	if err != nil {
		return ""
	}
	return t
}

// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

var files = map[string]string{
	"a/ledger.csv": "1,2", "raw.pdf": "\xff\xfe", "empty.txt": "", "large.txt": strings.Repeat("x", maxText+1), "list.yaml": "- text: one\n- data: {a: 1}\n",
	"message.yaml": "parts: [{text: one}]\nmetadata: {k: v}\n", "wrong.yaml": "- txt: one\n",
}

func readFile(path string) ([]byte, error) {
	if text, ok := files[path]; ok {
		return []byte(text), nil
	}
	return nil, fs.ErrNotExist
}

func TestTemplate(t *testing.T) {
	for _, c := range []struct {
		name string
		m    Message
		want string
		err  string
	}{
		{"text and data", Message{Texts: []string{"one", "two"}, Data: []string{`{"a": 1}`}}, `{"parts":[{"text":"one"},{"text":"two"},{"data":{"a":1}}]}`, ""},
		{"files", Message{Files: []string{"a/ledger.csv", "raw.pdf"}},
			`{"parts":[{"text":"1,2","mediaType":"text/csv","filename":"ledger.csv"},{"raw":"//4=","mediaType":"application/pdf","filename":"raw.pdf"}]}`, ""},
		{"references", Message{ConfigMaps: []string{"september/bank.csv"}, Secrets: []string{"s/token"}},
			`{"parts":[{"valueFrom":{"configMapKeyRef":{"name":"september","key":"bank.csv"}},"mediaType":"text/csv","filename":"bank.csv"},{"valueFrom":{"secretKeyRef":{"name":"s","key":"token"}}}]}`, ""},
		{"list of parts", Message{PartsFile: "list.yaml", Texts: []string{"two"}}, `{"parts":[{"text":"one"},{"data":{"a":1}},{"text":"two"}]}`, ""},
		{"whole message", Message{PartsFile: "message.yaml"}, `{"parts":[{"text":"one"}],"metadata":{"k":"v"}}`, ""},
		{"metadata", Message{Texts: []string{"one"}, Metadata: `{"k":1}`, Extensions: []string{"u"}}, `{"parts":[{"text":"one"}],"metadata":{"k":1},"extensions":["u"]}`, ""},
		{"nothing", Message{}, "", "--text"},
		{"text in Latin-1", Message{Texts: []string{"fine", "\xff"}}, "", "--text: it is not UTF-8"},
		{"data in Latin-1", Message{Data: []string{"{\"a\": \"\xff\"}"}}, "", "--data: it is not UTF-8"},
		{"metadata in Latin-1", Message{Texts: []string{"one"}, Metadata: "{\"a\": \"\xff\"}"}, "", "--metadata: it is not UTF-8"},
		{"no object", Message{Data: []string{"null"}}, "", "--data"},
		{"unknown field", Message{PartsFile: "wrong.yaml"}, "", "txt"},
		{"too large", Message{Files: []string{"large.txt"}}, "", "kubectl create configmap"},
		{"empty", Message{Files: []string{"empty.txt"}}, "", "empty"},
		{"missing", Message{Files: []string{"missing"}}, "", "not exist"},
		{"no key", Message{Secrets: []string{"s"}}, "", "NAME/KEY"},
	} {
		got, err := c.m.Template(readFile)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: error %v, want %q", c.name, err, c.err)
			}
			continue
		}
		text, _ := yaml.Marshal(got)
		asJSON, _ := yaml.YAMLToJSON(text)
		wantJSON, wantErr := yaml.YAMLToJSON([]byte(c.want))
		if err != nil || wantErr != nil || string(asJSON) != string(wantJSON) {
			t.Errorf("%s: %s (%v), want %s", c.name, asJSON, err, wantJSON)
		}
	}
}

func TestIdsAndTimes(t *testing.T) {
	noon := time.Date(2026, 10, 1, 12, 0, 0, 5, time.FixedZone("", 3600))
	m, _ := Message{Texts: []string{"x"}}.Template(readFile)
	mint := func() string { return "minted" }
	for _, c := range []struct {
		name      string
		o         Options
		id, after string
	}{
		{"own agent", Options{Agent: "finance"}, "minted", ""},
		{"own agent in full", Options{Agent: "books/finance"}, "minted", ""},
		{"foreign agent", Options{Agent: "shared/finance"}, "books/minted", ""},
		{"given", Options{Agent: "shared/finance", MessageID: "books/m-71", NotAfter: "48h"}, "books/m-71", "2026-10-03T11:00:00Z"},
		{"time", Options{Agent: "finance", NotAfter: "2026-10-31T00:00:00+01:00"}, "minted", "2026-10-30T23:00:00Z"},
	} {
		c.o.Name, c.o.Namespace = "x", "books"
		d, err := Delegation(c.o, m, noon, mint)
		if err != nil || d.Spec.MessageID != c.id || d.Namespace != "" {
			t.Errorf("%s: %+v, %v", c.name, d, err)
			continue
		}
		if after := d.Spec.NotAfter; (after == nil) != (c.after == "") || after != nil && after.Format(time.RFC3339) != c.after {
			t.Errorf("%s: notAfter %v, want %q", c.name, after, c.after)
		}
	}
	var e *Error
	if _, err := Delegation(Options{Agent: "finance", TTL: time.Millisecond}, m, noon, mint); !errors.As(err, &e) || e.Field != "--ttl" {
		t.Errorf("%v", err)
	}
}

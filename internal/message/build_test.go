// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// errSource is what a source fails with.
var errSource = errors.New("the ConfigMap is not there")

// delegation of a message with these parts.
func delegation(parts ...v1alpha1.Part) *v1alpha1.Delegation {
	d := &v1alpha1.Delegation{}
	d.Spec.Message.Parts = parts
	return d
}

func text(s string) v1alpha1.Part   { return v1alpha1.Part{Text: &s} }
func url(s string) v1alpha1.Part    { return v1alpha1.Part{URL: &s} }
func raw(b ...byte) v1alpha1.Part   { return v1alpha1.Part{Raw: b} }
func data(s string) v1alpha1.Part   { return v1alpha1.Part{Data: object(s)} }
func source(k string) v1alpha1.Part { return fromConfigMap("ledger", k) }

func object(s string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(s)} }

func fromConfigMap(name, key string) v1alpha1.Part {
	return v1alpha1.Part{ValueFrom: &v1alpha1.ValueSource{ConfigMapKeyRef: &v1alpha1.KeyReference{Name: name, Key: key}}}
}

func named(p v1alpha1.Part, mediaType, filename string) v1alpha1.Part {
	p.MediaType, p.Filename = mediaType, filename
	return p
}

// contents is a source of these values by key.
type contents map[string]string

func (c contents) read(v v1alpha1.ValueSource) ([]byte, error) {
	ref := v.ConfigMapKeyRef
	if ref == nil {
		ref = v.SecretKeyRef
	}
	if value, ok := c[ref.Key]; ok {
		return []byte(value), nil
	}
	return nil, errSource
}

// built fails the test where the message can't be built.
func built(t *testing.T, d *v1alpha1.Delegation, c contents) *Message {
	t.Helper()
	m, err := Build(d, outbox.Envelope{MessageID: "m-71", ContextID: "c-recon-09"}, c.read)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// ledger is a message with all that there is.
func ledger() *v1alpha1.Delegation {
	d := delegation(
		text("Reconcile September 2026 <now> & for ever"),
		data(`{"period":"2026-09","account":12345678901234567890,"rate":1.10,"open":null}`),
		named(url("https://files.example.com/statement.pdf"), "application/pdf", "statement.pdf"),
		named(raw(0, 1, 0xff), "application/octet-stream", ""),
		named(source("september.csv"), "text/csv", "september.csv"),
		named(source("scan"), "image/png", "scan.png"),
	)
	d.Spec.Message.Metadata = object(`{"https://example.com/priority":7,"https://example.com/limit":1.10}`)
	d.Spec.Message.Extensions = []string{"https://example.com/ext/v1", "https://example.com/ext/v2"}
	d.Spec.AcceptedOutputModes = []string{"text/plain", "application/json"}
	return d
}

var ledgerContents = contents{"september.csv": "date,amount\n2026-09-01,1.10\n", "scan": "\x89PNG\xff"}

// The wire form is the specification's (A2A 1.0, section 4.1.4), written down by hand.
func TestWireForm(t *testing.T) {
	want := `{
	  "configuration": {"acceptedOutputModes": ["text/plain", "application/json"]},
	  "message": {
	    "messageId": "m-71", "contextId": "c-recon-09", "role": "ROLE_USER",
	    "extensions": ["https://example.com/ext/v1", "https://example.com/ext/v2"],
	    "metadata": {"https://example.com/priority": 7, "https://example.com/limit": 1.10},
	    "parts": [
	      {"text": "Reconcile September 2026 <now> & for ever"},
	      {"data": {"period": "2026-09", "account": 12345678901234567890, "rate": 1.10, "open": null}},
	      {"url": "https://files.example.com/statement.pdf", "mediaType": "application/pdf", "filename": "statement.pdf"},
	      {"raw": "AAH/", "mediaType": "application/octet-stream"},
	      {"text": "date,amount\n2026-09-01,1.10\n", "mediaType": "text/csv", "filename": "september.csv"},
	      {"raw": "iVBOR/8=", "mediaType": "image/png", "filename": "scan.png"}
	    ]
	  }
	}`
	sent, err := json.Marshal(built(t, ledger(), ledgerContents).Request)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(parsed(t, sent), parsed(t, []byte(want))) {
		t.Errorf("the request is\n%s\nwant\n%s", sent, want)
	}
}

// parsed keeps numbers as they are written.
func parsed(t *testing.T, text []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var out any
	if err := dec.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestMinimalWireForm(t *testing.T) {
	sent, err := json.Marshal(built(t, delegation(text("")), nil).Request.Message)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"messageId": "m-71", "contextId": "c-recon-09", "role": "ROLE_USER", "parts": [{"text": ""}]}`
	if !reflect.DeepEqual(parsed(t, sent), parsed(t, []byte(want))) {
		t.Errorf("the message is %s, want %s", sent, want)
	}
}

func TestValueFrom(t *testing.T) {
	secret := v1alpha1.Part{ValueFrom: &v1alpha1.ValueSource{SecretKeyRef: &v1alpha1.KeyReference{Name: "ledger", Key: "key"}}}
	cases := []struct {
		name, content string
		want          a2a.PartContent
	}{
		{"text", "date,amount", a2a.Text("date,amount")},
		{"empty", "", a2a.Text("")},
		{"text in UTF-8", "Übertrag € 🙂", a2a.Text("Übertrag € 🙂")},
		{"text with a NUL", "a\x00b", a2a.Text("a\x00b")},
		{"Latin-1", "\xdcbertrag", a2a.Raw("\xdcbertrag")},
		{"a character cut off", "€"[:2], a2a.Raw("€"[:2])},
		{"a lone surrogate", "\xed\xa0\x80", a2a.Raw("\xed\xa0\x80")},
	}
	for _, c := range cases {
		for kind, part := range map[string]v1alpha1.Part{"ConfigMap": source("key"), "Secret": secret} {
			t.Run(c.name+" of a "+kind, func(t *testing.T) {
				m := built(t, delegation(part), contents{"key": c.content})
				if got := m.Request.Message.Parts[0].Content; !reflect.DeepEqual(got, c.want) {
					t.Errorf("the part is %#v, want %#v", got, c.want)
				}
			})
		}
	}
}

func TestBuildFails(t *testing.T) {
	big := contents{"all": strings.Repeat("a", MaxBytes), "one": "a"}
	metadata := delegation(text("a"))
	metadata.Spec.Message.Metadata = object(`{"a":`)
	list := delegation(text("a"))
	list.Spec.Message.Metadata = object(`["a"]`)
	cases := []struct {
		name string
		d    *v1alpha1.Delegation
		is   error
		at   string
	}{
		{"a source", delegation(text("a"), source("one"), source("missing")), errSource, "spec.message.parts[2]: "},
		{"nothing set", delegation(named(v1alpha1.Part{}, "text/plain", "a")), ErrInvalid, "spec.message.parts[0]: "},
		{"data cut off", delegation(text("a"), data(`{"a":1`)), ErrInvalid, "spec.message.parts[1]: "},
		{"empty data", delegation(data(``)), ErrInvalid, "spec.message.parts[0]: "},
		{"metadata cut off", metadata, ErrInvalid, "spec.message.metadata: "},
		{"metadata that is a list", list, ErrInvalid, "spec.message.metadata: "},
		{"one byte too much in one part", delegation(text("a"), source("all")), ErrTooLarge, "spec.message.parts[1]: "},
		{"one byte too much in the last part", delegation(source("all"), raw(0)), ErrTooLarge, "spec.message.parts[1]: "},
		{"one byte too much in data", delegation(source("all"), data(`{}`)), ErrTooLarge, "spec.message.parts[1]: "},
		{"too much in the manifest", delegation(text(strings.Repeat("a", MaxInlineBytes))), ErrTooLarge, "spec.message: "},
		{"too much once it is written as JSON", delegation(text(strings.Repeat("\x01", MaxInlineBytes/4))), ErrTooLarge, "spec.message: "},
		{"one byte too much in a URL", delegation(source("all"), url("x:")), ErrTooLarge, "spec.message.parts[1]: "},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m, err := Build(c.d, outbox.Envelope{MessageID: "m-71", ContextID: "c-recon-09"}, big.read)
			if m != nil || !errors.Is(err, c.is) {
				t.Fatalf("%v, want %v", err, c.is)
			}
			if !strings.HasPrefix(err.Error(), c.at) {
				t.Errorf("%q does not begin with the path %q", err, c.at)
			}
			for _, other := range []error{errSource, ErrInvalid, ErrTooLarge} {
				if !errors.Is(other, c.is) && errors.Is(err, other) {
					t.Errorf("%v is %v too", err, other)
				}
			}
		})
	}
}

func TestInvalidDataKeepsItsCause(t *testing.T) {
	_, err := Build(delegation(data(`{"a":1`)), outbox.Envelope{MessageID: "m-71", ContextID: "c-recon-09"}, nil)
	if !errors.Is(err, ErrInvalid) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v, want %v and %v", err, ErrInvalid, io.ErrUnexpectedEOF)
	}
}

func TestMaxBytes(t *testing.T) {
	half := contents{"half": strings.Repeat("a", MaxBytes/2)}
	m := built(t, delegation(source("half"), source("half"), text("")), half)
	if n := len(m.Request.Message.Parts); n != 3 {
		t.Errorf("%d parts, want 3", n)
	}
}

// Other goroutines read the Delegation and other attempts send the request: building changes neither.
func TestBuildChangesNothing(t *testing.T) {
	d := ledger()
	first, second := built(t, d, ledgerContents), built(t, d, ledgerContents)
	if !reflect.DeepEqual(d, ledger()) {
		t.Error("the Delegation was changed")
	}
	if !reflect.DeepEqual(first, second) {
		t.Error("built twice, the message differs")
	}
}

func TestSourceIsAskedForWhatThePartNames(t *testing.T) {
	var asked []v1alpha1.ValueSource
	part := fromConfigMap("ledger", "september.csv")
	_, err := Build(delegation(text("a"), part), outbox.Envelope{MessageID: "m-71", ContextID: "c-recon-09"}, func(v v1alpha1.ValueSource) ([]byte, error) {
		asked = append(asked, v)
		return nil, nil
	})
	if want := []v1alpha1.ValueSource{*part.ValueFrom}; err != nil || !reflect.DeepEqual(asked, want) {
		t.Errorf("asked for %+v with error %v, want %+v", asked, err, want)
	}
}

// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// A message that is on its way carries the digest of the release that sent it first. A new release that computes another
// one would stop every such Delegation, so the canonical form and its digest are written down here and must never change.
func TestGoldenDigests(t *testing.T) {
	withMetadata := delegation(text("a"))
	withMetadata.Spec.Message.Metadata = object(`{"b":1.10,"a":{"d":12345678901234567890,"c":[]}}`)
	cases := []struct {
		name      string
		d         *v1alpha1.Delegation
		canonical string
		digest    string
	}{
		{
			"a text", delegation(text("Reconcile September 2026")),
			`{"parts":[{"text":"Reconcile September 2026"}],"contextId":"c-recon-09"}`,
			"sha256:c328042b19d1ccb257337779b6a52bb959e1a70cde8cc96a3e15d55079fbdf61",
		}, {
			"an empty text", delegation(text("")),
			`{"parts":[{"text":""}],"contextId":"c-recon-09"}`,
			"sha256:b78caddd442952ca5574f9c83fbbcde5aa0e7e68d8da3d0ba0d77a0891d938f3",
		}, {
			"characters that JSON escapes", delegation(text("<a> & \"b\"\n\u2028€")),
			`{"parts":[{"text":"\u003ca\u003e \u0026 \"b\"\n\u2028€"}],"contextId":"c-recon-09"}`,
			"sha256:4b936bf2727664984700a109e6a64a2a8e028b24702202892f25b14ca6a1903c",
		}, {
			"data", delegation(data(`{"period": "2026-09", "account": 12345678901234567890, "rate": 1.10, "open": null}`)),
			`{"parts":[{"data":{"account":12345678901234567890,"open":null,"period":"2026-09","rate":1.10}}],"contextId":"c-recon-09"}`,
			"sha256:c64b6023a95a0718aeac98860530a5b044d5bc7df15261689624f64ff7ca1c9d",
		}, {
			"a URL", delegation(named(url("https://files.example.com/a.pdf"), "application/pdf", "a.pdf")),
			`{"parts":[{"url":"https://files.example.com/a.pdf","mediaType":"application/pdf","filename":"a.pdf"}],"contextId":"c-recon-09"}`,
			"sha256:4a7626d77dd071104fd0ec77d12f9c592f8e97ebf922046e7d2692478da25064",
		}, {
			"raw", delegation(raw(0, 1, 0xff)),
			`{"parts":[{"raw":"AAH/"}],"contextId":"c-recon-09"}`,
			"sha256:6b957560803c7f36299337d850bab9da64148b551782ffb48419e42c9bb7c4d1",
		}, {
			"metadata", withMetadata,
			`{"parts":[{"text":"a"}],"contextId":"c-recon-09","metadata":{"a":{"c":[],"d":12345678901234567890},"b":1.10}}`,
			"sha256:337ff6e2f5c7c22fce275f84ab338ae85d0c01377ce2fa33a40a05aed5c4c1a0",
		}, {
			"all that there is", ledger(),
			`{"parts":[{"text":"Reconcile September 2026 \u003cnow\u003e \u0026 for ever"},` +
				`{"data":{"account":12345678901234567890,"open":null,"period":"2026-09","rate":1.10}},` +
				`{"url":"https://files.example.com/statement.pdf","mediaType":"application/pdf","filename":"statement.pdf"},` +
				`{"raw":"AAH/","mediaType":"application/octet-stream"},` +
				`{"text":"date,amount\n2026-09-01,1.10\n","mediaType":"text/csv","filename":"september.csv"},` +
				`{"raw":"iVBOR/8=","mediaType":"image/png","filename":"scan.png"}],` +
				`"contextId":"c-recon-09",` +
				`"metadata":{"https://example.com/limit":1.10,"https://example.com/priority":7},` +
				`"extensions":["https://example.com/ext/v1","https://example.com/ext/v2"],` +
				`"acceptedOutputModes":["text/plain","application/json"]}`,
			"sha256:b4d19692282b504f555fefc6028ad0cc585f16ce23b9e54f2481faae62f3d9e4",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			sum := sha256.Sum256([]byte(c.canonical))
			if want := "sha256:" + hex.EncodeToString(sum[:]); want != c.digest {
				t.Errorf("%s is the digest of the canonical form, and not %s", want, c.digest)
			}
			if got := built(t, c.d, ledgerContents).Digest; got != c.digest {
				t.Errorf("the digest is %s, want %s", got, c.digest)
			}
		})
	}
}

// So is that of a message that names tasks.
func TestGoldenDigestWithTasks(t *testing.T) {
	const (
		canonical = `{"parts":[{"text":"a"}],"taskId":"t-5a","contextId":"c-recon-09","referenceTaskIds":["t-1","t-2"]}`
		want      = "sha256:f8cafe60d6c84cd661a8e63d2adf183f6942b99c141ab624e51c79ccf09ff398"
	)
	req := built(t, delegation(text("a")), nil).Request
	req.Message.TaskID, req.Message.ReferenceTasks = "t-5a", []a2a.TaskID{"t-1", "t-2"}
	got, err := digest(req)
	sum := sha256.Sum256([]byte(canonical))
	if err != nil || got != want || got != "sha256:"+hex.EncodeToString(sum[:]) {
		t.Errorf("the digest is %s with error %v, want %s", got, err, want)
	}
}

// What the same content may look like in a manifest, and what only names the body, is not in the digest.
func TestDigestIsTheSame(t *testing.T) {
	plain := func() *v1alpha1.Delegation { return delegation(data(`{"a":{"x":1,"y":[1,2]},"b":1.10}`)) }
	withMetadata := func(s string) *v1alpha1.Delegation {
		d := plain()
		d.Spec.Message.Metadata = object(s)
		return d
	}
	emptyLists := plain()
	emptyLists.Spec.Message.Extensions, emptyLists.Spec.AcceptedOutputModes = []string{}, []string{}
	suspended := plain()
	suspended.Name, suspended.UID, suspended.Generation = "another", "uid-2", 7
	suspended.Spec.AgentRef.Name, suspended.Spec.MessageID = "another", "m-72"
	cases := []struct {
		name string
		a, b *v1alpha1.Delegation
	}{
		{"key order and spaces in data", plain(), delegation(data("\n{ \"b\": 1.10,\t\"a\": {\"y\": [1, 2], \"x\": 1}} "))},
		{"key order in metadata", withMetadata(`{"k":1,"l":{"m":1,"n":2}}`), withMetadata(`{"l":{"n":2,"m":1},"k":1}`)},
		{"how a character is written", delegation(data(`{"a":"\u20ac/"}`)), delegation(data(`{"a":"€\/"}`))},
		{"empty metadata and none", plain(), withMetadata(`{}`)},
		{"empty lists and none", plain(), emptyLists},
		{"where a text comes from", delegation(text("a,b")), delegation(source("text"))},
		{"where bytes come from", delegation(raw(0xff)), delegation(source("bytes"))},
		{"what is not in the message", plain(), suspended},
	}
	c := contents{"text": "a,b", "bytes": "\xff"}
	for _, row := range cases {
		t.Run(row.name, func(t *testing.T) {
			if a, b := built(t, row.a, c).Digest, built(t, row.b, c).Digest; a != b {
				t.Errorf("%s and %s differ", a, b)
			}
		})
	}
}

func TestDigestDoesNotDependOnTheMessageID(t *testing.T) {
	digests := map[string]bool{}
	for _, id := range []string{"", "m-71", "m-72"} {
		m, err := Build(ledger(), outbox.Envelope{MessageID: id, ContextID: "c-recon-09"}, ledgerContents.read)
		if err != nil {
			t.Fatal(err)
		}
		if m.Request.Message.ID != id {
			t.Errorf("the messageId is %q, want %q", m.Request.Message.ID, id)
		}
		digests[m.Digest] = true
	}
	if len(digests) != 1 {
		t.Errorf("%d digests of one body", len(digests))
	}
}

// Each change of each field is another body. All are compared with each other, so that no two changes look the same.
func TestDigestOfEveryChange(t *testing.T) {
	changes := map[string]func(*a2a.SendMessageRequest){
		"no change":           func(*a2a.SendMessageRequest) {},
		"context":             func(r *a2a.SendMessageRequest) { r.Message.ContextID = "c-recon-10" },
		"no context":          func(r *a2a.SendMessageRequest) { r.Message.ContextID = "" },
		"task":                func(r *a2a.SendMessageRequest) { r.Message.TaskID = "t-5a" },
		"reference":           func(r *a2a.SendMessageRequest) { r.Message.ReferenceTasks = []a2a.TaskID{"t-5a"} },
		"references":          func(r *a2a.SendMessageRequest) { r.Message.ReferenceTasks = []a2a.TaskID{"t-5a", "t-5b"} },
		"order of references": func(r *a2a.SendMessageRequest) { r.Message.ReferenceTasks = []a2a.TaskID{"t-5b", "t-5a"} },
		"no extensions":       func(r *a2a.SendMessageRequest) { r.Message.Extensions = nil },
		"order of extensions": func(r *a2a.SendMessageRequest) { swap(r.Message.Extensions) },
		"no modes":            func(r *a2a.SendMessageRequest) { r.Config.AcceptedOutputModes = nil },
		"order of modes":      func(r *a2a.SendMessageRequest) { swap(r.Config.AcceptedOutputModes) },
		"modes as extensions": func(r *a2a.SendMessageRequest) { r.Message.Extensions = append(r.Message.Extensions, "text/plain") },
		"no metadata":         func(r *a2a.SendMessageRequest) { r.Message.Metadata = nil },
		"a metadata value":    func(r *a2a.SendMessageRequest) { r.Message.Metadata["https://example.com/priority"] = "7" },
		"a metadata key":      func(r *a2a.SendMessageRequest) { r.Message.Metadata["b"] = nil },
		"order of parts":      func(r *a2a.SendMessageRequest) { swap(r.Message.Parts) },
		"a part less":         func(r *a2a.SendMessageRequest) { r.Message.Parts = r.Message.Parts[1:] },
		"a part twice":        func(r *a2a.SendMessageRequest) { r.Message.Parts = append(r.Message.Parts, r.Message.Parts[0]) },
		"media type":          func(r *a2a.SendMessageRequest) { r.Message.Parts[0].MediaType = "text/markdown" },
		"filename":            func(r *a2a.SendMessageRequest) { r.Message.Parts[0].Filename = "text/markdown" },
	}
	for name, content := range map[string]a2a.PartContent{
		"text": a2a.Text("YQ=="), "text with a space": a2a.Text("YQ== "), "empty text": a2a.Text(""),
		"raw": a2a.Raw("a"), "another raw": a2a.Raw("b"), "url": a2a.URL("YQ=="),
		"data text": a2a.Data{Value: "YQ=="}, "data null": a2a.Data{}, "data object": a2a.Data{Value: map[string]any{"text": "YQ=="}},
	} {
		changes["content: "+name] = func(r *a2a.SendMessageRequest) { r.Message.Parts[0].Content = content }
	}
	// Numbers are compared as they are written: a float64 can't tell the first two apart.
	for _, number := range []string{"12345678901234567890", "12345678901234567891", "1.1", "1.10", "1e400"} {
		changes["number "+number] = func(r *a2a.SendMessageRequest) {
			r.Message.Parts[0] = built(t, delegation(data(`{"n":`+number+`}`)), nil).Request.Message.Parts[0]
		}
	}
	seen := map[string]string{}
	for name, change := range changes {
		req := built(t, ledger(), ledgerContents).Request
		change(req)
		got, err := digest(req)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%q and %q have the same digest", name, other)
		}
		if !strings.HasPrefix(got, "sha256:") || len(got) != len("sha256:")+64 {
			t.Errorf("%s: %q is no SHA-256", name, got)
		}
		seen[got] = name
	}
}

func swap[T any](s []T) { s[0], s[1] = s[1], s[0] }

// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedup_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
)

func digestOf(t *testing.T, wire string) string {
	t.Helper()
	var msg a2a.Message
	if err := json.Unmarshal([]byte(wire), &msg); err != nil {
		t.Fatalf("test message: %v", err)
	}
	digest, err := dedup.Digest(&msg)
	if err != nil {
		t.Fatalf("Digest: %v", err)
	}
	return digest
}

const base = `{"messageId":"m","role":"ROLE_USER","contextId":"c","parts":[{"text":"a<b"},{"data":{"x":1,"y":[2,{"b":1,"a":2}]}}]}`

func TestDigestSameBody(t *testing.T) {
	for name, wire := range map[string]string{
		"other id":               strings.Replace(base, `"m"`, `"n"`, 1),
		"role":                   strings.Replace(base, "ROLE_USER", "ROLE_AGENT", 1),
		"message metadata":       strings.Replace(base, `"role"`, `"metadata":{"trace":"1"},"role"`, 1),
		"extensions":             strings.Replace(base, `"role"`, `"extensions":["u"],"role"`, 1),
		"order of members":       `{"contextId":"c","parts":[{"text":"a<b"},{"data":{"y":[2,{"a":2,"b":1}],"x":1}}],"messageId":"m","role":"ROLE_USER"}`,
		"spelling of a number":   strings.Replace(base, `"x":1`, `"x":1.0e0`, 1),
		"escapes":                strings.Replace(base, `a<b`, `\u0061\u003cb`, 1),
		"empty members":          strings.Replace(base, `"role"`, `"taskId":"","referenceTaskIds":[],"role"`, 1),
		"empty part metadata":    strings.Replace(base, `{"text":"a<b"}`, `{"text":"a<b","metadata":{},"filename":""}`, 1),
		"white space around it":  strings.ReplaceAll(base, `,`, " ,\n"),
		"unknown message member": strings.Replace(base, `"role"`, `"kind":"message","role"`, 1),
	} {
		if got, want := digestOf(t, wire), digestOf(t, base); got != want {
			t.Errorf("%s: digest changed", name)
		}
	}
}

func TestDigestOtherBody(t *testing.T) {
	for name, wire := range map[string]string{
		"text":           strings.Replace(base, `a<b`, `a<c`, 1),
		"data":           strings.Replace(base, `"x":1`, `"x":2`, 1),
		"type of a part": strings.Replace(base, `{"text":"a<b"}`, `{"raw":"YTxi"}`, 1),
		"filename":       strings.Replace(base, `"text":"a<b"`, `"text":"a<b","filename":"f"`, 1),
		"media type":     strings.Replace(base, `"text":"a<b"`, `"text":"a<b","mediaType":"text/csv"`, 1),
		"part metadata":  strings.Replace(base, `"text":"a<b"`, `"text":"a<b","metadata":{"k":"v"}`, 1),
		"order of parts": `{"messageId":"m","role":"ROLE_USER","contextId":"c","parts":[{"data":{"x":1,"y":[2,{"b":1,"a":2}]}},{"text":"a<b"}]}`,
		"context":        strings.Replace(base, `"c"`, `"d"`, 1),
		"task":           strings.Replace(base, `"role"`, `"taskId":"t","role"`, 1),
		"references":     strings.Replace(base, `"role"`, `"referenceTaskIds":["t"],"role"`, 1),
	} {
		if digestOf(t, wire) == digestOf(t, base) {
			t.Errorf("%s: digest did not change", name)
		}
	}
}

// A digest outlives the process that made it, so its value must not change from release to release.
func TestDigestIsStable(t *testing.T) {
	const want = "sha256:a77e45586f53869fdc49f35efe7ac5036968f64de9ddb658c6fe063a4ac90225"
	if got := digestOf(t, base); got != want {
		t.Errorf("digest is %s, want %s", got, want)
	}
}

// A message built in the process has the digest of the same message read off the wire.
func TestDigestOfGoValues(t *testing.T) {
	type inner struct{ B, A int }
	msg := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewDataPart(inner{B: 1, A: 2}), a2a.NewRawPart([]byte("x")))
	got, err := dedup.Digest(msg)
	if err != nil {
		t.Fatal(err)
	}
	if want := digestOf(t, `{"messageId":"m","role":"ROLE_USER","parts":[{"data":{"A":2,"B":1}},{"raw":"eA=="}]}`); got != want {
		t.Errorf("digest is %s, want %s", got, want)
	}
	if _, err := dedup.Digest(a2a.NewMessage(a2a.MessageRoleUser, a2a.NewDataPart(func() {}))); err == nil {
		t.Error("no error for content without a JSON form")
	}
}

// The proxy digests the bytes of the wire and an agent what the SDK read from them: a message that comes
// once by each way is one message.
func TestDigestJSONAgrees(t *testing.T) {
	for name, wire := range map[string]string{
		"base":                base,
		"text":                `{"messageId":"m","role":"ROLE_USER","parts":[{"text":"ünï\u2028<&>\u0000 \ud83d\ude02"}]}`,
		"empty text":          `{"messageId":"m","role":"ROLE_USER","parts":[{"text":""}]}`,
		"raw":                 `{"messageId":"m","role":"ROLE_USER","parts":[{"raw":"/+8=","mediaType":"a/b","filename":"f"}]}`,
		"url":                 `{"messageId":"m","role":"ROLE_USER","parts":[{"url":"https://x/?a=1&b=<2>"}]}`,
		"data object":         `{"messageId":"m","role":"ROLE_USER","parts":[{"data":{"b":[1.50,-0,1e21,1e-7,123456789012345678],"a":{"y":null,"x":true}}}]}`,
		"data array":          `{"messageId":"m","role":"ROLE_USER","parts":[{"data":[[],{},"",null,false]}]}`,
		"data string":         `{"messageId":"m","role":"ROLE_USER","parts":[{"data":"s"}]}`,
		"data number":         `{"messageId":"m","role":"ROLE_USER","parts":[{"data":100000000000000000000000}]}`,
		"metadata of a part":  `{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x","metadata":{"k":[1,{"b":1,"a":2}]}}]}`,
		"all members":         `{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}],"taskId":"t","contextId":"c<","referenceTaskIds":["b","a&"]}`,
		"nulls":               `{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x","metadata":null,"filename":null,"url":null}],"taskId":null,"contextId":null,"referenceTaskIds":null}`,
		"empty members":       `{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x","metadata":{},"filename":"","mediaType":"","url":""}],"taskId":"","contextId":"","referenceTaskIds":[]}`,
		"no parts":            `{"messageId":"m","role":"ROLE_USER","parts":[]}`,
		"names in UTF-16":     `{"messageId":"m","role":"ROLE_USER","parts":[{"data":{"\ufb33":1,"\ud83d\ude00":2,"<":3}}]}`,
		"several parts":       `{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"},{"raw":""},{"url":"u"},{"data":0}]}`,
		"spelling of a float": `{"messageId":"m","role":"ROLE_USER","parts":[{"data":0.1000000000000000055511151231257827}]}`,
	} {
		fromWire, err := dedup.DigestJSON(json.RawMessage(wire))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if fromSDK := digestOf(t, wire); fromSDK != fromWire {
			t.Errorf("%s: %s off the wire, %s by the SDK", name, fromWire, fromSDK)
		}
	}
}

// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// row is a manifest and the field because of which it is refused, "" for one that is accepted.
type row struct {
	name     string
	manifest *unstructured.Unstructured
	field    string
}

func run(t *testing.T, rows []row) {
	t.Helper()
	s := cluster.Space(t)
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			err := try(t, s, r.manifest)
			if r.field != "" {
				requireRefused(t, err, r.field)
			} else if err != nil {
				t.Errorf("refused: %v", err)
			}
		})
	}
}

func TestDelegationIDs(t *testing.T) {
	messageID := func(id string) *unstructured.Unstructured { return delegation(set(id, "spec", "messageId")) }
	contextID := func(id string) *unstructured.Unstructured { return delegation(set(id, "spec", "contextId")) }
	run(t, []row{
		{name: "without ids", manifest: delegation()},
		{name: "messageId", manifest: messageID("m-71")},
		{name: "messageId of one character", manifest: messageID("m")},
		{name: "messageId that is a URN", manifest: messageID("urn:uuid:01a22a8f-6c94-764a-8466-f4f6f8eeaf80")},
		{name: "messageId with all that is allowed", manifest: messageID("a/b.c_d:e-1")},
		{name: "longest messageId", manifest: messageID(strings.Repeat("m", 200))},
		{name: "messageId too long", manifest: messageID(strings.Repeat("m", 201)), field: "spec.messageId"},
		{name: "empty messageId", manifest: messageID(""), field: "spec.messageId"},
		{name: "messageId with a space", manifest: messageID("m 71"), field: "spec.messageId"},
		{name: "messageId with a line break", manifest: messageID("m-71\n"), field: "spec.messageId"},
		{name: "messageId that ends in punctuation", manifest: messageID("m-71-"), field: "spec.messageId"},
		{name: "messageId not in ASCII", manifest: messageID("naïve"), field: "spec.messageId"},
		{name: "messageId that is a number", manifest: delegation(set(int64(71), "spec", "messageId")), field: "spec.messageId"},
		{name: "contextId", manifest: contextID("c-recon-09")},
		{name: "longest contextId", manifest: contextID(strings.Repeat("c", 256))},
		{name: "contextId too long", manifest: contextID(strings.Repeat("c", 257)), field: "spec.contextId"},
		{name: "empty contextId", manifest: contextID(""), field: "spec.contextId"},
		{name: "contextId with a space", manifest: contextID("c 09"), field: "spec.contextId"},
		{name: "no agentRef", manifest: delegation(unset("spec", "agentRef")), field: "spec.agentRef"},
		{name: "agentRef without a name", manifest: delegation(unset("spec", "agentRef", "name")), field: "spec.agentRef.name"},
		{name: "agentRef with an empty name", manifest: delegation(set("", "spec", "agentRef", "name")), field: "spec.agentRef.name"},
		{name: "acceptedOutputModes", manifest: delegation(set([]any{"text/plain"}, "spec", "acceptedOutputModes"))},
		{name: "no output modes", manifest: delegation(set([]any{}, "spec", "acceptedOutputModes")), field: "spec.acceptedOutputModes"},
		{name: "an empty output mode", manifest: delegation(set([]any{""}, "spec", "acceptedOutputModes")), field: "spec.acceptedOutputModes[0]"},
		{name: "too many output modes", manifest: delegation(set(repeated("text/plain", 33), "spec", "acceptedOutputModes")), field: "spec.acceptedOutputModes"},
	})
}

func repeated(value string, n int) []any {
	var out []any
	for range n {
		out = append(out, value)
	}
	return out
}

func TestDelegationParts(t *testing.T) {
	const one, from = "spec.message.parts[0]", "spec.message.parts[0].valueFrom"
	key := part("name", "september", "key", "ledger.csv")
	value := func(source map[string]any) *unstructured.Unstructured {
		return delegation(parts(part("valueFrom", source)))
	}
	run(t, []row{
		{name: "no message", manifest: delegation(unset("spec", "message")), field: "spec.message"},
		{name: "no parts", manifest: delegation(parts()), field: "spec.message.parts"},
		{name: "parts missing", manifest: delegation(set(map[string]any{}, "spec", "message")), field: "spec.message.parts"},
		{name: "too many parts", manifest: delegation(set(texts(65), "spec", "message", "parts")), field: "spec.message.parts"},
		{name: "most parts", manifest: delegation(set(texts(64), "spec", "message", "parts"))},
		{name: "a part without content", manifest: delegation(parts(part("mediaType", "text/csv"))), field: one},
		{name: "a part with two contents", manifest: delegation(parts(part("text", "a", "url", "https://a.example.com"))), field: one},
		{name: "the second part is wrong", manifest: delegation(parts(part("text", "a"), part())), field: "spec.message.parts[1]"},
		{name: "empty text", manifest: delegation(parts(part("text", "")))},
		{name: "longest text", manifest: delegation(parts(part("text", strings.Repeat("a", 262144))))},
		{name: "text too long", manifest: delegation(parts(part("text", strings.Repeat("a", 262145)))), field: one + ".text"},
		{name: "data", manifest: delegation(parts(part("data", part("period", "2026-09", "deep", part("list", []any{int64(1), "a", true})))))},
		{name: "data that is a list", manifest: delegation(parts(part("data", []any{"a"}))), field: one + ".data"},
		{name: "data that is a string", manifest: delegation(parts(part("data", "a"))), field: one + ".data"},
		{name: "url", manifest: delegation(parts(part("url", "https://files.example.com/ledger.csv")))},
		{name: "relative url", manifest: delegation(parts(part("url", "/ledger.csv"))), field: one + ".url"},
		{name: "raw", manifest: delegation(parts(part("raw", "AAEC")))},
		{name: "raw that is not base64", manifest: delegation(parts(part("raw", "not base64!"))), field: one + ".raw"},
		{name: "empty raw", manifest: delegation(parts(part("raw", ""))), field: one + ".raw"},
		{name: "empty mediaType", manifest: delegation(parts(part("text", "a", "mediaType", ""))), field: one + ".mediaType"},
		{name: "empty filename", manifest: delegation(parts(part("text", "a", "filename", ""))), field: one + ".filename"},
		{name: "mediaType too long", manifest: delegation(parts(part("text", "a", "mediaType", strings.Repeat("a", 129)))), field: one + ".mediaType"},
		{name: "filename too long", manifest: delegation(parts(part("text", "a", "filename", strings.Repeat("a", 257)))), field: one + ".filename"},
		{name: "from a ConfigMap", manifest: value(part("configMapKeyRef", key))},
		{name: "from a Secret", manifest: value(part("secretKeyRef", key))},
		{name: "from nothing", manifest: value(part()), field: from},
		{name: "from both", manifest: value(part("configMapKeyRef", key, "secretKeyRef", key)), field: from},
		{name: "from a key without a name", manifest: value(part("configMapKeyRef", part("key", "a"))), field: from + ".configMapKeyRef.name"},
		{name: "from an empty key", manifest: value(part("secretKeyRef", part("name", "a", "key", ""))), field: from + ".secretKeyRef.key"},
		{name: "metadata", manifest: delegation(set(part("https://example.com/priority", int64(1)), "spec", "message", "metadata"))},
		{name: "metadata that is a list", manifest: delegation(set([]any{"a"}, "spec", "message", "metadata")), field: "spec.message.metadata"},
		{name: "extensions", manifest: delegation(set([]any{"https://example.com/ext"}, "spec", "message", "extensions"))},
		{name: "no extensions", manifest: delegation(set([]any{}, "spec", "message", "extensions")), field: "spec.message.extensions"},
		{name: "too many extensions", manifest: delegation(set(repeated("https://example.com/ext", 17), "spec", "message", "extensions")), field: "spec.message.extensions"},
	})
}

func texts(n int) []any {
	var out []any
	for range n {
		out = append(out, part("text", "a"))
	}
	return out
}

func TestRemoteAgentSchema(t *testing.T) {
	endpoint := func(pairs ...any) *unstructured.Unstructured {
		return remoteAgent(unset("spec", "cardURL"), set([]any{part(pairs...)}, "spec", "interfaces"))
	}
	card := func(url string) *unstructured.Unstructured { return remoteAgent(set(url, "spec", "cardURL")) }
	run(t, []row{
		{name: "a card", manifest: remoteAgent()},
		{name: "a card over http", manifest: card("http://finance-agent.default.svc:8080/card.json")},
		{name: "neither a card nor an endpoint", manifest: remoteAgent(unset("spec", "cardURL")), field: "spec"},
		{name: "an empty list of endpoints", manifest: remoteAgent(unset("spec", "cardURL"), set([]any{}, "spec", "interfaces")), field: "spec"},
		{name: "a card without a scheme", manifest: card("finance.example.com"), field: "spec.cardURL"},
		{name: "a card with another scheme", manifest: card("ftp://finance.example.com"), field: "spec.cardURL"},
		{name: "an endpoint", manifest: endpoint("url", "https://finance.example.com/a2a")},
		{name: "an endpoint without a url", manifest: endpoint("protocolVersion", "1.0"), field: "spec.interfaces[0].url"},
		{name: "an endpoint with a relative url", manifest: endpoint("url", "/a2a"), field: "spec.interfaces[0].url"},
		{name: "an endpoint that is not spoken", manifest: endpoint("url", "https://a.example.com", "protocolBinding", "SOAP"), field: "spec.interfaces[0].protocolBinding"},
		{name: "bearer", manifest: remoteAgent(set(part("secretRef", part("name", "a", "key", "token")), "spec", "authentication", "bearer"))},
		{name: "authentication by nothing", manifest: remoteAgent(set(part(), "spec", "authentication")), field: "spec.authentication"},
		{name: "bearer without a Secret", manifest: remoteAgent(set(part(), "spec", "authentication", "bearer")), field: "spec.authentication.bearer.secretRef"},
		{name: "bearer without a key", manifest: remoteAgent(set(part("secretRef", part("name", "a")), "spec", "authentication", "bearer")), field: "spec.authentication.bearer.secretRef.key"},
	})
}

func TestRemoteAgentNumbers(t *testing.T) {
	value := func(v any, path ...string) *unstructured.Unstructured {
		return remoteAgent(set(v, append([]string{"spec"}, path...)...))
	}
	dedup := func(mode, retention string) *unstructured.Unstructured {
		return value(part("mode", mode, "retention", retention), "contract", "deduplication")
	}
	run(t, []row{
		{name: "deduplication", manifest: dedup("MessageID", "24h")},
		{name: "unknown deduplication", manifest: dedup("Sometimes", "24h"), field: "spec.contract.deduplication.mode"},
		{name: "deduplication without a mode", manifest: value(part(), "contract", "deduplication"), field: "spec.contract.deduplication.mode"},
		{name: "no retention", manifest: dedup("MessageID", "0s"), field: "spec.contract.deduplication.retention"},
		{name: "retention that is no time", manifest: dedup("MessageID", "long"), field: "spec.contract.deduplication.retention"},
		{name: "lookup", manifest: value(part("mode", "Authoritative", "settle", "0s"), "contract", "taskLookup")},
		{name: "unknown lookup", manifest: value("Perhaps", "contract", "taskLookup", "mode"), field: "spec.contract.taskLookup.mode"},
		{name: "negative settle", manifest: value("-1s", "contract", "taskLookup", "settle"), field: "spec.contract.taskLookup.settle"},
		{name: "shortest attempt", manifest: value("100ms", "delivery", "attemptTimeout")},
		{name: "attempt too short", manifest: value("99ms", "delivery", "attemptTimeout"), field: "spec.delivery.attemptTimeout"},
		{name: "longest attempt", manifest: value("1h", "delivery", "attemptTimeout")},
		{name: "attempt too long", manifest: value("61m", "delivery", "attemptTimeout"), field: "spec.delivery.attemptTimeout"},
		{name: "nothing in flight", manifest: value(int64(0), "delivery", "maxInFlight"), field: "spec.delivery.maxInFlight"},
		{name: "too much in flight", manifest: value(int64(1001), "delivery", "maxInFlight"), field: "spec.delivery.maxInFlight"},
		{name: "no rate", manifest: value(int64(0), "delivery", "requestsPerSecond"), field: "spec.delivery.requestsPerSecond"},
		{name: "poll too often", manifest: value("99ms", "updates", "pollInterval"), field: "spec.updates.pollInterval"},
		{name: "poll at most too often", manifest: value("99ms", "updates", "maxPollInterval"), field: "spec.updates.maxPollInterval"},
	})
}

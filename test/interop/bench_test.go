// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// column is an agent as the operator talks to it.
type column struct {
	name string
	kind Kind
	// binding that it is talked to over. JSON-RPC is what the operator takes from the card by itself; the others are given
	// by hand.
	binding string
	// proxied says that a deduplicating proxy is in front of the agent.
	proxied bool
}

var columns = []*column{
	{name: "JS JSON-RPC", kind: JS, binding: "JSONRPC"},
	{name: "JS HTTP+JSON", kind: JS, binding: "HTTP+JSON"},
	{name: "JS 0.3 JSON-RPC", kind: JSv0, binding: "JSONRPC"},
	{name: "Go JSON-RPC", kind: Go, binding: "JSONRPC"},
	{name: "Go HTTP+JSON", kind: Go, binding: "HTTP+JSON"},
	{name: "Go gRPC", kind: Go, binding: "GRPC"},
	{name: "proxied JS JSON-RPC", kind: JS, binding: "JSONRPC", proxied: true},
	{name: "proxied JS HTTP+JSON", kind: JS, binding: "HTTP+JSON", proxied: true},
	{name: "proxied Go JSON-RPC", kind: Go, binding: "JSONRPC", proxied: true},
	{name: "proxied Go HTTP+JSON", kind: Go, binding: "HTTP+JSON", proxied: true},
}

// id is the column's name as a part of the names of objects.
func (c *column) id() string {
	return strings.NewReplacer(" ", "-", "+", "-", ".", "-").Replace(strings.ToLower(c.name))
}

// The RemoteAgents of each column: the agent itself; the agent behind a relay that loses answers; the agent with an attempt
// that is soon settled, for messages whose outcome stays open; and the agent whose tasks are hardly ever looked at, of which
// is heard by streams, by pushes, or not at all.
const (
	direct   = ""
	lossy    = "-lossy"
	hasty    = "-hasty"
	streamed = "-streamed"
	pushed   = "-pushed"
	silent   = "-silent"
)

// seldom is the time between two looks at a task that are due without news: longer than any test waits.
const seldom = 10 * time.Minute

// modes are how is heard of the tasks that are seldom looked at. Each of the modes has nothing
// but what it names, whatever the card says.
var modes = map[string]v1alpha1.UpdateMode{
	streamed: v1alpha1.UpdatesSubscribe, pushed: v1alpha1.UpdatesPush, silent: v1alpha1.UpdatesPoll,
}

// bench is one column with its agent and its RemoteAgents.
type bench struct {
	*column
	space *harness.Space
	agent *Agent
}

// newBench starts the column's agent and describes it to the operator.
func newBench(t *testing.T, s *harness.Space, c *column) *bench {
	t.Helper()
	b := &bench{column: c, space: s.In(t), agent: Start(t, c.kind)}
	base := b.agent.URL
	if c.proxied {
		base = StartProxy(t, base)
	}
	b.create(b.described(direct, base))
	soon := b.described(hasty, base)
	soon.AttemptTimeout(2*time.Second).Lookup(v1alpha1.LookupBestEffort, time.Second)
	b.create(soon)
	for suffix, mode := range modes {
		n := b.described(suffix, base)
		n.Mode(mode).Poll(seldom, seldom)
		b.create(n)
	}
	if c.binding == "GRPC" {
		b.create(b.given(lossy, startGRPCRelay(t, b.agent.Interface(c.binding).URL, loseFirst())))
	} else {
		b.create(b.described(lossy, harness.StartRelay(t, base, nil, loseFirst()).URL))
	}
	return b
}

// described is a RemoteAgent that reads the card at a base URL, or is given the interface at it: where the card would lead to
// another binding, or around what stands in front of the agent. The proxy's card leads to whom it was asked from.
func (b *bench) described(suffix, base string) *namedAgent {
	if b.binding == "JSONRPC" && (b.proxied || base == b.agent.URL) {
		return &namedAgent{b.space.RemoteAgent(base), b.id() + suffix}
	}
	return b.given(suffix, base)
}

// given is a RemoteAgent with the column's interface at another base URL. That of gRPC is elsewhere than the card, so that the
// agent's own base URL leads to it as the card has it.
func (b *bench) given(suffix, base string) *namedAgent {
	i := b.agent.Interface(b.binding)
	if b.binding != "GRPC" || base != b.agent.URL {
		u, err := url.Parse(i.URL)
		if err != nil {
			b.agent.t.Fatal(err)
		}
		i.URL = base + u.Path
	}
	return &namedAgent{b.space.RemoteAgent("").With(func(spec *v1alpha1.RemoteAgentSpec) {
		spec.CardURL, spec.Interfaces = "", []v1alpha1.AgentInterface{i}
	}), b.id() + suffix}
}

// namedAgent is a RemoteAgent with a name of its own.
type namedAgent struct {
	*harness.RemoteAgentBuilder
	name string
}

func (b *bench) create(n *namedAgent) {
	ra := n.Build()
	ra.Name = n.name
	switch {
	case !b.proxied:
		ra.Spec.Contract.Deduplication = &v1alpha1.Deduplication{Mode: v1alpha1.DeduplicationNone}
	case ra.Spec.CardURL == "": // the proxy's card, which says so, is not read
		n.Deduplicates()
		ra.Spec.Contract = n.Build().Spec.Contract
	}
	b.space.Create(ra)
}

// in returns the bench as a subtest uses it.
func (b *bench) in(t *testing.T) *bench {
	return &bench{column: b.column, space: b.space.In(t), agent: b.agent}
}

// name makes the name of a flow's object, which is its messageId too.
func (b *bench) name(what string) string { return b.id() + "-" + what }

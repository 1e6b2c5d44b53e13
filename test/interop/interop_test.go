// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"fmt"
	"testing"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// flow is something that users do with agents. play returns what came of it, as seen by the operator and by the agent.
type flow struct {
	name string
	play func(t *testing.T, b *bench) string
	want string
	// behindProxy is what has to come of it there, where that differs.
	behindProxy string
	// but is what has to come of it at agents that differ.
	but map[Kind]exception
}

// exception is what can't be as at other agents, and why, in a sentence of docs/interop.md.
type exception struct{ want, why string }

var flows = []*flow{
	{name: "send", play: send("complete", "42"), want: "Completed"},
	{name: "slow", play: send("work 700", "42"), want: "Completed"},
	{name: "artifact in chunks", play: send("stream 3", "chunk 1\nchunk 2\nchunk 3\n"), want: "Completed"},
	{name: "refuse", play: send("refuse", ""), want: "Rejected"},
	{name: "direct reply", play: directReply, want: "Completed"},
	{name: "question, answer", play: questionAndAnswer, want: "Completed; Completed"},
	{name: "refine", play: refine, want: "Completed; Completed"},
	{name: "cancel", play: cancelTask, want: "Canceled"},
	{
		name: "lost response", play: lostResponse, want: "Completed by Lookup", behindProxy: "Completed by Replay",
		but: map[Kind]exception{JSv0: {"Unknown", "A2A 0.3 has no ListTasks over JSON-RPC, so that nobody can tell what became of the message. It is not sent again."}},
	},
	{name: "lost answer", play: lostAnswer, want: "Completed; Completed by Lookup", behindProxy: "Completed; Completed by Replay"},
	{name: "stream", play: byStream, want: "Completed"},
	{name: "push", play: byPush, want: "Completed"},
	{name: "neither", play: notTold, want: "not seen"},
	{
		name: "throw", play: throw, want: "Failed",
		but: map[Kind]exception{Go: {"Unknown", "The Go SDK answers with an internal error, behind which there may be a task. There is none, and nothing shows that."}},
	},
}

// wanted is what has to come of the flow at an agent.
func (f *flow) wanted(c *column) string {
	if other, differs := f.but[c.kind]; differs {
		return other.want
	}
	if c.proxied && f.behindProxy != "" {
		return f.behindProxy
	}
	return f.want
}

// TestFlows plays each flow with each agent through the operator. The agents don't deduplicate: each message may come to
// them and be executed once, whatever is lost. Where a proxy is in front of one the operator repeats what was lost, and
// learns from the proxy's card that it may. What came of it is held against the table of docs/interop.md.
func TestFlows(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	s.StartManager(takingPushes(t)...)
	t.Run("at", func(t *testing.T) {
		for _, c := range columns {
			t.Run(c.id(), func(t *testing.T) {
				t.Parallel()
				b := newBench(t, s, c)
				t.Run("do", func(t *testing.T) { b.playAll(t) })
			})
		}
	})
	results.compare(t)
}

func (b *bench) playAll(t *testing.T) {
	for _, f := range flows {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			outcome := "broken"
			defer func() { results.add(f.name, b.column.name, outcome) }()
			outcome = f.play(t, b.in(t))
			if want := f.wanted(b.column); outcome != want {
				t.Errorf("outcome %q; want %q", outcome, want)
			}
		})
	}
}

// message begins a Delegation to one of the column's RemoteAgents.
func (b *bench) message(what, suffix, text string) *harness.DelegationBuilder {
	return b.to(b.space.Answer(b.name(what), "none", text).With(func(spec *v1alpha1.DelegationSpec) { spec.Continues = nil }), what, suffix)
}

func (b *bench) to(d *harness.DelegationBuilder, what, suffix string) *harness.DelegationBuilder {
	return d.Agent(b.id() + suffix).MessageID(b.name(what))
}

// ended waits until a Delegation is in one of the phases in which nothing more happens by itself.
func (b *bench) ended(what string) *v1alpha1.Delegation {
	return b.space.Await(b.name(what), "to come to an end", func(d *v1alpha1.Delegation) bool {
		return d.Status.Phase.Finished() || d.Status.Phase == v1alpha1.PhaseUnknown
	})
}

// outcome says how a message ended, and what is wrong with what the agent counted: a message is received once where the
// agent does not deduplicate, and executed once.
func (b *bench) outcome(d *v1alpha1.Delegation) string {
	text := string(d.Status.Phase)
	if d.Status.RecoveredBy != "" {
		text += " by " + string(d.Status.RecoveredBy)
	}
	if r := b.agent.Record(d.Spec.MessageID); r.Received != 1 || r.Executed != 1 || r.Bodies != 1 {
		text += fmt.Sprintf(", received %d times, executed %d times, %d bodies", r.Received, r.Executed, r.Bodies)
	}
	return text
}

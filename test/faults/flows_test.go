// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// contract is what an agent keeps and its RemoteAgent says.
type contract struct {
	name         string
	deduplicates bool
	lookup       v1alpha1.LookupMode
	// guesses is whether an outcome may stay Unknown.
	guesses bool
}

var contracts = []contract{
	{name: "MessageID", deduplicates: true, lookup: v1alpha1.LookupBestEffort},
	{name: "Authoritative", lookup: v1alpha1.LookupAuthoritative},
	{name: "BestEffort", lookup: v1alpha1.LookupBestEffort, guesses: true},
	{name: "None", lookup: v1alpha1.LookupNone, guesses: true},
}

// The times of all runs: short, so that thousands fit, and long against what a busy machine needs.
const (
	attemptTimeout = 3 * time.Second
	settle         = time.Second
	poll           = time.Second
)

// flow is one thing that a user does. prepare brings about what it starts from, without faults.
type flow struct {
	name    string
	slow    bool // its tasks last until they are canceled
	prepare func(*run)
	begin   func(*run)
	// objects are those that come to an end; the others are looked at in prepare.
	objects []string
	// deleted is whether the objects are to go.
	deleted bool
	// cut is the object whose message a crash may cut off.
	cut string
	// loses is how many answers get lost on the way besides.
	loses int
}

var flows = []flow{
	{name: "send", begin: begins("d"), objects: []string{"d"}, cut: "d"},
	{name: "recover", begin: begins("d"), objects: []string{"d"}, cut: "d", loses: 1},
	{name: "continue", prepare: func(r *run) {
		r.space.Create(r.space.Question("d").MessageID(r.message("d")).Build())
		r.space.AwaitPhase("d", v1alpha1.PhaseInputRequired)
	}, begin: func(r *run) {
		r.space.Create(r.space.Answer("a", "d", "approve").MessageID(r.message("a")).Build())
	}, objects: []string{"a", "d"}, cut: "a"},
	{name: "refine", prepare: func(r *run) {
		begins("d")(r)
		r.space.AwaitPhase("d", v1alpha1.PhaseCompleted)
	}, begin: func(r *run) {
		r.space.Create(r.space.Refinement("r", "d", "leave out bank fees").MessageID(r.message("r")).Build())
	}, objects: []string{"r"}, cut: "r"},
	{name: "cancel", slow: true, prepare: working, begin: func(r *run) {
		r.space.Kubectl("patch", "delegation", "d", "--type=merge", "--patch", `{"spec":{"cancel":true}}`)
	}, objects: []string{"d"}},
	{name: "delete", slow: true, prepare: working, begin: func(r *run) { r.space.Delete(r.space.Get("d")) }, objects: []string{"d"}, deleted: true},
}

func begins(name string) func(*run) {
	return func(r *run) { r.space.Create(r.space.Reconciliation(name).MessageID(r.message(name)).Build()) }
}

func working(r *run) {
	begins("d")(r)
	r.task = r.space.Await("d", "to be bound", func(d *v1alpha1.Delegation) bool { return d.Status.TaskID != "" }).Status.TaskID
}

// run is one play of a flow.
type run struct {
	t        testing.TB
	flow     *flow
	contract contract
	space    *harness.Space
	agent    *harness.Agent
	script   *script
	proxy    *harness.APIProxy
	relay    *harness.Relay
	history  *history
	// allowed is how many mutating calls more than without faults are no fault.
	allowed int
	// begun is set when the flow has begun.
	begun atomic.Bool
	// task is that of a flow which starts from one.
	task string
	// started is how many writes there were before the flow began.
	started int
	// flags of the managers, and pushes that they took.
	flags  []string
	pushes atomic.Int32
}

// message is the messageId of an object of this run; many runs share an agent.
func (r *run) message(name string) string { return r.space.Namespace + "." + name }

// fault is what is wrong with the world around the managers of a run, from before they start.
type fault struct {
	name string
	// view stands between the managers and the API server.
	view func(*run) harness.Around
	// agent stands between the managers and the agent.
	agent func(*run) harness.Around
	// during goes on from the beginning of the flow until it returns.
	during func(*run)
	// managers run at once; 0 is one.
	managers int
	// hints is whether tasks are listened to and pushed, as is the default; else they are only looked at.
	hints bool
	// extra is how many mutating calls more than without the fault it may cost.
	extra int
	// quick is whether it runs with all tests.
	quick bool
}

// play runs a flow with its crashes.
func (f *flow) play(t testing.TB, agent *harness.Agent, c contract, crashes []crash) *run {
	t.Helper()
	return f.suffer(t, agent, c, crashes, fault{})
}

// suffer runs a flow with its crashes and a fault.
func (f *flow) suffer(t testing.TB, agent *harness.Agent, c contract, crashes []crash, wrong fault) *run {
	t.Helper()
	r := &run{t: t, flow: f, contract: c, space: cluster.Space(t), agent: agent, script: newScript(crashes)}
	around := []harness.Around{r.script.around(apiCall)}
	if wrong.view != nil {
		around = append(around, wrong.view(r))
	}
	r.proxy = r.space.StartAPIProxy(around...)
	before := []harness.Around{r.script.around(agentCall(t))}
	if wrong.agent != nil {
		before = append([]harness.Around{wrong.agent(r)}, before...)
	}
	r.relay = harness.StartRelay(t, agent.URL, nil, before...)
	r.history = watch(t, r.space.Namespace)
	ra := r.space.RemoteAgent(r.relay.URL).AttemptTimeout(attemptTimeout).Poll(poll, poll).Lookup(c.lookup, settle)
	if wrong.hints {
		r.hear(ra)
	}
	manager := r.space.StartManagerBehind(r.proxy, r.flags...)
	for range wrong.managers - 1 {
		r.space.StartManagerBehind(r.proxy, r.flags...)
	}
	r.space.Create(ra.Build())
	r.space.AwaitAgentReady(harness.AgentName)
	if f.prepare != nil {
		f.prepare(r)
	}
	r.started = r.script.mutations()
	r.script.loseAnswers = f.loses
	r.script.begin(manager.Kill)
	f.begin(r)
	r.begun.Store(true)
	if wrong.during != nil {
		wrong.during(r)
	}
	for {
		select {
		case <-r.script.crashed:
			manager = r.space.StartManagerBehind(r.proxy, r.flags...)
			r.script.begin(manager.Kill)
			continue
		default:
		}
		if r.over() || r.history.silent(2*harness.Patience) {
			return r
		}
		r.history.next(50 * time.Millisecond)
	}
}

// over reports whether all objects have come to an end.
func (r *run) over() bool {
	for _, name := range r.flow.objects {
		d := r.find(name)
		if d != nil && (r.flow.deleted || (!d.Status.Phase.Finished() && d.Status.Phase != v1alpha1.PhaseUnknown)) {
			return r.cutOff(name, d)
		}
	}
	return true
}

// cutOff reports whether an object waits for an answer whose outcome is Unknown.
func (r *run) cutOff(name string, d *v1alpha1.Delegation) bool {
	if r.flow.cut == "" {
		return false
	}
	cut := r.find(r.flow.cut)
	return name != r.flow.cut && d.Status.Phase == v1alpha1.PhaseInputRequired && cut != nil && cut.Status.Phase == v1alpha1.PhaseUnknown
}

// find returns an object as it is now; nil for one that is not there.
func (r *run) find(name string) *v1alpha1.Delegation {
	d := &v1alpha1.Delegation{}
	err := r.space.Client.Get(r.t.Context(), types.NamespacedName{Namespace: r.space.Namespace, Name: name}, d)
	if client.IgnoreNotFound(err) != nil {
		r.t.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return d
}

// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// simScope is what one pass knows, as in the controller.
type simScope struct {
	id       int
	d        *v1alpha1.Delegation
	agent    Agent
	endpoint int
	related  Related
	body     Body
	envelope Envelope
	running  Call
	result   *Result
}

// simView is the RemoteAgent from a time on.
type simView struct {
	problem     *Problem
	endpoint    int
	credentials int
}

// open reads what a decision needs; nil while the cache doesn't show a write of this process.
func (r *simReplica) open(id int, d *v1alpha1.Delegation) *simScope {
	sc := &simScope{id: id, d: d}
	open := func(t v1alpha1.DuplicateTask) bool { return !t.Canceled }
	if d.Status.Phase.Finished() && !slices.ContainsFunc(d.Status.Duplicates, open) {
		return sc
	}
	view := r.s.views[r.view]
	sc.endpoint = view.endpoint
	sc.agent = r.s.plan.agent.contract()
	sc.agent.Problem = view.problem
	sc.agent.Endpoint = fmt.Sprintf("endpoint-%d", view.endpoint)
	sc.agent.Credentials = fmt.Sprintf("secret-%d", view.credentials)
	if d.Status.TaskID != "" && (d.DeletionTimestamp == nil || d.Spec.Continues == nil) {
		return sc
	}
	if !r.relate(sc) {
		return nil
	}
	sc.envelope = r.address(sc)
	sc.body = r.s.body(id, sc.envelope)
	return sc
}

// address asks for the envelope. Once there is a journal it depends on nothing but the object, and is asked for once.
func (r *simReplica) address(sc *simScope) Envelope {
	desk := r.desk(sc.id)
	if desk.addressed != sc.d {
		desk.envelope, desk.addressed = Address(sc.d, sc.related, sc.agent.NamesContexts), nil
		if sc.d.Annotations[v1alpha1.AttemptAnnotation] != "" {
			desk.addressed = sc.d
		}
	}
	return desk.envelope
}

// body is the message as it would be sent now.
func (s *sim) body(id int, to Envelope) Body {
	source := s.facts[id].source
	if source == 0 {
		return Body{Problem: &Problem{Reason: "MessageSourceNotFound", Message: "create it"}}
	}
	return Body{Digest: fmt.Sprintf("sha256:%s.%d/%s/%s/%s",
		s.server.objects[id].name, source, to.ContextID, to.TaskID, strings.Join(to.References, ","))}
}

// named finds a Delegation in the cache; -1 without one. It reports false while a write to it doesn't show.
func (r *simReplica) named(name string) (int, bool) {
	for id, o := range r.s.server.objects {
		if o.name == name && o.asOf(r.seen) != nil {
			return id, r.seen >= r.desk(id).own
		}
	}
	return -1, true
}

// relate reads the Delegations that an unbound one depends on.
func (r *simReplica) relate(sc *simScope) bool {
	d := sc.d
	if d.Spec.Continues != nil && !r.relateRoot(sc) {
		return false
	}
	for _, ref := range d.Spec.Refines {
		id, fresh := r.named(ref.Name)
		if !fresh {
			return false
		}
		var target *v1alpha1.Delegation
		if id >= 0 {
			target = r.read(id)
		}
		sc.related.Refined = append(sc.related.Refined, target)
	}
	if d.Spec.MessageID == "" {
		return true
	}
	for id := range r.s.server.objects {
		if other := r.read(id); other != nil && id != sc.id && other.Spec.MessageID == d.Spec.MessageID {
			sc.related.SameMessage = append(sc.related.SameMessage, other)
		}
	}
	return true
}

func (r *simReplica) relateRoot(sc *simScope) bool {
	id, fresh := r.root(sc.id)
	if id < 0 || !fresh {
		return fresh
	}
	root := r.read(id)
	sc.related.Root = root
	if held := root.Status.AnsweredBy; held != nil {
		holder, fresh := r.named(held.Name)
		if !fresh {
			return false
		}
		if holder >= 0 && r.read(holder).UID == held.UID {
			sc.related.Holder = r.read(holder)
		}
	}
	oldest := sc.d
	for _, member := range r.members(root.Name) {
		if other := r.read(member); simWaiting(other) && simOlder(other, oldest) {
			oldest = other
		}
	}
	if oldest != sc.d {
		sc.related.Ahead = oldest.Name
	}
	return true
}

// root follows continues to the Delegation that made the task; -1 where the chain breaks.
func (r *simReplica) root(id int) (int, bool) {
	for id >= 0 {
		// What it continues never changes, and the event of a deletion brings it too.
		continues := r.s.server.objects[id].last().Spec.Continues
		if continues == nil {
			break
		}
		var fresh bool
		if id, fresh = r.named(continues.Name); !fresh {
			return -1, false
		}
	}
	return id, true
}

// members lists the continuations of root's task, as the cache shows them.
func (r *simReplica) members(root string) []int {
	var out []int
	names := []string{root}
	for i := 0; i < len(names); i++ {
		for id := range r.s.server.objects {
			if d := r.read(id); d != nil && d.Spec.Continues != nil && d.Spec.Continues.Name == names[i] {
				out = append(out, id)
				names = append(names, d.Name)
			}
		}
	}
	return out
}

func simWaiting(d *v1alpha1.Delegation) bool {
	return !d.Status.Phase.Finished() && d.Annotations[v1alpha1.AttemptAnnotation] == "" && d.Status.TaskID == "" &&
		d.DeletionTimestamp == nil && !d.Spec.Suspend
}

func simOlder(a, b *v1alpha1.Delegation) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.UID < b.UID
}

// conversation lists the Delegations that wait for a change of one: what refines it, and what continues the same task.
func (r *simReplica) conversation(id int) []int {
	if len(r.s.server.objects) == 1 {
		return nil
	}
	name := r.s.server.objects[id].name
	var out []int
	for other := range r.s.server.objects {
		d := r.read(other)
		if d != nil && slices.ContainsFunc(d.Spec.Refines, func(ref v1alpha1.DelegationReference) bool { return ref.Name == name }) {
			out = append(out, other)
		}
	}
	members := r.members(name)
	if root, _ := r.root(id); root >= 0 {
		members = append(members, r.members(r.s.server.objects[root].name)...)
	}
	for _, other := range members {
		if other != id && !r.read(other).Status.Phase.Finished() {
			out = append(out, other)
		}
	}
	return out
}

// idOf is the number of the object with a UID.
func (s *sim) idOf(uid types.UID) int {
	return slices.IndexFunc(s.server.objects, func(o *simObject) bool { return o.last().UID == uid })
}

// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// stage sets a schedule up: the Delegations, and what people do to them and to the agent.
func (s *sim) stage() {
	s.plan = s.drawPlan()
	s.views = []simView{{}}
	s.agents = []*simAgent{{s: s, p: &s.plan.agent}}
	s.server.s = s
	for i := range s.plan.replicas {
		s.replicas = append(s.replicas, &simReplica{s: s, n: i + 1})
	}
	if s.telling {
		s.tell("", "", "%+v", s.plan)
	}
	switch kind := s.IntN(100); {
	case kind < 35:
		s.submit("a", nil)
	case kind < 70:
		s.converse()
	case kind < 80:
		s.refine()
	case kind < 90:
		s.rivals()
	default:
		s.rebuild()
	}
	s.tamperWithAgent()
	for _, r := range s.replicas {
		s.after(s.between(time.Millisecond, time.Second), r.boot)
	}
}

// submit creates a Delegation at once and plans what becomes of it.
func (s *sim) submit(name string, shape func(*v1alpha1.Delegation)) int {
	d := &v1alpha1.Delegation{}
	d.Namespace, d.Name, d.Generation = "books", name, 1
	d.UID = types.UID(fmt.Sprintf("%08x-%s", s.Uint32(), name))
	d.CreationTimestamp = metav1.Time{Time: s.time().Truncate(time.Second)}
	spec := &d.Spec
	if s.chance(50) {
		spec.MessageID = "m-" + name
	}
	if s.chance(30) && shape == nil {
		spec.ContextID = "c-" + name
	}
	s.drawPolicies(spec)
	if shape != nil {
		shape(d)
	}
	s.facts = append(s.facts, &simFacts{source: 1, rejects: s.chance(5), resends: spec.OnUnknown == v1alpha1.UnknownResend})
	id := s.server.create(d)
	if s.telling {
		s.tell("person", name, "creates %s", tellSpec(spec))
	}
	s.meddle(id)
	s.resolveAtSomeTime(id)
	return id
}

func (s *sim) drawPolicies(spec *v1alpha1.DelegationSpec) {
	spec.DeliveryDeadline.Duration = pick(s.simDice, 20*time.Second, 5*time.Minute, 30*time.Minute, 6*time.Hour, 6*time.Hour)
	spec.DeletionPolicy = pick(s.simDice, v1alpha1.DeletionCancel, v1alpha1.DeletionCancel, v1alpha1.DeletionOrphan)
	spec.OnUnknown = pick(s.simDice, v1alpha1.UnknownEscalate, v1alpha1.UnknownEscalate, v1alpha1.UnknownEscalate, v1alpha1.UnknownResend)
	if s.chance(10) {
		spec.ActiveDeadlineSeconds = ptr.To(int64(s.between(10*time.Second, 30*time.Minute).Seconds()))
	}
	if s.chance(10) {
		spec.NotAfter = &metav1.Time{Time: s.time().Add(s.between(time.Second, 10*time.Minute)).Truncate(time.Second)}
	}
	if s.chance(5) {
		spec.TTLSecondsAfterFinished = ptr.To(int32(s.between(time.Second, time.Hour).Seconds()))
	}
}

// converse creates a Delegation, and two or three answers to what its task asks.
func (s *sim) converse() {
	s.submit("a", nil)
	target := "a"
	for i := range 2 + s.IntN(2) {
		name := fmt.Sprintf("b%d", i+1)
		continues := target
		if s.chance(20) {
			// The next one continues the continuation.
			target = name
		}
		s.after(s.between(time.Millisecond, s.plan.calm), func() {
			eager := s.chance(20)
			s.facts[s.submit(name, func(d *v1alpha1.Delegation) {
				d.Spec.Continues = &v1alpha1.DelegationReference{Name: continues}
				d.Spec.Suspend = eager
			})].eager = eager
		})
	}
}

func (s *sim) refine() {
	s.submit("a", nil)
	s.submit("b", nil)
	s.after(s.between(time.Millisecond, s.plan.calm), func() {
		s.submit("c", func(d *v1alpha1.Delegation) {
			d.Spec.Refines = []v1alpha1.DelegationReference{{Name: "a"}, {Name: "b"}}
		})
	})
}

// rivals are two Delegations with one messageId.
func (s *sim) rivals() {
	shape := func(d *v1alpha1.Delegation) { d.Spec.MessageID, d.Spec.ContextID = "m-same", "c-same" }
	s.submit("a", shape)
	// A cache that is more behind than a rival waits for can't be told from one that shows all.
	s.plan.lags, s.plan.queues, s.plan.fresh = 0, 0, true
	s.after(s.between(time.Microsecond, s.plan.calm), func() { s.facts[s.submit("b", shape)].shared = true })
	s.facts[0].shared = true
}

// rebuild deletes a Delegation and applies its manifest again, as a cluster does that is made anew from Git.
func (s *sim) rebuild() {
	shape := func(d *v1alpha1.Delegation) {
		d.Spec.MessageID, d.Spec.ContextID, d.Spec.DeletionPolicy = "m-a", "c-a", v1alpha1.DeletionOrphan
	}
	s.facts[s.submit("a", shape)].shared = true
	s.after(s.between(time.Second, s.plan.calm), func() {
		if s.server.now(0) == nil {
			return
		}
		_ = s.server.remove(0)
		s.server.objects[0].name = "a-old"
		s.facts[s.submit("a", shape)].shared = true
	})
}

// meddle plans what a person does to a Delegation that is under way.
func (s *sim) meddle(id int) {
	if !s.chance(s.plan.meddling) {
		return
	}
	at := s.between(time.Millisecond, s.plan.calm+10*time.Minute)
	later := s.between(time.Millisecond, s.plan.calm)
	change := func(what string, run func(*v1alpha1.Delegation)) func() {
		return func() {
			if done := s.server.edit(id, run); s.telling {
				s.tell("person", s.server.objects[id].name, "%s: %t", what, done)
			}
		}
	}
	switch s.IntN(6) {
	case 0:
		s.after(at, change("cancels", func(d *v1alpha1.Delegation) { d.Spec.Cancel = true }))
	case 1, 2:
		s.after(at, func() {
			s.tell("person", s.server.objects[id].name, "deletes")
			_ = s.server.remove(id)
		})
	case 3:
		s.after(0, change("suspends", func(d *v1alpha1.Delegation) { d.Spec.Suspend = true }))
		if s.chance(80) {
			s.after(later, change("lets go", func(d *v1alpha1.Delegation) { d.Spec.Suspend = false }))
		}
	case 4:
		s.after(at, func() { s.setSource(id, s.IntN(3)) })
		if s.chance(70) {
			s.after(at+later, func() { s.setSource(id, 1) })
		}
	default:
		s.after(at, change("drops the journal", func(d *v1alpha1.Delegation) { s.dropJournal(id, d) }))
	}
}

// asked has those answer who waited for a question, while the replicas are about to answer it too.
func (s *sim) asked() {
	for id, f := range s.facts {
		if !f.eager {
			continue
		}
		s.after(s.between(100*time.Microsecond, 20*time.Millisecond), func() {
			s.tell("person", s.server.objects[id].name, "answers")
			s.server.edit(id, func(d *v1alpha1.Delegation) { d.Spec.Suspend = false })
		})
	}
}

// dropJournal takes the annotation off, as a tool might that does not know it. Nobody is sending then.
func (s *sim) dropJournal(id int, d *v1alpha1.Delegation) {
	for _, j := range s.facts[id].jobs {
		if j.open() || j.state == jobQueued || s.time().Before(j.attempt.Deadline) {
			return
		}
	}
	delete(d.Annotations, v1alpha1.AttemptAnnotation)
}

// setSource changes the object that a part takes its content from; 0 removes it.
func (s *sim) setSource(id, version int) {
	s.facts[id].source = version
	if s.telling {
		s.tell("person", s.server.objects[id].name, "changes the source to version %d", version)
	}
	for _, r := range s.replicas {
		s.after(s.watchLag(), func() {
			if r.up {
				r.enqueue(id)
			}
		})
	}
}

// resolveAtSomeTime has a person look at a Delegation now and then, and decide if it is Unknown.
func (s *sim) resolveAtSomeTime(id int) {
	if !s.chance(40) {
		return
	}
	for range 3 {
		s.after(s.between(time.Second, s.plan.calm+20*time.Minute), func() { s.resolve(id) })
	}
}

func (s *sim) resolve(id int) {
	d := s.server.now(id)
	if d == nil || d.Status.Phase != v1alpha1.PhaseUnknown || d.DeletionTimestamp != nil {
		return
	}
	res := &v1alpha1.Resolution{Action: pick(s.simDice, v1alpha1.ResolutionAdopt, v1alpha1.ResolutionResend, v1alpha1.ResolutionAbandon)}
	if res.Action == v1alpha1.ResolutionAdopt {
		res.TaskID = "t-wrong"
		for _, c := range s.facts[id].accepted {
			if c.task != nil && !s.chance(20) {
				res.TaskID = c.task.id
			}
		}
	}
	done := s.server.edit(id, func(d *v1alpha1.Delegation) { d.Spec.Resolution = res })
	if done && res.Action == v1alpha1.ResolutionResend {
		s.facts[id].resends = true
	}
	if s.telling {
		s.tell("person", d.Name, "decides %s %s: %t", res.Action, res.TaskID, done)
	}
}

// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// What the API server says, as the client sees it. A lost answer leaves open whether the write was made.
var (
	errSimConflict = errors.New("conflict")
	errSimGone     = errors.New("not found")
	errSimInvalid  = errors.New("invalid")
	errSimLost     = errors.New("no answer")
)

// simServer is the API server: every version of every object, under one count of revisions as in etcd.
type simServer struct {
	s       *sim
	rev     int
	objects []*simObject
}

type simObject struct {
	name     string
	versions []simVersion
	// status is the latest status as JSON.
	status []byte
}

// simVersion is an object from a revision on; nil once it is gone. Versions are never changed.
type simVersion struct {
	rev int
	d   *v1alpha1.Delegation
}

func (o *simObject) asOf(rev int) *v1alpha1.Delegation {
	for i := len(o.versions) - 1; i >= 0; i-- {
		if o.versions[i].rev <= rev {
			return o.versions[i].d
		}
	}
	return nil
}

// last is the latest version that there was, also of an object that is gone.
func (o *simObject) last() *v1alpha1.Delegation {
	for i := len(o.versions) - 1; i >= 0; i-- {
		if d := o.versions[i].d; d != nil {
			return d
		}
	}
	return nil
}

func (a *simServer) now(id int) *v1alpha1.Delegation { return a.objects[id].asOf(a.rev) }

// simVerb is what a write is for.
type simVerb string

const (
	verbJournal simVerb = "journal"
	verbRecord  simVerb = "record"
	verbClaim   simVerb = "claim"
	verbProtect simVerb = "protect"
	verbRelease simVerb = "release"
	verbDelete  simVerb = "delete"
	verbPerson  simVerb = "person"
)

// simWrite is one request that changes an object. Its resourceVersion has to be the current one.
type simWrite struct {
	verb simVerb
	id   int
	by   *simReplica
	// d is the object as it is to be.
	d *v1alpha1.Delegation
	// action that the write carries out; nil for a person's.
	action Action
	// blind leaves the resourceVersion out, which the product never does.
	blind bool
	// applied is called when it was made and its answer will arrive.
	applied func()
}

// apply makes a write, as the storage does it: compare, admit, swap.
func (a *simServer) apply(w *simWrite) (*v1alpha1.Delegation, error) {
	old := a.now(w.id)
	switch {
	case old == nil:
		return nil, errSimGone
	case !w.blind && w.d.ResourceVersion != old.ResourceVersion:
		return nil, errSimConflict
	case w.verb == verbDelete:
		return old, a.remove(w.id)
	}
	next := *old
	var text []byte
	if w.verb == verbRecord || w.verb == verbClaim {
		next.Status, text = throughJSON(&w.d.Status)
	} else {
		// Nothing but text changes here, so that no round trip is needed.
		next.Spec, next.Annotations, next.Finalizers = w.d.Spec, w.d.Annotations, w.d.Finalizers
		if !admitted(old, &next) {
			return nil, errSimInvalid
		}
		if changed(&old.Spec, &next.Spec) {
			next.Generation++
		}
	}
	a.s.checkWrite(w, old, &next, text != nil && bytes.Equal(text, a.objects[w.id].status))
	if text != nil {
		a.objects[w.id].status = text
	}
	if next.DeletionTimestamp != nil && len(next.Finalizers) == 0 {
		a.put(w.id, nil)
		return &next, nil
	}
	a.put(w.id, &next)
	return &next, nil
}

// throughJSON is a status as the API server gives it back: times in whole seconds, empty fields gone.
func throughJSON(s *v1alpha1.DelegationStatus) (v1alpha1.DelegationStatus, []byte) {
	text, err := json.Marshal(s)
	var out v1alpha1.DelegationStatus
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		panic(err)
	}
	return out, text
}

// admitted is the CRD's own validation of a change.
func admitted(old, next *v1alpha1.Delegation) bool {
	o, n := &old.Spec, &next.Spec
	switch {
	case o.MessageID != "" && n.MessageID != o.MessageID, o.ContextID != "" && n.ContextID != o.ContextID:
		return false
	case o.Cancel && !n.Cancel:
		return false
	case o.Resolution != nil && old.Status.Resolution != nil && (n.Resolution == nil || *n.Resolution != *o.Resolution):
		return false
	}
	return old.DeletionTimestamp == nil || len(next.Finalizers) <= len(old.Finalizers)
}

// changed compares what may change in a spec.
func changed(o, n *v1alpha1.DelegationSpec) bool {
	return o.MessageID != n.MessageID || o.ContextID != n.ContextID || o.Suspend != n.Suspend || o.Cancel != n.Cancel ||
		(o.Resolution == nil) != (n.Resolution == nil) || (o.Resolution != nil && *o.Resolution != *n.Resolution)
}

// put stores a version and tells the watches.
func (a *simServer) put(id int, d *v1alpha1.Delegation) {
	a.rev++
	if d != nil {
		d.ResourceVersion = strconv.Itoa(a.rev)
	}
	o := a.objects[id]
	o.versions = append(o.versions, simVersion{rev: a.rev, d: d})
	for _, r := range a.s.replicas {
		r.publish(id, a.rev)
	}
}

// create stores a new object and returns its number.
func (a *simServer) create(d *v1alpha1.Delegation) int {
	a.objects = append(a.objects, &simObject{name: d.Name})
	a.put(len(a.objects)-1, d)
	return len(a.objects) - 1
}

// remove deletes an object, or marks it where a finalizer holds it.
func (a *simServer) remove(id int) error {
	d := a.now(id)
	switch {
	case d == nil:
		return errSimGone
	case d.DeletionTimestamp != nil:
	case len(d.Finalizers) == 0:
		a.put(id, nil)
	default:
		next := *d
		next.DeletionTimestamp = &metav1.Time{Time: a.s.time().Truncate(time.Second)}
		next.Generation++
		a.put(id, &next)
	}
	return nil
}

// edit is a person's change, made on the current version.
func (a *simServer) edit(id int, change func(*v1alpha1.Delegation)) bool {
	d := a.now(id)
	if d == nil {
		return false
	}
	d = d.DeepCopy()
	change(d)
	_, err := a.apply(&simWrite{verb: verbPerson, id: id, d: d})
	return err == nil
}

// request sends a replica's write. What comes back may be an error although the write was made, or is made later.
func (a *simServer) request(w *simWrite, done func(*v1alpha1.Delegation, error)) {
	s, r := a.s, w.by
	there, back := s.apiLatency(), s.apiLatency()
	answer := func(d *v1alpha1.Delegation, err error) { s.after(back, r.guard(func() { done(d, err) })) }
	fate := 0
	if s.faulty(s.plan.apiErrors) {
		fate = 1 + s.IntN(3)
	}
	switch fate {
	case 1: // refused, or lost on its way
		s.after(there, func() { answer(nil, errSimLost) })
	case 2: // made, and the answer is lost
		s.after(there, func() { _, _ = a.apply(w); answer(nil, errSimLost) })
	case 3: // given up by the client, and made after that
		s.after(there, func() { answer(nil, errSimLost) })
		s.after(there+back+s.between(time.Millisecond, 10*time.Second), func() { _, _ = a.apply(w) })
	default:
		s.after(there, func() {
			d, err := a.apply(w)
			if err == nil && w.applied != nil {
				w.applied()
			}
			s.mayCrash(r)
			answer(d, err)
		})
	}
}

// holdsAttempt reports whether a text was in the journal of an object at any time.
func (a *simServer) holdsAttempt(id int, text string) bool {
	return slices.ContainsFunc(a.objects[id].versions, func(v simVersion) bool {
		return v.d != nil && v.d.Annotations[v1alpha1.AttemptAnnotation] == text
	})
}

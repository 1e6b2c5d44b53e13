// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

var watcher = sync.OnceValues(func() (client.WithWatch, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	return client.NewWithWatch(config, client.Options{Scheme: scheme})
})

// history watches all versions of a namespace's Delegations, and holds each against the one before.
type history struct {
	mu   sync.Mutex
	last map[string]*v1alpha1.Delegation
	// broken are steps backwards.
	broken  []string
	changed time.Time
	event   chan struct{}
}

// watch begins a history, which ends with the test.
func watch(t testing.TB, namespace string) *history {
	t.Helper()
	c, err := watcher()
	if err != nil {
		t.Fatal(err)
	}
	w, err := c.Watch(t.Context(), &v1alpha1.DelegationList{}, client.InNamespace(namespace))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	h := &history{last: map[string]*v1alpha1.Delegation{}, changed: time.Now(), event: make(chan struct{}, 1)}
	go func() {
		for e := range w.ResultChan() {
			if d, ok := e.Object.(*v1alpha1.Delegation); ok {
				h.add(d)
			}
		}
	}()
	return h
}

func (h *history) add(d *v1alpha1.Delegation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if old := h.last[d.Name]; old != nil && old.UID == d.UID {
		h.compare(old, d)
	}
	h.last[d.Name], h.changed = d, time.Now()
	select {
	case h.event <- struct{}{}:
	default:
	}
}

// compare is P5 and the ids' immutability, as anybody who watches sees them.
func (h *history) compare(old, d *v1alpha1.Delegation) {
	was, is := &old.Status, &d.Status
	back := func(what string, from, to any) {
		h.broken = append(h.broken, fmt.Sprintf("%s: %s went from %v to %v", d.Name, what, from, to))
	}
	switch {
	case was.Phase.Finished() && (is.Phase != was.Phase || is.State != was.State):
		back("a finished phase", was.Phase, is.Phase)
	case was.TaskID != "" && is.TaskID != was.TaskID:
		back("taskId", was.TaskID, is.TaskID)
	case is.Attempts < was.Attempts:
		back("attempts", was.Attempts, is.Attempts)
	case was.BodyDigest != "" && is.BodyDigest != was.BodyDigest:
		back("bodyDigest", was.BodyDigest, is.BodyDigest)
	case was.TaskID != "" && (is.Phase == v1alpha1.PhasePending || is.Phase == v1alpha1.PhaseSending):
		back("the phase of a task", was.Phase, is.Phase)
	case old.Spec.MessageID != "" && d.Spec.MessageID != old.Spec.MessageID:
		back("messageId", old.Spec.MessageID, d.Spec.MessageID)
	}
}

// silent reports whether nothing has changed for a time.
func (h *history) silent(limit time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Since(h.changed) > limit
}

// next waits for a change, and not longer than a time.
func (h *history) next(limit time.Duration) {
	select {
	case <-h.event:
	case <-time.After(limit):
	}
}

func (h *history) stepsBack() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.broken
}

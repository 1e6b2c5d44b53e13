// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/artifact"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// result is a text of so many KiB, made of one letter.
func result(id, letter string, kib int) outbox.Artifact {
	return outbox.Artifact{ID: id, Parts: []outbox.ArtifactPart{{Text: true, Content: []byte(strings.Repeat(letter, kib<<10))}}}
}

// configMaps are those of a namespace by name.
func configMaps(t *testing.T, admin client.Client, namespace string) map[string]corev1.ConfigMap {
	t.Helper()
	list := &corev1.ConfigMapList{}
	if err := admin.List(t.Context(), list, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	out := map[string]corev1.ConfigMap{}
	for _, cm := range list.Items {
		out[cm.Name] = cm
	}
	return out
}

// checkStored holds what the status says of artifacts against what is there. It returns the names of the ConfigMaps that
// it refers to.
func checkStored(t *testing.T, there map[string]corev1.ConfigMap, listed []v1alpha1.ArtifactStatus) []string {
	t.Helper()
	var names []string
	for _, st := range listed {
		refs := []v1alpha1.KeyReference{}
		if st.ConfigMapRef != nil {
			refs = append(refs, *st.ConfigMapRef)
		}
		for _, c := range st.Chunks {
			refs = append(refs, c.ConfigMapRef)
		}
		if len(refs) == 0 {
			if st.Text == "" && !st.Truncated {
				t.Errorf("%s is nowhere", st.ArtifactID)
			}
			continue
		}
		var content []byte
		for _, ref := range refs {
			content = append(content, there[ref.Name].Data[ref.Key]...)
			names = append(names, ref.Name)
		}
		if sum := sha256.Sum256(content); st.Digest != "sha256:"+hex.EncodeToString(sum[:]) || st.Size != int64(len(content)) {
			t.Errorf("%s has %d bytes of another digest: %+v", st.ArtifactID, len(content), st)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// mortal is a client of a process that ends after so many writes.
type mortal struct {
	client.Client
	writes int
}

var errEnded = errors.New("the process has ended")

func (m *mortal) write(call func() error) error {
	if m.writes--; m.writes < 0 {
		return errEnded
	}
	return call()
}

func (m *mortal) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	return m.write(func() error { return m.Client.Create(ctx, o, opts...) })
}

func (m *mortal) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	return m.write(func() error { return m.Client.Update(ctx, o, opts...) })
}

func (m *mortal) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	return m.write(func() error { return m.Client.Delete(ctx, o, opts...) })
}

const immortal = 1000

// keeper stores artifacts in a process that ends after so many writes.
func keeper(admin client.Client, writes int) *DelegationReconciler {
	return &DelegationReconciler{Client: &mortal{admin, writes}, Live: admin}
}

// Wherever a process ends, the next one stores all, and nothing is left over of what the first one had stored: neither when
// the results are the same, nor when the agent shows others by then.
func TestACrashWhileArtifactsAreStored(t *testing.T) {
	_, _, admin := newReconciler(t)
	large := []outbox.Artifact{result("a", "a", 2000), result("b", "b", 500), result("c", "c", 1)}
	for name, then := range map[string][]outbox.Artifact{
		"the same":    large,
		"less":        {result("a", "x", 100)},
		"nothing":     {result("c", "c", 1)},
		"more":        {result("a", "a", 3400)},
		"another cut": {result("b", "b", 800), result("a", "a", 2000)},
	} {
		t.Run(name, func(t *testing.T) {
			for writes, ended := 0, true; ended; writes++ {
				d, process := newDelegation(t, admin), keeper(admin, writes)
				_, _, err := process.store(t.Context(), d, large)
				if err == nil {
					_, _, err = process.store(t.Context(), d, then)
				}
				if ended = err != nil; ended && !errors.Is(err, errEnded) {
					t.Fatal(err)
				}
				listed, _, err := keeper(admin, immortal).store(t.Context(), d, then)
				if err != nil {
					t.Fatal(err)
				}
				there := configMaps(t, admin, d.Namespace)
				if refs := checkStored(t, there, listed); len(refs) != len(there) {
					t.Errorf("after %d writes: the status refers to %q, of %d ConfigMaps", writes, refs, len(there))
				}
			}
		})
	}
}

// What is stored already is not written again.
func TestArtifactsAreStoredOnce(t *testing.T) {
	_, _, admin := newReconciler(t)
	d := newDelegation(t, admin)
	all := []outbox.Artifact{result("a", "a", 2000), {ID: "b", Parts: []outbox.ArtifactPart{{Content: bytes.Repeat([]byte{0, 255}, 1<<19)}}}}
	var before map[string]corev1.ConfigMap
	for range 2 {
		if _, _, err := keeper(admin, immortal).store(t.Context(), d, all); err != nil {
			t.Fatal(err)
		}
		now := configMaps(t, admin, d.Namespace)
		for name, cm := range before {
			if cm.ResourceVersion != now[name].ResourceVersion {
				t.Errorf("%s was written again", name)
			}
		}
		before = now
	}
	if len(before) != 4 {
		t.Errorf("%d ConfigMaps, want 4", len(before))
	}
}

// Another replica's status may refer to what is stored. It is neither overwritten nor deleted by who does not know of it.
func TestArtifactsOfAnotherReplica(t *testing.T) {
	_, _, admin := newReconciler(t)
	for name, ours := range map[string][]outbox.Artifact{
		"overwritten": {result("a", "x", 2000)},
		"deleted":     {result("c", "c", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			seen := newDelegation(t, admin)
			now := seen.DeepCopy()
			listed, _, err := keeper(admin, immortal).store(t.Context(), now, []outbox.Artifact{result("a", "a", 2000)})
			if err != nil {
				t.Fatal(err)
			}
			now.Status.Artifacts = listed
			if err := admin.Status().Update(t.Context(), now); err != nil {
				t.Fatal(err)
			}
			if _, _, err := keeper(admin, immortal).store(t.Context(), seen, ours); !apierrors.IsConflict(err) {
				t.Errorf("error %v, want a conflict", err)
			}
			if refs := checkStored(t, configMaps(t, admin, seen.Namespace), now.Status.Artifacts); len(refs) != 3 {
				t.Errorf("the status refers to %q", refs)
			}
		})
	}
}

// A ConfigMap of somebody else's is left alone, and another takes its place.
func TestArtifactsBesideAForeignConfigMap(t *testing.T) {
	_, _, admin := newReconciler(t)
	d := newDelegation(t, admin)
	names := artifact.Names(artifactsName(d.Name))
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: names[1]}, Data: map[string]string{"x": "y"}}
	create(t, admin, foreign)
	for _, kib := range []int{2000, 1} {
		listed, _, err := keeper(admin, immortal).store(t.Context(), d, []outbox.Artifact{result("a", "a", kib)})
		if err != nil {
			t.Fatal(err)
		}
		there := configMaps(t, admin, d.Namespace)
		if refs := checkStored(t, there, listed); slices.Contains(refs, foreign.Name) || len(refs) != len(there)-1 || listed[0].Truncated {
			t.Errorf("the status refers to %q of %d: %+v", refs, len(there), listed)
		}
		if cm := there[foreign.Name]; cm.ResourceVersion != foreign.ResourceVersion {
			t.Errorf("it was changed: %v", cm.Data)
		}
	}
}

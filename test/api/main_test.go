// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package api tests what the API server alone makes of the three kinds: what it accepts, refuses, fills in and shows. No
// operator runs.
package api

import (
	"errors"
	"fmt"
	"os"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/testenv"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

var cluster *harness.Cluster

func TestMain(m *testing.M) {
	os.Exit(testenv.Run(m, func(config *rest.Config) { cluster = harness.NewCluster(config) }))
}

// change makes a valid manifest another one.
type change func(*unstructured.Unstructured)

// set puts a value at a path of field names.
func set(value any, path ...string) change {
	return func(u *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(u.Object, value, path...); err != nil {
			panic(fmt.Sprintf("%v: %v", path, err))
		}
	}
}

// unset removes the field at a path.
func unset(path ...string) change {
	return func(u *unstructured.Unstructured) { unstructured.RemoveNestedField(u.Object, path...) }
}

// parts sets the message's parts.
func parts(list ...any) change { return set(list, "spec", "message", "parts") }

// part is one part, or another object in a manifest: names and values in turn.
func part(pairs ...any) map[string]any {
	out := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i].(string)] = pairs[i+1]
	}
	return out
}

// delegation builds the manifest of a small, valid Delegation, and changes it.
func delegation(changes ...change) *unstructured.Unstructured {
	return manifest("Delegation", map[string]any{
		"agentRef": part("name", "finance"),
		"message":  part("parts", []any{part("text", "Reconcile September 2026")}),
	}, changes)
}

// remoteAgent builds the manifest of a small, valid RemoteAgent, and changes it.
func remoteAgent(changes ...change) *unstructured.Unstructured {
	return manifest("RemoteAgent", map[string]any{"cardURL": "https://finance.example.com"}, changes)
}

func manifest(kind string, spec map[string]any, changes []change) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	u.SetGenerateName("case-")
	for _, c := range changes {
		c(u)
	}
	return u
}

// requireRefused requires the API server to have refused a manifest because of a field, and returns the cause.
func requireRefused(t *testing.T, err error, field string) metav1.StatusCause {
	t.Helper()
	if !apierrors.IsInvalid(err) {
		t.Fatalf("got %v; want Invalid because of %s", err, field)
	}
	var status apierrors.APIStatus
	errors.As(err, &status)
	for _, cause := range status.Status().Details.Causes {
		if cause.Field == field {
			return cause
		}
	}
	t.Fatalf("refused for other reasons than %s: %v", field, err)
	return metav1.StatusCause{}
}

// try creates an object without keeping it.
func try(t *testing.T, s *harness.Space, u *unstructured.Unstructured) error {
	t.Helper()
	u.SetNamespace(s.Namespace)
	return s.Client.Create(t.Context(), u, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
}

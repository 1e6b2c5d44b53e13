// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/test/harness"
)

// healthExpressions are a Kustomization's own checks of one kind.
type healthExpressions struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	InProgress string `json:"inProgress"`
	Failed     string `json:"failed"`
	Current    string `json:"current"`
}

// fluxExpressions reads the checks that config/gitops gives Flux for Delegations.
func fluxExpressions(t *testing.T) healthExpressions {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(harness.Root(t), "config", "gitops", "flux", "kustomizations.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		var kustomization struct {
			Spec struct {
				HealthCheckExprs []healthExpressions `json:"healthCheckExprs"`
			} `json:"spec"`
		}
		if err := decoder.Decode(&kustomization); errors.Is(err, io.EOF) {
			t.Fatal("no Kustomization has healthCheckExprs")
		} else if err != nil {
			t.Fatal(err)
		}
		for _, e := range kustomization.Spec.HealthCheckExprs {
			if e.Kind == "Delegation" {
				return e
			}
		}
	}
}

// fluxHealth decides as Flux's kustomize-controller does (its RFC 0009): a generation that was not observed is in progress;
// then inProgress, failed and current are asked, in this order.
func fluxHealth(t *testing.T, o client.Object) status.Status {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		t.Fatal(err)
	}
	if s, ok := content["status"].(map[string]any); ok && s["observedGeneration"] != nil && s["observedGeneration"] != o.GetGeneration() {
		return status.InProgressStatus
	}
	checks := fluxExpressions(t)
	for _, check := range []struct {
		expression string
		status     status.Status
	}{
		{checks.InProgress, status.InProgressStatus}, {checks.Failed, status.FailedStatus}, {checks.Current, status.CurrentStatus},
	} {
		if check.expression != "" && evaluate(t, check.expression, content) {
			return check.status
		}
	}
	return status.InProgressStatus
}

// evaluate parses and runs an expression in the environment that Flux gives it. Nothing is type-checked there.
func evaluate(t *testing.T, expression string, content map[string]any) bool {
	t.Helper()
	env, err := cel.NewEnv(cel.HomogeneousAggregateLiterals(), cel.EagerlyValidateDeclarations(true), cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true), cel.OptionalTypes(), ext.Strings(), ext.Sets(), ext.Encoders())
	if err != nil {
		t.Fatal(err)
	}
	parsed, issues := env.Parse(expression)
	if issues.Err() != nil {
		t.Fatal(issues.Err())
	}
	program, err := env.Program(parsed)
	if err != nil {
		t.Fatal(err)
	}
	value, _, err := program.Eval(content)
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return value.Value() == true
}

// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// putTogether is the command of docs/concepts.md that puts the chunks of an artifact together.
func putTogether(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(harness.Root(t), "docs", "concepts.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(string(page), "```sh\n")[1:] {
		if command, _, _ := strings.Cut(block, "```"); strings.Contains(command, ".chunks") {
			return command
		}
	}
	t.Fatal("docs/concepts.md does not say how to put chunks together")
	return ""
}

// Results that no ConfigMap holds as a whole are in several, and the documented command puts them together: text and bytes.
func TestLargeArtifactsArePutTogether(t *testing.T) {
	t.Parallel()
	content := map[string][]byte{
		"ledger": []byte("x" + strings.Repeat("\u20ac 1.00\n", 200<<10)),
		"scan":   bytes.Repeat([]byte{0, 255, '\n', 7, 128}, 200<<10),
	}
	agent := harness.StartInstantAgent(t, func(call *a2asrv.ExecutorContext) a2a.Event {
		task := a2a.NewSubmittedTask(call, call.Message)
		task.Status.State = a2a.TaskStateCompleted
		task.Artifacts = []*a2a.Artifact{
			{ID: "ledger", Name: "ledger.csv", Parts: a2a.ContentParts{a2a.NewTextPart(string(content["ledger"]))}},
			{ID: "small", Parts: a2a.ContentParts{a2a.NewTextPart("42")}},
			{ID: "scan", Name: "scan.bin", Parts: a2a.ContentParts{a2a.NewRawPart(content["scan"])}},
		}
		return task
	})
	s := cluster.Space(t)
	s.StartManager()
	const name = "reconcile-2026-09"
	s.Create(s.RemoteAgent(agent).Build(), s.Delegation(name).Build())
	got := s.AwaitPhase(name, v1alpha1.PhaseCompleted).Status
	if got.OmittedArtifacts != nil || len(got.Artifacts) != 3 {
		t.Fatalf("%d artifacts, and omitted %+v", len(got.Artifacts), got.OmittedArtifacts)
	}
	for _, a := range got.Artifacts {
		if a.ArtifactID == "small" {
			continue
		}
		if len(a.Chunks) < 2 || a.ConfigMapRef != nil || a.Size != int64(len(content[a.ArtifactID])) {
			t.Errorf("%+v", a)
		}
		printed := s.Shell(strings.Replace(putTogether(t), "artifact=ledger", "artifact="+a.ArtifactID, 1))
		if digest := strings.TrimPrefix(a.Digest, "sha256:"); strings.Count(printed, digest) != 2 {
			t.Errorf("%s: want twice the digest %s in\n%s", a.ArtifactID, digest, printed)
		}
	}
}

// What a manager has stored that ended before it wrote the status goes, and what somebody else has stays.
func TestConfigMapsLeftOverByACrashGo(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	d := s.Delegation("d").Build()
	s.Create(s.RemoteAgent(harness.StartInstantAgent(t, harness.AnswerCompletedTask)).Build(), d)
	left, foreign := &corev1.ConfigMap{Data: map[string]string{"a": "b"}}, &corev1.ConfigMap{Data: map[string]string{"a": "b"}}
	left.Namespace, left.Name, foreign.Namespace, foreign.Name = s.Namespace, "d-artifacts", s.Namespace, "d-artifacts-2"
	if err := controllerutil.SetControllerReference(d, left, s.Client.Scheme()); err != nil {
		t.Fatal(err)
	}
	s.Create(left, foreign)
	s.StartManager()
	s.AwaitPhase("d", v1alpha1.PhaseCompleted)
	if err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(left), left); !apierrors.IsNotFound(err) {
		t.Errorf("what is left over: %v", err)
	}
	if err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign); err != nil {
		t.Errorf("what somebody else has: %v", err)
	}
}

// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

const (
	// large is the size of an artifact that no limit lets through.
	large = 20 << 20
	// mostGrowth is how much more memory the manager may take for it.
	mostGrowth = 96 << 20
	// unhurried is how long such an answer may take on a busy machine.
	unhurried = 2 * time.Minute
)

// lengthyAgent is an agent without a card whose task has these artifacts. Its answer to SendMessage is the ended task where
// atOnce says so; else that comes with GetTask.
func lengthyAgent(t *testing.T, atOnce bool, artifacts func(io.Writer)) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var call struct{ ID, Method string }
		if json.NewDecoder(r.Body).Decode(&call) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%q,"result":`, call.ID)
		if call.Method == "SendMessage" {
			_, _ = io.WriteString(w, `{"task":`)
		}
		_, _ = io.WriteString(w, `{"id":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_`)
		if call.Method == "GetTask" || atOnce {
			_, _ = io.WriteString(w, `COMPLETED"},"artifacts":[`)
			artifacts(w)
			_, _ = io.WriteString(w, `]}}`)
		} else {
			_, _ = io.WriteString(w, `WORKING"}}}}`)
		}
		if call.Method == "SendMessage" && atOnce {
			_, _ = io.WriteString(w, `}`)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func oneLarge(w io.Writer) {
	_, _ = io.WriteString(w, `{"artifactId":"small","parts":[{"text":"42"}]},{"artifactId":"large","name":"ledger.csv","parts":[{"text":"`)
	block := strings.Repeat("x", 64<<10)
	for range large / len(block) {
		_, _ = io.WriteString(w, block)
	}
	_, _ = io.WriteString(w, `"}]}`)
}

func aThousand(w io.Writer) {
	block := strings.Repeat("x", 20<<10)
	for i := range 1000 {
		if i > 0 {
			_, _ = io.WriteString(w, ",")
		}
		_, _ = fmt.Fprintf(w, `{"artifactId":"a-%d","parts":[{"text":%q}]}`, i, block)
	}
}

// sdkLarge is the answer of an agent on the SDK with such an artifact.
func sdkLarge(call *a2asrv.ExecutorContext) a2a.Event {
	task := a2a.NewSubmittedTask(call, call.Message)
	task.Status.State = a2a.TaskStateCompleted
	task.Artifacts = []*a2a.Artifact{
		{ID: "small", Parts: a2a.ContentParts{a2a.NewTextPart("42")}},
		{ID: "large", Name: "ledger.csv", Parts: a2a.ContentParts{a2a.NewTextPart(strings.Repeat("x", large))}},
	}
	return task
}

// A task of any size comes to its end, the status says what was cut, and the manager stays as large as it was.
func TestLargeResults(t *testing.T) {
	t.Parallel()
	s := cluster.Space(t)
	sum := sha256.Sum256([]byte(strings.Repeat("x", large)))
	digest := "sha256:" + hex.EncodeToString(sum[:])
	cases := []struct {
		name      string
		url       string
		hand      bool
		truncated int32
		unlisted  int64
	}{
		{"get", lengthyAgent(t, false, oneLarge), true, 1, 0},
		{"send", lengthyAgent(t, true, oneLarge), true, 1, 0},
		{"thousand", lengthyAgent(t, false, aThousand), true, 0, 900},
		{"sdk", harness.StartInstantAgent(t, sdkLarge), false, 1, 0},
		{"grpc", harness.StartInstantGRPCAgent(t, sdkLarge), false, 1, 0},
	}
	manager := s.StartManager()
	s.Create(s.RemoteAgent(harness.StartInstantAgent(t, harness.AnswerCompletedTask)).Build(), s.Delegation("first").Build())
	s.AwaitPhase("first", v1alpha1.PhaseCompleted)
	before := manager.PeakMemory()
	for _, c := range cases {
		ra := s.RemoteAgent(c.url).AttemptTimeout(unhurried)
		if c.hand {
			ra.Endpoint(c.url)
		}
		agent := ra.Build()
		agent.Name = c.name
		s.Create(agent, s.Delegation(c.name).Agent(c.name).Build())
		got := s.AwaitWithin(unhurried, c.name, "to be done", func(d *v1alpha1.Delegation) bool { return d.Status.Phase == v1alpha1.PhaseCompleted }).Status
		cut := got.OmittedArtifacts
		if cut == nil || cut.Truncated != c.truncated || cut.Unlisted != c.unlisted || !strings.Contains(cut.Fetch, got.TaskID) {
			t.Errorf("%s: omitted %+v, want %d and %d, and how to fetch %s", c.name, cut, c.truncated, c.unlisted, got.TaskID)
		}
		if c.unlisted > 0 {
			continue
		}
		if a := got.Artifacts; len(a) != 2 || a[0].Text != "42" || a[0].Truncated || !a[1].Truncated || a[1].Size != large || a[1].Digest != digest {
			t.Errorf("%s: artifacts %+v", c.name, a)
		}
	}
	after := manager.PeakMemory()
	t.Logf("the manager had %d MiB at most before, and %d MiB after", before>>20, after>>20)
	if after-before > mostGrowth {
		t.Errorf("the manager grew by %d MiB", (after-before)>>20)
	}
}

// limitConfigMaps lets a namespace have so many.
func limitConfigMaps(t *testing.T, s *harness.Space, most string) {
	t.Helper()
	const count = "count/configmaps"
	quota := &corev1.ResourceQuota{}
	quota.Namespace, quota.Name = s.Namespace, "configmaps"
	quota.Spec.Hard = corev1.ResourceList{count: resource.MustParse(most)}
	s.Create(quota)
	// No controller counts here. The API server admits by the status.
	quota.Status = corev1.ResourceQuotaStatus{Hard: quota.Spec.Hard, Used: corev1.ResourceList{count: resource.MustParse("0")}}
	if err := s.Client.Status().Update(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
}

// Larger results are in ConfigMaps. What a quota refuses to keep is truncated: the task has ended, and the Delegation with
// it.
func TestResultsUnderAQuota(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("x", 600<<10)
	url := lengthyAgent(t, false, func(w io.Writer) {
		_, _ = fmt.Fprintf(w, `{"artifactId":"a","parts":[{"text":%q}]},{"artifactId":"b","parts":[{"text":%q}]},{"artifactId":"c","parts":[{"text":"42"}]}`, content, content)
	})
	for most, truncated := range map[string]int32{"0": 2, "1": 1, "2": 0} {
		t.Run(most, func(t *testing.T) {
			t.Parallel()
			s := cluster.Space(t)
			limitConfigMaps(t, s, most)
			s.StartManager()
			s.Create(s.RemoteAgent(url).Endpoint(url).Build(), s.Delegation("d").Build())
			d := s.AwaitPhase("d", v1alpha1.PhaseCompleted)
			kept := keptArtifacts(t, s, d)
			for _, a := range d.Status.Artifacts[:2] {
				if a.Size != int64(len(content)) || !a.Truncated && kept[a.ArtifactID] != content {
					t.Errorf("%s: %d bytes, %d of them kept", a.ArtifactID, a.Size, len(kept[a.ArtifactID]))
				}
			}
			if c := d.Status.Artifacts[2]; c.Text != "42" || len(kept) != int(2-truncated) {
				t.Errorf("%d are kept, and %+v", len(kept), c)
			}
			var got int32
			if cut := d.Status.OmittedArtifacts; cut != nil {
				if got = cut.Truncated; !strings.Contains(cut.Fetch, `"GetTask"`) {
					t.Errorf("how to fetch: %q", cut.Fetch)
				}
			}
			if got != truncated {
				t.Errorf("%d are truncated, want %d", got, truncated)
			}
		})
	}
}

// forbidConfigMaps has a policy of the cluster's owner refuse the ConfigMaps of results in a namespace. It refuses as policies
// do by default: with Invalid.
func forbidConfigMaps(t *testing.T, s *harness.Space) {
	t.Helper()
	policy := &admissionv1.ValidatingAdmissionPolicy{}
	policy.Name = "no-configmaps." + s.Namespace
	rule := admissionv1.NamedRuleWithOperations{}
	rule.Operations = []admissionv1.OperationType{admissionv1.Create}
	rule.APIGroups, rule.APIVersions, rule.Resources = []string{""}, []string{"v1"}, []string{"configmaps"}
	policy.Spec.MatchConstraints = &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{rule}}
	policy.Spec.Validations = []admissionv1.Validation{{Expression: "false", Message: "no ConfigMaps without an owner's label"}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{}
	binding.Name, binding.Spec.PolicyName = policy.Name, policy.Name
	binding.Spec.ValidationActions = []admissionv1.ValidationAction{admissionv1.Deny}
	binding.Spec.MatchResources = &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
		MatchLabels: map[string]string{corev1.LabelMetadataName: s.Namespace},
	}}
	s.Create(policy, binding)
	t.Cleanup(func() {
		for _, o := range []client.Object{binding, policy} {
			if err := s.Client.Delete(context.Background(), o); err != nil {
				t.Error(err)
			}
		}
	})
	probe := &corev1.ConfigMap{}
	probe.Namespace, probe.GenerateName = s.Namespace, "probe-"
	harness.Eventually(t, harness.Patience, "the policy to be in force", func(ctx context.Context) (bool, string) {
		err := s.Client.Create(ctx, probe.DeepCopy())
		return apierrors.IsInvalid(err), fmt.Sprint(err)
	})
}

// What a policy will never let be kept does not hold up the end either.
func TestResultsUnderAPolicy(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("x", 600<<10)
	url := lengthyAgent(t, false, func(w io.Writer) {
		_, _ = fmt.Fprintf(w, `{"artifactId":"a","parts":[{"text":%q}]},{"artifactId":"b","parts":[{"text":"42"}]}`, content)
	})
	s := cluster.Space(t)
	forbidConfigMaps(t, s)
	s.StartManager()
	s.Create(s.RemoteAgent(url).Endpoint(url).Build(), s.Delegation("d").Build())
	d := s.AwaitPhase("d", v1alpha1.PhaseCompleted)
	if a := d.Status.Artifacts; len(a) != 2 || !a[0].Truncated || a[0].Size != int64(len(content)) || a[1].Text != "42" {
		t.Errorf("artifacts %+v", a)
	}
}

// keptArtifacts returns what the Delegation's own ConfigMaps hold of its artifacts, by their id.
func keptArtifacts(t *testing.T, s *harness.Space, d *v1alpha1.Delegation) map[string]string {
	t.Helper()
	kept := map[string]string{}
	for _, a := range d.Status.Artifacts {
		if a.ConfigMapRef == nil {
			continue
		}
		cm := &corev1.ConfigMap{}
		if err := s.Client.Get(t.Context(), client.ObjectKey{Namespace: s.Namespace, Name: a.ConfigMapRef.Name}, cm); err != nil {
			t.Fatal(err)
		}
		if !metav1.IsControlledBy(cm, d) {
			t.Errorf("ConfigMap %s is not the Delegation's", cm.Name)
		}
		kept[a.ArtifactID] = cm.Data[a.ConfigMapRef.Key]
	}
	return kept
}

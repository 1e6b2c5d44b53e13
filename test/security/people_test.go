// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/message"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
	"github.com/delegation-dev/delegation-operator/test/harness"
)

// bind gives a user a ClusterRole in the namespace.
func bind(t *testing.T, s *harness.Space, user, role string) {
	t.Helper()
	b := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: strings.ReplaceAll(user, ":", "-") + "-" + role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	if err := s.Client.Create(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

// aggregate adds a role to one of Kubernetes' own, as kube-controller-manager does by the labels; none runs here.
func aggregate(t *testing.T, s *harness.Space, into string) {
	t.Helper()
	list := &rbacv1.ClusterRoleList{}
	if err := s.Client.List(t.Context(), list, client.MatchingLabels{"rbac.authorization.k8s.io/aggregate-to-" + into: "true"}); err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{}
	if err := s.Client.Get(t.Context(), client.ObjectKey{Name: into}, role); err != nil {
		t.Fatal(err)
	}
	role.Rules = nil
	for _, part := range list.Items {
		role.Rules = append(role.Rules, part.Rules...)
	}
	if err := s.Client.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
}

// person is who tries, as whom.
type person struct{ user, role string }

var people = []person{
	{"vera", "view"}, {"edda", "edit"}, {"adam", "admin"}, {"anna", "delegation-operator-approver"},
	{"arno", "edit"}, // and an approver
}

// community has people with the roles that a cluster gives them, and the policy of config/policy in force.
func community(t *testing.T) *harness.Space {
	t.Helper()
	s := cluster.Space(t)
	for _, into := range []string{"view", "edit", "admin"} {
		aggregate(t, s, into)
	}
	for _, p := range people {
		bind(t, s, p.user, p.role)
	}
	bind(t, s, "arno", "delegation-operator-approver")
	s.Kubectl("apply", "-k", harness.Root(t)+"/config/policy")
	waiting := s.Answer("waiting", "asks", "approve").Build()
	waiting.Spec.Suspend = true
	s.Create(s.RemoteAgent("https://finance.example.com").Build(), s.Reconciliation("asks").Build(), waiting)
	awaitPolicy(t, s)
	return s
}

// awaitPolicy waits until the API server enforces the policy, which it does a moment after it was made.
func awaitPolicy(t *testing.T, s *harness.Space) {
	t.Helper()
	edda := as(t, s, "edda")
	harness.Eventually(t, harness.Patience, "the policy to be in force", func(ctx context.Context) (bool, string) {
		err := edda.Create(ctx, s.Answer("early", "asks", "approve").Build(), client.DryRunAll)
		return byPolicy(err), verdict(err)
	})
}

// byPolicy reports whether a policy refused a request, and not RBAC: only a policy's refusal has causes.
func byPolicy(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && apierrors.IsForbidden(err) && status.Status().Details != nil && len(status.Status().Details.Causes) > 0
}

func verdict(err error) string {
	if err == nil {
		return "allowed"
	}
	return err.Error()
}

// Who may do what, as impersonated users on a real API server. Those who may are named.
func TestPeople(t *testing.T) {
	s := community(t)
	get := func(o client.Object, name string) client.Object {
		o.SetNamespace(s.Namespace)
		o.SetName(name)
		return o
	}
	status := func(c client.Client) error {
		d := s.Get("asks")
		d.Status.TaskID = "t-forged"
		return c.Status().Update(t.Context(), d, &client.SubResourceUpdateOptions{UpdateOptions: client.UpdateOptions{DryRun: []string{metav1.DryRunAll}}})
	}
	agentStatus := func(c client.Client) error {
		ra := get(&v1alpha1.RemoteAgent{}, harness.AgentName)
		if err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(ra), ra); err != nil {
			return err
		}
		return c.Status().Update(t.Context(), ra, &client.SubResourceUpdateOptions{UpdateOptions: client.UpdateOptions{DryRun: []string{metav1.DryRunAll}}})
	}
	creates := func(o client.Object) func(client.Client) error {
		return func(c client.Client) error {
			return c.Create(t.Context(), o.DeepCopyObject().(client.Object), client.DryRunAll)
		}
	}
	sends := func(change func(*v1alpha1.Delegation)) func(client.Client) error {
		return func(c client.Client) error {
			d := s.Get("waiting")
			change(d)
			return c.Update(t.Context(), d, client.DryRunAll)
		}
	}
	for _, c := range []struct {
		name string
		try  func(client.Client) error
		// may names those who may; all for everybody.
		may string
	}{
		{"read Delegations", func(c client.Client) error {
			return c.List(t.Context(), &v1alpha1.DelegationList{}, client.InNamespace(s.Namespace))
		}, "all"},
		{"read RemoteAgents", func(c client.Client) error {
			return c.List(t.Context(), &v1alpha1.RemoteAgentList{}, client.InNamespace(s.Namespace))
		}, "all"},
		{"create a Delegation", creates(s.Reconciliation("new").Build()), "edda adam anna arno"},
		{"create a Delegation that refines", creates(s.Refinement("more", "asks", "summarize").Build()), "edda adam anna arno"},
		{"create a Delegation that continues", creates(s.Answer("answer", "asks", "approve").Build()), "anna arno"},
		{"have an answer sent again", sends(func(d *v1alpha1.Delegation) {
			d.Spec.Resolution = &v1alpha1.Resolution{Action: v1alpha1.ResolutionResend}
		}), "arno"},
		{"have an answer sent again by itself", sends(func(d *v1alpha1.Delegation) { d.Spec.OnUnknown = v1alpha1.UnknownResend }), "arno"},
		{"have an answer sent that was held back", sends(func(d *v1alpha1.Delegation) { d.Spec.Suspend = false }), "arno"},
		{"forge an answer's journal", sends(func(d *v1alpha1.Delegation) {
			d.Annotations = map[string]string{v1alpha1.AttemptAnnotation: "forged"}
		}), "arno"},
		{"forge that an answer was sent", sends(func(d *v1alpha1.Delegation) {
			d.Finalizers = append(d.Finalizers, v1alpha1.DeliveryFinalizer)
		}), "arno"},
		{"label an answer", sends(func(d *v1alpha1.Delegation) { d.Labels = map[string]string{"seen": "yes"} }), "edda adam arno"},
		{"cancel a Delegation", func(c client.Client) error {
			d := s.Get("asks")
			d.Spec.Cancel = true
			return c.Update(t.Context(), d, client.DryRunAll)
		}, "edda adam arno"},
		{"delete a Delegation", func(c client.Client) error {
			return c.Delete(t.Context(), get(&v1alpha1.Delegation{}, "asks"), client.DryRunAll)
		}, "edda adam arno"},
		{"create a RemoteAgent", creates(s.RemoteAgent("https://other.example.com").Named("other").Build()), "adam"},
		{"create a DelegationSchedule", creates(s.Schedule("@daily", s.Reconciliation("daily").Build())), "edda adam arno"},
		{"write a Delegation's status", status, ""},
		{"write a RemoteAgent's status", agentStatus, ""},
		{"create a Delegation in another namespace", creates(elsewhere(s.Reconciliation("new").Build())), ""},
		{"give somebody the approver's role", creates(&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "friends"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "delegation-operator-approver"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "mallory"}},
		}), ""},
	} {
		for _, p := range people {
			t.Run(c.name+"/"+p.user, func(t *testing.T) {
				err := c.try(as(t, s, p.user))
				if may := c.may == "all" || strings.Contains(c.may, p.user); may && err != nil || !may && !apierrors.IsForbidden(err) {
					t.Errorf("%s with the role %s: %s; want allowed: %t", p.user, p.role, verdict(err), may)
				}
			})
		}
	}
}

// An editor does not answer by a Delegation that continues nothing and has a journal with the task that asks.
func TestAnEditorDoesNotAnswerByAJournal(t *testing.T) {
	s := community(t)
	agent := harness.StartAgent(t)
	s.StartManager()
	ra := s.RemoteAgent(agent.URL).Named("asking").Build()
	s.Create(ra, s.Question("q").Agent("asking").MessageID("m-71").Build())
	q := s.AwaitPhase("q", v1alpha1.PhaseInputRequired)
	d := s.Answer("forged", "q", "approve by Edda").Agent("asking").MessageID("m-forged").ContextID(q.Status.ContextID).Build()
	d.Spec.Continues = nil
	m, err := message.Build(d, outbox.Envelope{MessageID: "m-forged", ContextID: q.Status.ContextID, TaskID: q.Status.TaskID}, nil)
	if err != nil {
		t.Fatal(err)
	}
	past := time.Now().Add(-time.Minute).UTC()
	forged := outbox.Attempt{Number: 1, Holder: "edda", First: past, Started: past, Deadline: past, Endpoint: "x", Body: m.Digest, Task: q.Status.TaskID}
	if err := forged.Annotate(d); err != nil {
		t.Fatal(err)
	}
	if err := as(t, s, "edda").Create(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	s.AwaitReason("forged", "TargetNotFound")
	honest := s.Answer("answer", "q", "approve").Agent("asking").MessageID("m-72").Build()
	if err := as(t, s, "anna").Create(t.Context(), honest); err != nil {
		t.Fatal(err)
	}
	s.AwaitPhase("q", v1alpha1.PhaseCompleted)
	if got := agent.TaskMessages(q.Status.TaskID); !slices.Contains(got, "m-72") || slices.Contains(got, "m-forged") {
		t.Errorf("the task has the messages %v", got)
	}
}

func elsewhere(d *v1alpha1.Delegation) *v1alpha1.Delegation {
	d.Namespace = corev1.NamespaceDefault
	return d
}

// The refusal names who, what and the command that ends it; with it, the editor answers.
func TestTheApproversPolicyTellsTheWayOut(t *testing.T) {
	s := community(t)
	edda := as(t, s, "edda")
	answer := s.Answer("answer", "asks", "approve").Build()
	err := edda.Create(t.Context(), answer.DeepCopy())
	if !byPolicy(err) {
		t.Fatalf("%v; want a refusal of the policy", err)
	}
	_, command, found := strings.Cut(err.Error(), "kubectl ")
	if !found || !strings.Contains(err.Error(), "edda") {
		t.Fatalf("%v names no command, or not who", err)
	}
	s.Shell("kubectl " + command)
	harness.Eventually(t, harness.Patience, "the editor to be an approver", func(ctx context.Context) (bool, string) {
		err := edda.Create(ctx, answer.DeepCopy(), client.DryRunAll)
		return err == nil, verdict(err)
	})
}

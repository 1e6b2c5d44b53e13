// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package compose

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// Options are the rest of a Delegation as a command line gives it.
type Options struct {
	Name string
	// Namespace is where it will be; Written says that the manifest names it.
	Namespace string
	Written   bool
	// Agent is NAME or NAMESPACE/NAME.
	Agent                string
	MessageID, ContextID string
	Continues            string
	Refines              []string
	Accept               []string
	// NotAfter is a time, or how long from now.
	NotAfter                              string
	DeliveryDeadline, ActiveDeadline, TTL time.Duration
	OnUnknown, DeletionPolicy, Store      string
	Suspend                               bool
	Labels                                []string
}

// Delegation makes the manifest. The messageId is minted here and not by the operator: it is in the manifest from its first
// version on, so that the manifest can be kept in Git, and means the same message wherever and whenever it is applied.
func Delegation(o Options, m v1alpha1.MessageTemplate, now time.Time, mint func() string) (*v1alpha1.Delegation, error) {
	d := &v1alpha1.Delegation{}
	d.APIVersion, d.Kind = v1alpha1.GroupVersion.String(), "Delegation"
	d.Name = o.Name
	if o.Written {
		d.Namespace = o.Namespace
	}
	var err error
	if d.Spec.AgentRef, err = agent(o.Agent, o.Namespace); err != nil {
		return nil, err
	}
	if d.Labels, err = labels(o.Labels); err != nil {
		return nil, err
	}
	d.Spec.Message = m
	d.Spec.MessageID, d.Spec.ContextID = o.MessageID, o.ContextID
	if d.Spec.MessageID == "" {
		d.Spec.MessageID = mint()
		if d.Spec.AgentRef.Namespace != "" {
			// What namespaces share an agent keeps apart: their ids begin with their own names.
			d.Spec.MessageID = o.Namespace + "/" + d.Spec.MessageID
		}
	}
	if o.Continues != "" {
		d.Spec.Continues = &v1alpha1.DelegationReference{Name: o.Continues}
	}
	for _, name := range o.Refines {
		d.Spec.Refines = append(d.Spec.Refines, v1alpha1.DelegationReference{Name: name})
	}
	if d.Spec.Continues != nil && d.Spec.Refines != nil {
		return nil, &Error{"--continues, --refines", "both are given", "an answer to a task that waits continues it, a follow-up of one that is done refines it: give one of them"}
	}
	return d, o.limits(&d.Spec, now)
}

// limits sets what bounds the delivery and the task.
func (o Options) limits(s *v1alpha1.DelegationSpec, now time.Time) error {
	s.AcceptedOutputModes, s.Suspend = o.Accept, o.Suspend
	s.DeliveryDeadline.Duration = o.DeliveryDeadline
	var err error
	if s.NotAfter, err = notAfter(o.NotAfter, now); err != nil {
		return err
	}
	for _, f := range []struct {
		flag string
		d    time.Duration
		set  func(seconds int64)
	}{
		{"--active-deadline", o.ActiveDeadline, func(n int64) { s.ActiveDeadlineSeconds = &n }},
		{"--ttl", o.TTL, func(n int64) { short := int32(n); s.TTLSecondsAfterFinished = &short }},
	} {
		switch {
		case f.d == 0:
		case f.d < time.Second || f.d > 10*365*24*time.Hour:
			return &Error{f.flag, f.d.String() + " is out of range", "give a time from 1s to 87600h"}
		default:
			f.set(int64(f.d / time.Second))
		}
	}
	if s.OnUnknown, err = choice[v1alpha1.UnknownPolicy]("--on-unknown", o.OnUnknown, v1alpha1.UnknownEscalate, v1alpha1.UnknownResend); err != nil {
		return err
	}
	if s.DeletionPolicy, err = choice[v1alpha1.DeletionPolicy]("--deletion-policy", o.DeletionPolicy, v1alpha1.DeletionCancel, v1alpha1.DeletionOrphan); err != nil {
		return err
	}
	s.Output.Store, err = choice[v1alpha1.OutputStore]("--output-store", o.Store, v1alpha1.OutputStatus, v1alpha1.OutputConfigMap, v1alpha1.OutputNone)
	return err
}

// choice finds a value whatever its case.
func choice[T ~string](flag, given string, values ...T) (T, error) {
	if given == "" {
		return "", nil
	}
	var names []string
	for _, v := range values {
		if strings.EqualFold(given, string(v)) {
			return v, nil
		}
		names = append(names, string(v))
	}
	return "", &Error{flag, fmt.Sprintf("there is no %q", given), "give one of " + strings.Join(names, ", ")}
}

func agent(text, namespace string) (v1alpha1.AgentReference, error) {
	ref := v1alpha1.AgentReference{Name: text}
	if ns, name, ok := strings.Cut(text, "/"); ok {
		ref.Name = name
		if ns != namespace {
			ref.Namespace = ns
		}
	}
	if ref.Name == "" {
		return ref, &Error{"--agent", "no RemoteAgent is named", "give one that kubectl get remoteagents shows, or NAMESPACE/NAME of one that another namespace opens to this one"}
	}
	return ref, nil
}

func labels(list []string) (map[string]string, error) {
	var out map[string]string
	for _, text := range list {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return nil, &Error{"--label", fmt.Sprintf("%q is no label", text), "write KEY=VALUE"}
		}
		if out == nil {
			out = map[string]string{}
		}
		out[key] = value
	}
	return out, nil
}

// notAfter reads a time, or how long from now. Whole seconds are what the API server keeps.
func notAfter(text string, now time.Time) (*metav1.Time, error) {
	if text == "" {
		return nil, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return &metav1.Time{Time: now.Add(d).UTC().Truncate(time.Second)}, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return nil, &Error{"--not-after", fmt.Sprintf("%q is neither a time nor how long from now", text), "write 2026-10-31T00:00:00Z or 48h"}
	}
	return &metav1.Time{Time: t.UTC()}, nil
}

// Resolution makes the answer to the phase Unknown. The attempt that it is about goes with it: a second decision of the same
// kind is another one then, and one about an attempt that is past does nothing.
func Resolution(as, task string, attempt int32) (*v1alpha1.Resolution, error) {
	action, err := choice[v1alpha1.ResolutionAction]("--as", as, v1alpha1.ResolutionAdopt, v1alpha1.ResolutionResend, v1alpha1.ResolutionAbandon)
	switch {
	case err != nil:
		return nil, err
	case action == "":
		return nil, &Error{"--as", "no decision is given", "give adopt with --task TASK, if the agent has a task for the message; resend, to send the same message once more; or abandon, to leave it"}
	case action == v1alpha1.ResolutionAdopt && task == "":
		return nil, &Error{"--task", "adopt needs the task that the agent has for the message", "give --task TASK"}
	case action != v1alpha1.ResolutionAdopt && task != "":
		return nil, &Error{"--task", "only adopt takes a task", "give --as adopt, or leave --task out"}
	}
	return &v1alpha1.Resolution{Action: action, TaskID: task, Attempt: attempt}, nil
}

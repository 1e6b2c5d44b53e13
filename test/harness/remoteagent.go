// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// RemoteAgentBuilder builds a RemoteAgent.
type RemoteAgentBuilder struct{ ra *v1alpha1.RemoteAgent }

// RemoteAgent begins one whose card is read at a base URL and whose tasks are looked at often and not listened to, so that a
// test knows when they are. All times are set, since a Duration that is zero in Go is a zero in the manifest and not the
// schema's default.
func (s *Space) RemoteAgent(url string) *RemoteAgentBuilder {
	ra := &v1alpha1.RemoteAgent{}
	ra.APIVersion, ra.Kind = v1alpha1.GroupVersion.String(), "RemoteAgent"
	ra.Namespace, ra.Name = s.Namespace, AgentName
	ra.Spec.CardURL = url
	return (&RemoteAgentBuilder{ra}).
		AttemptTimeout(10*time.Second).
		Mode(v1alpha1.UpdatesPoll).
		Poll(200*time.Millisecond, time.Second).
		Lookup(v1alpha1.LookupBestEffort, time.Minute)
}

// Endpoint gives the JSON-RPC endpoint by hand, so that no card is read.
func (b *RemoteAgentBuilder) Endpoint(url string) *RemoteAgentBuilder {
	b.ra.Spec.CardURL = ""
	b.ra.Spec.Interfaces = []v1alpha1.AgentInterface{{URL: url}}
	return b
}

// Mode sets how changes to tasks are heard of.
func (b *RemoteAgentBuilder) Mode(m v1alpha1.UpdateMode) *RemoteAgentBuilder {
	b.ra.Spec.Updates.Mode = m
	return b
}

// Poll sets how often tasks are looked at.
func (b *RemoteAgentBuilder) Poll(first, limit time.Duration) *RemoteAgentBuilder {
	b.ra.Spec.Updates.PollInterval.Duration = first
	b.ra.Spec.Updates.MaxPollInterval.Duration = limit
	return b
}

// AttemptTimeout bounds one attempt.
func (b *RemoteAgentBuilder) AttemptTimeout(d time.Duration) *RemoteAgentBuilder {
	b.ra.Spec.Delivery.AttemptTimeout.Duration = d
	return b
}

// Deduplicates declares what the card does not say.
func (b *RemoteAgentBuilder) Deduplicates() *RemoteAgentBuilder {
	b.ra.Spec.Contract.Deduplication = &v1alpha1.Deduplication{
		Mode: v1alpha1.DeduplicationMessageID, Retention: metav1.Duration{Duration: 72 * time.Hour},
	}
	return b
}

// Lookup says what the agent's list of tasks proves, and when.
func (b *RemoteAgentBuilder) Lookup(mode v1alpha1.LookupMode, settle time.Duration) *RemoteAgentBuilder {
	b.ra.Spec.Contract.TaskLookup.Mode = mode
	b.ra.Spec.Contract.TaskLookup.Settle.Duration = settle
	return b
}

// Bearer takes a token from a Secret.
func (b *RemoteAgentBuilder) Bearer(secret, key string) *RemoteAgentBuilder {
	b.ra.Spec.Authentication = &v1alpha1.Authentication{Bearer: &v1alpha1.BearerAuthentication{
		SecretRef: v1alpha1.KeyReference{Name: secret, Key: key},
	}}
	return b
}

// ServiceAccountToken takes tokens of a ServiceAccount, for an audience.
func (b *RemoteAgentBuilder) ServiceAccountToken(account, audience string) *RemoteAgentBuilder {
	b.ra.Spec.Authentication = &v1alpha1.Authentication{ServiceAccountToken: &v1alpha1.ServiceAccountTokenAuthentication{
		ServiceAccountName: account, Audience: audience, Expiration: metav1.Duration{Duration: time.Hour},
	}}
	return b
}

// Named gives it another name.
func (b *RemoteAgentBuilder) Named(name string) *RemoteAgentBuilder {
	b.ra.Name = name
	return b
}

// OpenTo says from which namespaces it may be used; without labels from all.
func (b *RemoteAgentBuilder) OpenTo(labels map[string]string) *RemoteAgentBuilder {
	b.ra.Spec.AllowedNamespaces = v1alpha1.AllowedNamespaces{From: v1alpha1.NamespacesFromAll}
	if labels != nil {
		b.ra.Spec.AllowedNamespaces = v1alpha1.AllowedNamespaces{
			From: v1alpha1.NamespacesFromSelector, Selector: &metav1.LabelSelector{MatchLabels: labels},
		}
	}
	return b
}

// Build returns the RemoteAgent.
func (b *RemoteAgentBuilder) Build() *v1alpha1.RemoteAgent { return b.ra.DeepCopy() }

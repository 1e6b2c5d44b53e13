// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/credential"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// secretRetry is how soon what waits for a Secret is looked at again where Secrets are not watched: within a minute, as for a
// label of a Namespace.
const secretRetry = allowanceRetry

// watchSecrets adds the watch of Secrets' metadata, where the operator may list them. To list them is to read them all: with
// the right to get single ones only, what waits for one is looked at again from time to time.
func (a *Agents) watchSecrets(b *builder.Builder, mapped handler.MapFunc) {
	if !a.UnwatchedSecrets {
		b.WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(mapped))
	}
}

// recheck is how soon to look again at what has a problem with its Secrets; zero for when something tells of a change.
func (a *Agents) recheck(p *outbox.Problem) time.Duration {
	if p == nil || !a.UnwatchedSecrets {
		return 0
	}
	return secretRetry
}

// watched reports whether the end of a problem with credentials is seen at once.
func (a *Agents) watched(err error) bool {
	var e *credential.Error
	if a.UnwatchedSecrets && errors.As(err, &e) && e.Kind == credential.KindSecret {
		return false
	}
	return credential.Watched(err)
}

// refresh is how often a RemoteAgent that is in order is examined again; zero for never. Without a watch nothing tells that its
// Secret was replaced by one that can't be used, nor that a key for its card was taken out: that key must not count for long.
func (a *Agents) refresh(ra *v1alpha1.RemoteAgent) time.Duration {
	if v := ra.Spec.Verification; a.UnwatchedSecrets && v != nil && v.SecretRef != nil {
		return secretRetry
	}
	if len(ra.Spec.Interfaces) == 0 || a.UnwatchedSecrets && len(credential.References(ra)) > 0 {
		return cardRefresh
	}
	return 0
}

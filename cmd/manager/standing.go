// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// standingTimeout bounds the questions about the manager's own rights, while the API server may be starting.
	standingTimeout = 30 * time.Second
	standingRetry   = time.Second
)

// standing is what the API server says of the manager itself. Whoever is known to it may ask (system:basic-user).
type standing struct {
	// user is who the manager is.
	user string
	// watchesSecrets says that it may get, list and watch Secrets in all the namespaces that it works in.
	watchesSecrets bool
}

// learn asks for the standing in namespaces, in all where there are none, until there is an answer. Rights that are granted
// later are noticed at the next start.
func learn(ctx context.Context, c client.Client, namespaces []string) (standing, error) {
	ctx, cancel := context.WithTimeout(ctx, standingTimeout)
	defer cancel()
	var s standing
	var last error
	err := wait.PollUntilContextCancel(ctx, standingRetry, true, func(ctx context.Context) (bool, error) {
		s, last = question(ctx, c, namespaces)
		return last == nil, nil
	})
	if err != nil {
		return standing{}, fmt.Errorf("asking the API server for the manager's own rights: %w", last)
	}
	return s, nil
}

func question(ctx context.Context, c client.Client, namespaces []string) (standing, error) {
	who := &authenticationv1.SelfSubjectReview{}
	if err := c.Create(ctx, who); err != nil {
		return standing{}, err
	}
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	s := standing{user: who.Status.UserInfo.Username, watchesSecrets: true}
	for _, namespace := range namespaces {
		for _, verb := range []string{"get", "list", "watch"} {
			may := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Resource: "secrets"},
			}}
			if err := c.Create(ctx, may); err != nil {
				return standing{}, err
			}
			s.watchesSecrets = s.watchesSecrets && may.Status.Allowed
		}
	}
	return s, nil
}

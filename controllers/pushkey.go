// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"crypto/rand"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/internal/push"
)

const (
	// PushKeySecret is the name of the Secret that holds the key of the push tokens. The manager's Role allows to read no
	// other one.
	PushKeySecret = "delegation-operator-push-key"
	pushKeyEntry  = "key"
)

// PushKey returns the key of the push tokens from its Secret in the operator's namespace, and makes it where it is not there.
// It is only ever created and never updated: of several replicas that start at once one creates it, and all read the same. So
// the tokens stay valid across restarts.
func PushKey(ctx context.Context, c client.Client, namespace string) ([]byte, error) {
	name := client.ObjectKey{Namespace: namespace, Name: PushKeySecret}
	secret := &corev1.Secret{}
	err := c.Get(ctx, name, secret)
	if apierrors.IsNotFound(err) {
		if err := createPushKey(ctx, c, name); err != nil {
			return nil, err
		}
		err = c.Get(ctx, name, secret)
	}
	if err != nil {
		return nil, fmt.Errorf("reading Secret %s with the key of the push tokens, or give the key with --push-key-file: %w", name, err)
	}
	key := secret.Data[pushKeyEntry]
	if len(key) < push.KeyBytes {
		return nil, fmt.Errorf("entry %q of Secret %s: %w: delete the Secret, and a new one is made at the next start", pushKeyEntry, name, push.ErrKey)
	}
	return key, nil
}

func createPushKey(ctx context.Context, c client.Client, name client.ObjectKey) error {
	key := make([]byte, push.KeyBytes)
	if _, err := rand.Read(key); err != nil {
		return err
	}
	secret := &corev1.Secret{Data: map[string][]byte{pushKeyEntry: key}}
	secret.Namespace, secret.Name = name.Namespace, name.Name
	if err := c.Create(ctx, secret); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating Secret %s with the key of the push tokens, or give the key with --push-key-file: %w", name, err)
	}
	return nil
}

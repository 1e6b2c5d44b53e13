// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/credential"
	"github.com/delegation-dev/delegation-operator/internal/message"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// errSourceMissing says that an object or key that a part takes its content from is not there.
var errSourceMissing = errors.New("not found")

// errSourceForbidden says that the operator may not read an object that a part takes its content from.
var errSourceForbidden = errors.New("the operator is not allowed to read it")

// sources reads the values that a message's parts take from objects of its namespace.
func (r *DelegationReconciler) sources(ctx context.Context, namespace string) message.Source {
	return func(v v1alpha1.ValueSource) ([]byte, error) {
		if ref := v.ConfigMapKeyRef; ref != nil {
			cm := &corev1.ConfigMap{}
			if err := r.Live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: ref.Name}, cm); err != nil {
				return nil, missing(err, "ConfigMap", ref.Name)
			}
			if text, ok := cm.Data[ref.Key]; ok {
				return []byte(text), nil
			}
			return keyed(cm.BinaryData, "ConfigMap", ref)
		}
		ref := v.SecretKeyRef
		secret := &corev1.Secret{}
		if err := r.Live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: ref.Name}, secret); err != nil {
			return nil, r.unreadable(err, namespace, ref.Name)
		}
		return keyed(secret.Data, "Secret", ref)
	}
}

// unreadable names the command that lets the operator read a Secret, where that is what is wrong.
func (r *DelegationReconciler) unreadable(err error, namespace, name string) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%s %q in namespace %s: %w: %s", credential.KindSecret, name, namespace, errSourceForbidden,
			credential.Grant(credential.SecretReaderRole, namespace, r.Agents.Credentials.Operator))
	}
	return missing(err, "Secret", name)
}

func missing(err error, kind, name string) error {
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%s %q %w", kind, name, errSourceMissing)
	}
	return err
}

func keyed(data map[string][]byte, kind string, ref *v1alpha1.KeyReference) ([]byte, error) {
	if value, ok := data[ref.Key]; ok {
		return value, nil
	}
	return nil, fmt.Errorf("key %q of %s %q %w", ref.Key, kind, ref.Name, errSourceMissing)
}

// bodyProblem tells what the user can mend from an error that is to be retried.
func bodyProblem(namespace string, err error) (*outbox.Problem, error) {
	switch {
	case errors.Is(err, errSourceMissing):
		return &outbox.Problem{
			Reason:  "MessageSourceNotFound",
			Message: fmt.Sprintf("%v in namespace %s: create it, and the message is sent", err, namespace),
		}, nil
	case errors.Is(err, errSourceForbidden):
		return &outbox.Problem{Reason: "MessageSourceForbidden", Message: err.Error()}, nil
	case errors.Is(err, message.ErrTooLarge), errors.Is(err, message.ErrInvalid):
		return &outbox.Problem{Reason: "MessageInvalid", Message: err.Error()}, nil
	}
	return nil, err
}

// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package credential reads who the operator is to an agent from the Secrets of the RemoteAgent's namespace.
package credential

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

var (
	// ErrSecretNotFound says that the Secret is not in the RemoteAgent's namespace.
	ErrSecretNotFound = errors.New("the Secret is not there")
	// ErrKeyNotFound says that the Secret lacks the key.
	ErrKeyNotFound = errors.New("the Secret lacks the key")
	// ErrValueInvalid says that the value can't be a credential.
	ErrValueInvalid = errors.New("the value is empty or has a line break or another control character inside")
)

// SecretRef returns the Secret key that a RemoteAgent's credentials are in; nil without any.
func SecretRef(ra *v1alpha1.RemoteAgent) *v1alpha1.KeyReference {
	if auth := ra.Spec.Authentication; auth != nil && auth.Bearer != nil {
		return &auth.Bearer.SecretRef
	}
	return nil
}

// For returns the function that puts a RemoteAgent's credentials on a request; nil where it has none.
func For(ctx context.Context, secrets client.Reader, ra *v1alpha1.RemoteAgent) (func(*http.Request) error, error) {
	ref := SecretRef(ra)
	if ref == nil {
		return nil, nil
	}
	secret := &corev1.Secret{}
	if err := secrets.Get(ctx, types.NamespacedName{Namespace: ra.Namespace, Name: ref.Name}, secret); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, ErrSecretNotFound
		}
		return nil, err
	}
	value, ok := secret.Data[ref.Key]
	if !ok {
		return nil, ErrKeyNotFound
	}
	// Secrets made from a file often end in a line break, which is not part of a token.
	token := strings.TrimSpace(string(value))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, ErrValueInvalid
	}
	return func(req *http.Request) error {
		req.Header.Set("Authorization", "Bearer "+token)
		return nil
	}, nil
}

// Explain says which Secret is wrong, how, and what to do; nil for an error that is not the user's to mend.
func Explain(ra *v1alpha1.RemoteAgent, err error) *outbox.Problem {
	ref := SecretRef(ra)
	switch {
	case ref == nil || err == nil:
		return nil
	case errors.Is(err, ErrSecretNotFound):
		return &outbox.Problem{Reason: "SecretNotFound", Message: fmt.Sprintf(
			"Secret %q of RemoteAgent %q is not in namespace %s: create it with key %q", ref.Name, ra.Name, ra.Namespace, ref.Key)}
	case errors.Is(err, ErrKeyNotFound), errors.Is(err, ErrValueInvalid):
		return &outbox.Problem{Reason: "SecretInvalid", Message: fmt.Sprintf(
			"key %q of Secret %q in namespace %s, of RemoteAgent %q: %v", ref.Key, ref.Name, ra.Namespace, ra.Name, err)}
	}
	return nil
}

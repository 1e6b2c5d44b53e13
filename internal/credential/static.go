// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"context"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

func (r reading) bearer(ctx context.Context, b *v1alpha1.BearerAuthentication) (func(*http.Request) error, error) {
	token, err := r.text(ctx, b.SecretRef)
	if err != nil {
		return nil, err
	}
	return setting("Authorization", bearerPrefix+token), nil
}

func (r reading) apiKey(ctx context.Context, a *v1alpha1.APIKeyAuthentication) (func(*http.Request) error, error) {
	key, err := r.text(ctx, a.SecretRef)
	if err != nil {
		return nil, err
	}
	return setting(a.Header, key), nil
}

func setting(header, value string) func(*http.Request) error {
	return func(req *http.Request) error {
		req.Header.Set(header, value)
		return nil
	}
}

// basic encodes user name and password in UTF-8 (RFC 7617, section 2.1).
func (r reading) basic(ctx context.Context, b *v1alpha1.BasicAuthentication) (func(*http.Request) error, error) {
	ref := Reference{KindSecret, b.SecretRef.Name, []string{corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey}}
	values, err := r.values(ctx, ref)
	if err != nil {
		return nil, err
	}
	pair := [2]string{}
	for i, value := range values {
		// A line break at the end is a text editor's, a space may be meant.
		pair[i] = strings.TrimRight(string(value), "\r\n")
		if pair[i] == "" || !utf8.ValidString(pair[i]) || strings.ContainsFunc(pair[i], unicode.IsControl) || i == 0 && strings.Contains(pair[i], ":") {
			return nil, r.wrong(Reference{KindSecret, ref.Name, ref.Keys[i : i+1]}, ErrUserInvalid)
		}
	}
	return func(req *http.Request) error {
		req.SetBasicAuth(pair[0], pair[1])
		return nil
	}, nil
}

// text reads a key that a header is to carry.
func (r reading) text(ctx context.Context, key v1alpha1.KeyReference) (string, error) {
	ref := keyOf(KindSecret, key)
	values, err := r.values(ctx, ref)
	if err != nil {
		return "", err
	}
	// Secrets made from a file often end in a line break, which is not part of a token.
	text := strings.TrimSpace(string(values[0]))
	if !sendable(text) {
		return "", r.wrong(ref, ErrValueInvalid)
	}
	return text, nil
}

// sendable reports whether HTTP carries a value in a header as it is.
func sendable(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c > '~' })
}

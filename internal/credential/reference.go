// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// The kinds of objects that credentials come from.
const (
	KindSecret         = "Secret"
	KindConfigMap      = "ConfigMap"
	KindServiceAccount = "ServiceAccount"
)

// Reference is what a RemoteAgent takes from one Secret or ConfigMap of its namespace.
type Reference struct {
	// Kind is KindSecret or KindConfigMap.
	Kind string
	Name string
	// Keys in the object.
	Keys []string
}

// References lists what the credentials of a RemoteAgent, and the keys of its card, are read from. Whatever else they depend
// on is in its spec.
func References(ra *v1alpha1.RemoteAgent) []Reference {
	var list []Reference
	if ref, ok := shownFrom(ra.Spec.Authentication); ok {
		list = append(list, ref)
	}
	if conf := ra.Spec.TLS; conf != nil {
		if conf.CASecretRef != nil {
			list = append(list, keyOf(KindSecret, *conf.CASecretRef))
		}
		if conf.CAConfigMapRef != nil {
			list = append(list, keyOf(KindConfigMap, *conf.CAConfigMapRef))
		}
		if conf.ClientCertSecretRef != nil {
			list = append(list, certificateOf(conf.ClientCertSecretRef))
		}
	}
	if v := ra.Spec.Verification; v != nil && v.SecretRef != nil {
		list = append(list, keyOf(KindSecret, *v.SecretRef))
	}
	return list
}

// shownFrom is the Secret whose content an agent is shown, by itself or as what a token is got with; none for the rest.
func shownFrom(auth *v1alpha1.Authentication) (Reference, bool) {
	switch {
	case auth == nil:
	case auth.Bearer != nil:
		return keyOf(KindSecret, auth.Bearer.SecretRef), true
	case auth.Basic != nil:
		return Reference{KindSecret, auth.Basic.SecretRef.Name, []string{corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey}}, true
	case auth.APIKey != nil:
		return keyOf(KindSecret, auth.APIKey.SecretRef), true
	case auth.OAuth2 != nil:
		return keyOf(KindSecret, auth.OAuth2.ClientSecretRef), true
	}
	return Reference{}, false
}

// Identity says where the credentials are from that an agent is shown: of a RemoteAgent that authenticates and has a client
// certificate too, those of the former.
func Identity(ra *v1alpha1.RemoteAgent) outbox.Identity {
	auth, conf := ra.Spec.Authentication, ra.Spec.TLS
	if ref, ok := shownFrom(auth); ok {
		return outbox.Identity{Secret: ref.Name}
	}
	switch {
	case auth != nil && auth.ServiceAccountToken != nil:
		return outbox.Identity{ServiceAccount: auth.ServiceAccountToken.ServiceAccountName, Audience: auth.ServiceAccountToken.Audience}
	case conf != nil && conf.ClientCertSecretRef != nil:
		return outbox.Identity{Secret: conf.ClientCertSecretRef.Name}
	}
	return outbox.Identity{}
}

func keyOf(kind string, ref v1alpha1.KeyReference) Reference {
	return Reference{Kind: kind, Name: ref.Name, Keys: []string{ref.Key}}
}

func certificateOf(ref *v1alpha1.SecretReference) Reference {
	return Reference{KindSecret, ref.Name, []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey}}
}

// reading is one reading of a RemoteAgent's credentials.
type reading struct {
	*Keeper
	ra *v1alpha1.RemoteAgent
}

// values reads the keys of a reference, in their order.
func (r reading) values(ctx context.Context, ref Reference) ([][]byte, error) {
	data, err := r.data(ctx, ref)
	if apierrors.IsNotFound(err) {
		return nil, r.wrong(ref, ErrNotFound)
	}
	if apierrors.IsForbidden(err) && ref.Kind == KindSecret {
		return nil, r.wrong(ref, ErrUnreadable)
	}
	if err != nil {
		return nil, err
	}
	var out [][]byte
	for _, key := range ref.Keys {
		value, ok := data[key]
		if !ok {
			return nil, r.wrong(Reference{ref.Kind, ref.Name, []string{key}}, ErrKeyNotFound)
		}
		out = append(out, value)
	}
	return out, nil
}

// data reads a whole object. The namespace is always the RemoteAgent's own: who may write RemoteAgents in a namespace
// disposes of its Secrets, and of no others.
func (r reading) data(ctx context.Context, ref Reference) (map[string][]byte, error) {
	name := types.NamespacedName{Namespace: r.ra.Namespace, Name: ref.Name}
	if ref.Kind == KindSecret {
		secret := &corev1.Secret{}
		err := r.Live.Get(ctx, name, secret)
		return secret.Data, err
	}
	cm := &corev1.ConfigMap{}
	err := r.Live.Get(ctx, name, cm)
	data := map[string][]byte{}
	for key, value := range cm.Data {
		data[key] = []byte(value)
	}
	for key, value := range cm.BinaryData {
		data[key] = value
	}
	return data, err
}

// Wrong returns the error that an object in a namespace can't be used, for one of the causes of this package.
func (k *Keeper) Wrong(namespace string, ref Reference, cause error) *Error {
	return &Error{Reference: ref, Namespace: namespace, Operator: k.Operator, Cause: cause}
}

func (r reading) wrong(ref Reference, cause error) error {
	return r.Wrong(r.ra.Namespace, ref, cause)
}

// digest names what a source of tokens is made from, without showing it.
func digest(parts ...any) string {
	text, _ := json.Marshal(parts) // strings, slices of them and durations always have a JSON form
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"errors"
	"fmt"
	"strings"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// What can be wrong about the objects that a RemoteAgent names. They come as the Cause of an Error.
var (
	// ErrNotFound says that the object is not in the RemoteAgent's namespace.
	ErrNotFound = errors.New("it is not there")
	// ErrKeyNotFound says that the object lacks the key.
	ErrKeyNotFound = errors.New("the key is not there")
	// ErrValueInvalid says that the value can't be a credential.
	ErrValueInvalid = errors.New("the value is empty or has a line break or another control character inside, or one that is not ASCII")
	// ErrUserInvalid says that the value can't be a user name (RFC 7617, section 2) or password.
	ErrUserInvalid = errors.New("the value is empty or not UTF-8, has a control character inside, or is a user name with a colon")
	// ErrCertificateInvalid says that the keys hold no certificate and its private key.
	ErrCertificateInvalid = errors.New("the values are not a certificate in PEM and the private key that belongs to it")
	// ErrAuthoritiesInvalid says that the key holds no bundle of certificates.
	ErrAuthoritiesInvalid = errors.New("the value holds no certificate in PEM, or one that can't be read")
	// ErrUnreadable says that the operator may not read the object.
	ErrUnreadable = errors.New("the operator is not allowed to read it")
	// ErrForbidden says that the operator may not request the ServiceAccount's tokens.
	ErrForbidden = errors.New("the operator is not allowed to request its tokens")
	// ErrAudience says that the API server itself would accept the token.
	ErrAudience = errors.New("a token for this audience would be accepted by the API server itself, and such a token is sent to nobody")
	// ErrRequestInvalid says that the API server refuses the request for a token.
	ErrRequestInvalid = errors.New("the API server refuses a token for the audience or the expiration")
)

// ErrTokenEndpoint says that a token endpoint gave no token. Its text has nothing of what the endpoint said but the status
// and the error code of RFC 6749, section 5.2: servers repeat what they were sent.
var ErrTokenEndpoint = errors.New("the token endpoint gave no token")

// Error says which object, and which keys of it, can't be used.
type Error struct {
	Reference
	Namespace string
	// Operator is who the operator is to the API server; DefaultOperator when empty.
	Operator string
	// Cause is one of the errors of this package, or wraps cardsign.ErrKeys.
	Cause error
}

// Error implements error.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s %s in namespace %s", e.Kind, e.Name, e.Namespace)
	if len(e.Keys) > 0 {
		text += ", " + e.keys("%s")
	}
	return text + ": " + e.Cause.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

func (e *Error) keys(verb string) string {
	var names []string
	for _, key := range e.Keys {
		names = append(names, fmt.Sprintf(verb, key))
	}
	if len(names) == 1 {
		return "key " + names[0]
	}
	return "keys " + strings.Join(names, " and ")
}

// Explain says which object is wrong, how, and what to do; nil for an error that is not the user's to mend.
func Explain(ra *v1alpha1.RemoteAgent, err error) *outbox.Problem {
	var e *Error
	if !errors.As(err, &e) {
		return nil
	}
	if e.Kind == KindServiceAccount {
		return e.explainAccount(ra)
	}
	if errors.Is(err, ErrUnreadable) {
		return &outbox.Problem{Reason: e.Kind + "Forbidden", Message: fmt.Sprintf("%s %q of RemoteAgent %q in namespace %s: %v: %s",
			e.Kind, e.Name, ra.Name, e.Namespace, e.Cause, Grant(SecretReaderRole, e.Namespace, e.Operator))}
	}
	if errors.Is(err, ErrNotFound) {
		return &outbox.Problem{Reason: e.Kind + "NotFound", Message: fmt.Sprintf(
			"%s %q of RemoteAgent %q is not in namespace %s: create it with %s", e.Kind, e.Name, ra.Name, e.Namespace, e.keys("%q"))}
	}
	return &outbox.Problem{Reason: e.Kind + "Invalid", Message: fmt.Sprintf(
		"%s of %s %q in namespace %s, of RemoteAgent %q: %v: correct the %s, and it is used at once",
		e.keys("%q"), e.Kind, e.Name, e.Namespace, ra.Name, e.Cause, e.Kind)}
}

func (e *Error) explainAccount(ra *v1alpha1.RemoteAgent) *outbox.Problem {
	p := &outbox.Problem{Reason: "ServiceAccountTokenRefused"}
	remedy := "correct spec.authentication.serviceAccountToken"
	switch {
	case errors.Is(e, ErrNotFound):
		p.Reason = "ServiceAccountNotFound"
		remedy = fmt.Sprintf("kubectl create serviceaccount -n %s %s", e.Namespace, e.Name)
	case errors.Is(e, ErrForbidden):
		p.Reason = "ServiceAccountTokenForbidden"
		remedy = Grant(TokenRole, e.Namespace, e.Operator) + ", which grants create on serviceaccounts/token. The operator needs create on " +
			"tokenreviews.authentication.k8s.io too: an installation for all namespaces has it, and one for some needs a ClusterRole with it and a ClusterRoleBinding"
	case errors.Is(e, ErrAudience):
		remedy = "name the agent's own audience in spec.authentication.serviceAccountToken.audience"
	}
	p.Message = fmt.Sprintf("ServiceAccount %q in namespace %s, of RemoteAgent %q: %v: %s", e.Name, e.Namespace, ra.Name, e.Cause, remedy)
	return p
}

// Watched reports whether a change of what an error is about is seen at once. ServiceAccounts are not watched: the operator
// needs no right to read them. Nor are rights.
func Watched(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind != KindServiceAccount && !errors.Is(e, ErrUnreadable)
}

// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Authentication is one way to authenticate to the agent. What it takes from Secrets is read in the RemoteAgent's own
// namespace, and goes to the origin of the endpoint only.
//
// +kubebuilder:validation:XValidation:rule="[has(self.bearer), has(self.basic), has(self.apiKey), has(self.oauth2), has(self.serviceAccountToken)].filter(x, x).size() == 1",message="set exactly one of bearer, basic, apiKey, oauth2 and serviceAccountToken, and remove the others; without authentication remove the whole field"
type Authentication struct {
	// Bearer sends a token as Authorization: Bearer (RFC 6750).
	//
	// +optional
	Bearer *BearerAuthentication `json:"bearer,omitempty"`
	// Basic sends a user name and a password as Authorization: Basic (RFC 7617).
	//
	// +optional
	Basic *BasicAuthentication `json:"basic,omitempty"`
	// APIKey sends a key in a header of its own (A2A 1.0, APIKeySecurityScheme with location header).
	//
	// +optional
	APIKey *APIKeyAuthentication `json:"apiKey,omitempty"`
	// OAuth2 gets a token by the client credentials grant (RFC 6749, section 4.4) and sends it as Authorization: Bearer.
	//
	// +optional
	OAuth2 *OAuth2Authentication `json:"oauth2,omitempty"`
	// ServiceAccountToken sends a token of a ServiceAccount for one audience as Authorization: Bearer. The agent verifies it
	// with the cluster's keys.
	//
	// +optional
	ServiceAccountToken *ServiceAccountTokenAuthentication `json:"serviceAccountToken,omitempty"`
}

// SecretReference names a Secret in the same namespace.
type SecretReference struct {
	// Name of the Secret.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// BearerAuthentication takes a bearer token from a Secret.
type BearerAuthentication struct {
	// SecretRef names the Secret, in the RemoteAgent's namespace, and the key that holds the token.
	SecretRef KeyReference `json:"secretRef"`
}

// BasicAuthentication takes a user name and a password from a Secret.
type BasicAuthentication struct {
	// SecretRef names the Secret, in the RemoteAgent's namespace, with the keys username and password, as those of the type
	// kubernetes.io/basic-auth have.
	SecretRef SecretReference `json:"secretRef"`
}

// APIKeyAuthentication takes an API key from a Secret.
type APIKeyAuthentication struct {
	// Header that carries the key. Headers that the protocol sets can't be it.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9][A-Za-z0-9_-]*$')",message="header must be the name of an HTTP header, of letters, digits, - and _, such as X-API-Key"
	// +kubebuilder:validation:XValidation:rule="!self.matches('(?i)^(accept|accept-encoding|connection|content-.*|cookie|date|expect|forwarded|grpc-.*|host|idempotency-key|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|user-agent|via|x-forwarded-.*|(x-)?a2a-.*)$')",message="header is one that the protocol sets: name the header that the agent expects its key in, such as X-API-Key"
	Header string `json:"header"`
	// SecretRef names the Secret, in the RemoteAgent's namespace, and the key that holds the API key.
	SecretRef KeyReference `json:"secretRef"`
}

// ClientAuthentication says how a client authenticates to a token endpoint (RFC 6749, section 2.3.1).
//
// +kubebuilder:validation:Enum=Basic;Post
type ClientAuthentication string

// The ways of client authentication.
const (
	// ClientAuthenticationBasic: client id and secret in the header Authorization, which every server has to support
	// (client_secret_basic).
	ClientAuthenticationBasic ClientAuthentication = "Basic"
	// ClientAuthenticationPost: client id and secret as parameters of the request (client_secret_post).
	ClientAuthenticationPost ClientAuthentication = "Post"
)

// OAuth2Authentication is a client at an OAuth 2.0 authorization server.
type OAuth2Authentication struct {
	// TokenURL is the authorization server's token endpoint. The client secret goes to its origin only, and redirects are
	// not followed.
	//
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHostname() != '' && !self.matches('^[a-z]+://[^/?#]*@') && !self.contains('#')",message="tokenURL must be an absolute http or https URL without credentials and fragment, such as https://login.example.com/oauth2/token"
	TokenURL string `json:"tokenURL"`
	// ClientID that the authorization server knows the operator by.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^[ -~]*$')",message="clientID must be of printable ASCII characters (RFC 6749, appendix A.1)"
	ClientID string `json:"clientID"`
	// ClientSecretRef names the Secret, in the RemoteAgent's namespace, and the key that holds the client secret.
	ClientSecretRef KeyReference `json:"clientSecretRef"`
	// Scopes that are asked for; the authorization server's default without any.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^[!#-\\\\[\\\\]-~]*$')",message="a scope must be of printable ASCII characters without space, double quote and backslash: give several scopes as several items"
	Scopes []string `json:"scopes,omitempty"`
	// ClientAuthentication says how the client id and secret are sent.
	//
	// +optional
	// +kubebuilder:default=Basic
	ClientAuthentication ClientAuthentication `json:"clientAuthentication,omitempty"`
}

// ServiceAccountTokenAuthentication is a ServiceAccount of the RemoteAgent's namespace as the agent sees it.
type ServiceAccountTokenAuthentication struct {
	// ServiceAccountName names the ServiceAccount, in the RemoteAgent's namespace.
	//
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="serviceAccountName must be the name of a ServiceAccount in the RemoteAgent's namespace"
	ServiceAccountName string `json:"serviceAccountName"`
	// Audience that the token is for: what the agent requires in aud. A token that the API server itself would accept is
	// never sent.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Audience string `json:"audience"`
	// Expiration is how long a token is asked for, as a Go duration; the API server may shorten it. It is replaced after
	// four fifths of its life.
	//
	// +optional
	// +kubebuilder:default="1h"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10m') && duration(self) <= duration('24h')",message="expiration must be from 10m, the least that Kubernetes gives, to 24h"
	Expiration metav1.Duration `json:"expiration,omitzero"`
}

// TLS says whom the operator trusts to be the agent, and who it is by certificate.
//
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="!(has(self.caSecretRef) && has(self.caConfigMapRef))",message="set one of caSecretRef and caConfigMapRef: a bundle may hold several certificates"
type TLS struct {
	// CASecretRef names the Secret, in the RemoteAgent's namespace, and the key that holds the certificates in PEM of the
	// authorities that the agent's certificate may be from. They take the place of the system's.
	//
	// +optional
	CASecretRef *KeyReference `json:"caSecretRef,omitempty"`
	// CAConfigMapRef is the same in a ConfigMap, such as kube-root-ca.crt.
	//
	// +optional
	CAConfigMapRef *KeyReference `json:"caConfigMapRef,omitempty"`
	// ClientCertSecretRef names the Secret, in the RemoteAgent's namespace, with the keys tls.crt and tls.key in PEM, as
	// those of the type kubernetes.io/tls have. The agent's card is read with it too.
	//
	// +optional
	ClientCertSecretRef *SecretReference `json:"clientCertSecretRef,omitempty"`
	// ServerName is what the agent's certificate has to be for; by default the host of the URL.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?$')",message="serverName must be a host name without port, such as finance.example.com"
	ServerName string `json:"serverName,omitempty"`
}

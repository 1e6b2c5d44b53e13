// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Verification says which keys the agent's card has to be signed by (A2A 1.0, section 8.4). A card without a signature by
// one of them is not used. The algorithms are ES256, ES384, ES512, RS256, PS256 and EdDSA.
//
// +kubebuilder:validation:XValidation:rule="has(self.secretRef) != has(self.jwksURL)",message="set exactly one of secretRef, keys that you hold, and jwksURL, keys that the agent's owner publishes"
type Verification struct {
	// SecretRef names the Secret, in the RemoteAgent's namespace, and the key that holds the public keys: a JWK set (RFC
	// 7517), or public keys in PEM.
	//
	// +optional
	SecretRef *KeyReference `json:"secretRef,omitempty"`
	// JWKSURL is where the agent's owner publishes the public keys as a JWK set (RFC 7517). They are fetched by HTTPS, at most
	// 256 KiB, without redirects and without the RemoteAgent's credentials, and used for 10 minutes. A card that they don't
	// verify has them fetched again, once in 10 seconds at most. What a card itself says about where its keys are is not
	// followed.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() == 'https' && url(self).getHostname() != '' && !self.matches('^[a-z]+://[^/?#]*@')",message="jwksURL must be an absolute https URL without credentials, such as https://finance.example.com/.well-known/jwks.json"
	JWKSURL string `json:"jwksURL,omitempty"`
}

// CardSignature tells which key vouches for a card.
type CardSignature struct {
	// Algorithm of the signature (RFC 7518), such as ES256.
	Algorithm string `json:"algorithm"`
	// KeyID is the key's kid; empty for a key without one, as in PEM.
	//
	// +optional
	KeyID string `json:"keyID,omitempty"`
	// Thumbprint of the key by RFC 7638, in SHA-256 and base64url.
	Thumbprint string `json:"thumbprint"`
}

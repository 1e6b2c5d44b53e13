// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// tls returns the configuration for the agent, and the authorities in PEM that the RemoteAgent names. Both are nil without
// any.
func (r reading) tls(ctx context.Context) (*tls.Config, []byte, error) {
	spec := r.ra.Spec.TLS
	if spec == nil {
		return nil, nil, nil
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: spec.ServerName}
	bundle, err := r.authorities(ctx, spec)
	if err != nil {
		return nil, nil, err
	}
	if bundle != nil {
		conf.RootCAs = x509.NewCertPool()
		conf.RootCAs.AppendCertsFromPEM(bundle)
	}
	if spec.ClientCertSecretRef == nil {
		return conf, bundle, nil
	}
	ref := certificateOf(spec.ClientCertSecretRef)
	pair, err := r.values(ctx, ref)
	if err != nil {
		return nil, nil, err
	}
	certificate, err := tls.X509KeyPair(pair[0], pair[1])
	if err != nil {
		return nil, nil, r.wrong(ref, ErrCertificateInvalid)
	}
	conf.Certificates = []tls.Certificate{certificate}
	return conf, bundle, nil
}

// authorities returns the bundle in PEM; nil where the system's authorities count.
func (r reading) authorities(ctx context.Context, spec *v1alpha1.TLS) ([]byte, error) {
	var ref Reference
	switch {
	case spec.CASecretRef != nil:
		ref = keyOf(KindSecret, *spec.CASecretRef)
	case spec.CAConfigMapRef != nil:
		ref = keyOf(KindConfigMap, *spec.CAConfigMapRef)
	default:
		return nil, nil
	}
	values, err := r.values(ctx, ref)
	if err != nil {
		return nil, err
	}
	if !certificates(values[0]) {
		return nil, r.wrong(ref, ErrAuthoritiesInvalid)
	}
	return values[0], nil
}

// certificates reports whether a text is one or more certificates in PEM. One that can't be read would be missing from the
// pool without a word. Text between the blocks is a comment (RFC 7468, section 2).
func certificates(text []byte) bool {
	found := false
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			return false
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return false
		}
		found, text = true, rest
	}
	return found && !bytes.Contains(text, []byte("-----BEGIN"))
}

// Trusting returns the configuration for what a RemoteAgent names next to its agent, such as a token endpoint: the system's
// authorities, and the RemoteAgent's in PEM next to them; nil without these. The certificate of the operator is for the agent
// and stays out.
func Trusting(bundle []byte) *tls.Config {
	if bundle == nil {
		return nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	pool.AppendCertsFromPEM(bundle)
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
}

// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// maxKeySet bounds a set of keys in bytes: one of RSA with 4096 bits is less than 1 KiB.
const maxKeySet = 256 << 10

// ErrKeysUnavailable says that no set of keys could be had from the URL. What went wrong on the network is wrapped too.
var ErrKeysUnavailable = errors.New("the keys are not available")

// keySetDocument is a JWK set on the web.
var keySetDocument = document{
	unavailable: ErrKeysUnavailable, tooLarge: ErrKeysUnavailable, limit: maxKeySet,
	remedy: "set spec.verification.jwksURL to the final URL",
}

// FetchKeySet reads a JWK set (RFC 7517, section 5) as it is served. Redirects are not followed, and at most 256 KiB are
// read after decompression. The context bounds the time. Errors wrap ErrKeysUnavailable, and what n.DialContext returned.
func FetchKeySet(ctx context.Context, n Network, keysURL string) ([]byte, error) {
	u, err := url.Parse(keysURL)
	if err != nil || u.Host == "" || u.Scheme != "https" || u.User != nil {
		return nil, fmt.Errorf("%w: jwksURL must be an absolute https URL without credentials", ErrKeysUnavailable)
	}
	return keySetDocument.fetch(ctx, n, u)
}

// document is a kind of JSON document that is read by a URL that a user gave.
type document struct {
	// unavailable and tooLarge are what errors wrap.
	unavailable, tooLarge error
	// notFound is wrapped next to unavailable for HTTP 404; nil for nothing besides.
	notFound error
	// limit is how much is read, in bytes after decompression.
	limit int64
	// remedy says what to do about a redirect.
	remedy string
}

// fetch reads one document, of status 200.
func (d document) fetch(ctx context.Context, n Network, u *url.URL) ([]byte, error) {
	shown := publicURL(u.String())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, d.failed(shown, err)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", userAgent)
	transport := newTransport(n.DialContext, n.TLS, 1)
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil, d.failed(shown, err)
	}
	// An error on close can't take back what was read.
	defer func() { _ = resp.Body.Close() }()
	if err := d.status(resp, shown); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, d.limit+1))
	switch {
	case err != nil:
		return nil, d.failed(shown, err)
	case int64(len(body)) > d.limit:
		return nil, fmt.Errorf("%w: %s: larger than %d KiB", d.tooLarge, shown, d.limit>>10)
	}
	return body, nil
}

// documentError is shown without what the peer may have put into the cause.
type documentError struct {
	text   string
	causes []error
}

func (e *documentError) Error() string   { return e.text }
func (e *documentError) Unwrap() []error { return e.causes }

func (d document) failed(shown string, err error) error {
	return &documentError{
		text:   fmt.Sprintf("%v: %s: %s", d.unavailable, shown, private{}.cause(err)),
		causes: []error{d.unavailable, err},
	}
}

func (d document) status(resp *http.Response, shown string) error {
	switch {
	case resp.StatusCode == http.StatusOK:
		return nil
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		to := "elsewhere"
		if location, err := resp.Location(); err == nil {
			to = "to " + publicURL(location.String())
		}
		return fmt.Errorf("%w: %s redirects %s, and redirects are not followed: %s", d.unavailable, shown, to, d.remedy)
	}
	text := fmt.Sprintf("%v: %s: HTTP %d", d.unavailable, shown, resp.StatusCode)
	if resp.StatusCode == http.StatusNotFound && d.notFound != nil {
		return &documentError{text: text, causes: []error{d.unavailable, d.notFound}}
	}
	return &documentError{text: text, causes: []error{d.unavailable}}
}

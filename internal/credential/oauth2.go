// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
	"k8s.io/utils/clock"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// tokenErrors are the error codes of a token endpoint (RFC 6749, section 5.2). Others are not repeated.
var tokenErrors = []string{
	"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type", "invalid_scope",
}

// grant gets tokens by the client credentials grant.
type grant struct {
	config clientcredentials.Config
	// remedy says what to look at when the endpoint refuses.
	remedy string
	dial   DialFunc
	tls    *tls.Config
	clock  clock.PassiveClock
}

func (r reading) oauth2(ctx context.Context, o *v1alpha1.OAuth2Authentication, bundle []byte) (*tokens, error) {
	secret, err := r.text(ctx, o.ClientSecretRef)
	if err != nil {
		return nil, err
	}
	style := oauth2.AuthStyleInHeader
	if o.ClientAuthentication == v1alpha1.ClientAuthenticationPost {
		style = oauth2.AuthStyleInParams
	}
	made := digest("oauth2", o.TokenURL, o.ClientID, secret, o.Scopes, style, bundle)
	return r.hold(r.ra.UID, made, func() *tokens {
		g := &grant{
			config: clientcredentials.Config{ClientID: o.ClientID, ClientSecret: secret, TokenURL: o.TokenURL, Scopes: o.Scopes, AuthStyle: style},
			remedy: fmt.Sprintf("check spec.authentication.oauth2 and key %s of Secret %s", o.ClientSecretRef.Key, o.ClientSecretRef.Name),
			dial:   r.DialContext, tls: Trusting(bundle), clock: r.Clock,
		}
		return &tokens{clock: r.Clock, fetch: g.fetch}
	}), nil
}

// fetch asks for one token. Each request has a connection of its own: they are rare.
func (g *grant) fetch(ctx context.Context) (token, error) {
	dial := g.dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, &http.Client{
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := dial(ctx, network, address)
				if err != nil {
					return nil, &dialError{err}
				}
				return conn, nil
			},
			TLSClientConfig: g.tls, ForceAttemptHTTP2: true, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10,
		},
		// A redirect would carry the client secret to another place.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	})
	issued := g.clock.Now()
	got, err := g.config.Token(ctx)
	if err != nil {
		return token{}, g.failure(ctx, err)
	}
	switch {
	case got.TokenType != "" && !strings.EqualFold(got.TokenType, "bearer"):
		return token{}, g.wrong("it issues tokens of another type than Bearer")
	case !sendable(got.AccessToken):
		return token{}, g.wrong("it issued a token that no header can carry")
	}
	t := token{value: got.AccessToken, issued: issued}
	if !got.Expiry.IsZero() {
		t.expires = issued.Add(time.Until(got.Expiry))
	}
	return t, nil
}

// dialError comes from this machine, before anything was sent.
type dialError struct{ error }

// Unwrap returns what the dialer said.
func (e *dialError) Unwrap() error { return e.error }

// tokenError says why a token endpoint gave no token.
type tokenError struct {
	text   string
	causes []error
}

func (e *tokenError) Error() string   { return e.text }
func (e *tokenError) Unwrap() []error { return e.causes }

func (g *grant) wrong(why string, causes ...error) error {
	return &tokenError{
		text:   fmt.Sprintf("%v: %s: %s", ErrTokenEndpoint, shown(g.config.TokenURL), why),
		causes: append([]error{ErrTokenEndpoint}, causes...),
	}
}

// failure tells what is known to be free of secrets: what the response is about, and errors that arose before a byte of the
// request was sent. The rest, such as the body that an oauth2.RetrieveError keeps, may repeat the request and is not wrapped.
func (g *grant) failure(ctx context.Context, err error) error {
	var answered *oauth2.RetrieveError
	var dialing *dialError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &answered) && answered.Response != nil:
		return g.wrong(g.answer(answered))
	case errors.As(err, &dialing):
		return g.wrong("no connection: "+dialing.Error(), dialing)
	case errors.As(err, &certificate):
		return g.wrong("its certificate is not trusted: "+certificate.Err.Error(), certificate)
	case ctx.Err() != nil:
		return g.wrong(fmt.Sprintf("it did not answer within %s", fetchTimeout), ctx.Err())
	}
	return g.wrong("its answer did not come, or is no token response of RFC 6749, section 5.1")
}

func (g *grant) answer(e *oauth2.RetrieveError) string {
	status := e.Response.StatusCode
	text := fmt.Sprintf("HTTP %d", status)
	if slices.Contains(tokenErrors, e.ErrorCode) {
		text += ", " + e.ErrorCode
	}
	switch {
	case status >= 300 && status < 400:
		text += ": redirects are not followed, give its final URL in spec.authentication.oauth2.tokenURL"
	case status < 500 && status != http.StatusTooManyRequests:
		text += ": " + g.remedy
	}
	return text
}

// shown is a URL without its query, which may hold keys.
func shown(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "its URL can't be parsed"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

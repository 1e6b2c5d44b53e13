// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
	"github.com/delegation-dev/delegation-operator/internal/outbox"
)

// binding dresses the calls to an agent for one protocol binding, and reads what comes back.
type binding interface {
	// encode returns the HTTP request of a call, of which params are the SDK's: method, URL, body and the headers that are
	// the binding's own.
	encode(call outbox.Call, params any) (parcel, error)
	// decode reads the response to that request, or the lack of one.
	decode(call outbox.Call, p parcel, ev evidence) answer
	// streams reports whether a response is a stream by its headers.
	streams(h http.Header) bool
	// listen reads the stream that answers a subscription, and calls heard for each event that may be news, until it ends.
	// The answer is the error that it ended with, or says in its reason how it broke off; it is empty for a clean end.
	listen(p parcel, resp *http.Response, heard func()) answer
}

// dressing returns the binding of a dialect.
func dressing(d dialect, u *url.URL) binding {
	switch {
	case d.generation == v03:
		return legacyRPC{rpc{url: u}}
	case d.binding == a2a.TransportProtocolHTTPJSON:
		return rest{url: u}
	case d.binding == a2a.TransportProtocolGRPC:
		return unary{url: u}
	default:
		return rpc{url: u}
	}
}

// endpoint checks an interface and returns its dialect. An empty binding and version mean the defaults of the API.
func endpoint(i v1alpha1.AgentInterface) (*url.URL, dialect, error) {
	d, err := dialectOf(i)
	if err != nil {
		return nil, dialect{}, fmt.Errorf("%w: %s %s: %w", ErrEndpoint, word(i.ProtocolBinding), word(i.ProtocolVersion), err)
	}
	if d.generation == v03 && i.Tenant != "" {
		return nil, dialect{}, fmt.Errorf("%w: A2A 0.3 knows no tenant: remove spec.interfaces[].tenant, or give the protocolVersion 1.0", ErrEndpoint)
	}
	u, err := location(i.URL)
	return u, d, err
}

func location(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: the URL can't be parsed", ErrEndpoint)
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, fmt.Errorf("%w: the URL is not an absolute http or https URL", ErrEndpoint)
	case u.User != nil:
		return nil, fmt.Errorf("%w: the URL carries credentials; use spec.authentication", ErrEndpoint)
	}
	return u, nil
}

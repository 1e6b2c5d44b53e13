// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

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

// spoken are the protocol bindings that this package speaks, the preferred first.
var spoken = []a2a.TransportProtocol{a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON, a2a.TransportProtocolGRPC}

// preference is the place of a binding among those spoken; false for another. Agents write the names in any case.
func preference(binding string) (int, bool) {
	for i, b := range spoken {
		if strings.EqualFold(binding, string(b)) {
			return i, true
		}
	}
	return 0, false
}

// bindingOf is the binding of a name that endpoint has checked; none means the API's default, which is the first.
func bindingOf(name string) a2a.TransportProtocol {
	place, _ := preference(name)
	return spoken[place]
}

// dressing returns the binding of a name that endpoint has checked.
func dressing(name string, u *url.URL) binding {
	switch bindingOf(name) {
	case a2a.TransportProtocolHTTPJSON:
		return rest{url: u}
	case a2a.TransportProtocolGRPC:
		return unary{url: u}
	default:
		return rpc{url: u}
	}
}

// endpoint checks an interface, of which an empty binding and version mean the defaults of the API.
func endpoint(i v1alpha1.AgentInterface) (*url.URL, error) {
	if _, ok := preference(i.ProtocolBinding); i.ProtocolBinding != "" && !ok {
		return nil, fmt.Errorf("%w: protocol binding %q, only %s are spoken", ErrEndpoint, i.ProtocolBinding, spokenNames())
	}
	if i.ProtocolVersion != "" && major(i.ProtocolVersion) != "1" {
		return nil, fmt.Errorf("%w: protocol version %q, only 1.x is spoken", ErrEndpoint, i.ProtocolVersion)
	}
	u, err := url.Parse(i.URL)
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

func spokenNames() string {
	names := make([]string, 0, len(spoken))
	for _, b := range spoken {
		names = append(names, string(b))
	}
	return strings.Join(names, ", ")
}

// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/delegation-dev/delegation-operator/api/v1alpha1"
)

// Why an interface of a card can't be used. An InterfaceError holds one of them for each interface.
var (
	// ErrNoInterface: the card lists no interface.
	ErrNoInterface = errors.New("the card lists no interface")
	// ErrBindingUnsupported: the protocol binding is none of JSONRPC, HTTP+JSON and GRPC.
	ErrBindingUnsupported = errors.New("only the bindings JSONRPC, HTTP+JSON and GRPC are spoken")
	// ErrVersionMissing: the interface has no protocolVersion, which A2A 1.0 requires.
	ErrVersionMissing = errors.New("protocolVersion is missing")
	// ErrVersionUnsupported: the protocolVersion is neither 1.x nor, over JSONRPC, 0.3.
	ErrVersionUnsupported = errors.New("only protocol version 1.x is spoken, and 0.3 over JSONRPC")
	// ErrURLRelative: the URL has no scheme or no host.
	ErrURLRelative = errors.New("the URL is not absolute")
	// ErrOtherOrigin: the URL is not of the origin that the card is from.
	ErrOtherOrigin = errors.New("credentials go to the card's own origin only, and this is another: set it in spec.interfaces to have them go there")
	// ErrInterfaceUnusable: another reason, which the error's text names.
	ErrInterfaceUnusable = errors.New("can't be used")
)

// InterfaceError says of each interface of a card why it can't be used. Match the causes with errors.Is.
type InterfaceError struct {
	causes []error
}

// Error implements error. It ends with what to do about it.
func (e *InterfaceError) Error() string {
	texts := make([]string, 0, len(e.causes))
	for _, c := range e.causes {
		texts = append(texts, c.Error())
	}
	return cut("the agent card offers no usable interface: "+strings.Join(texts, "; "), maxDetail/2) +
		"; correct the card, or set spec.interfaces, which wins over it, such as " +
		`[{url: https://finance.example.com/a2a, protocolBinding: JSONRPC, protocolVersion: "1.0"}]`
}

// Unwrap returns the causes.
func (e *InterfaceError) Unwrap() []error { return e.causes }

// Origins says which interfaces a card may name. An origin is a scheme, a host and a port (RFC 6454).
type Origins int

const (
	// AnyOrigin allows interfaces anywhere.
	AnyOrigin Origins = iota
	// OwnOrigin allows interfaces at the origin that the card is from. A card is not signed and read without credentials: where
	// these go is the word of the RemoteAgent, not of a card.
	OwnOrigin
)

// OriginsOf keeps the credentials that a RemoteAgent names, a certificate among them, from places that only a card names.
func OriginsOf(ra *v1alpha1.RemoteAgent) Origins {
	if ra.Spec.Authentication != nil || ra.Spec.TLS != nil {
		return OwnOrigin
	}
	return AnyOrigin
}

// maxInterfaces bounds how many interfaces of a card are looked at.
const maxInterfaces = 64

// SelectInterface returns the interface of a card that this package speaks best: JSONRPC, else HTTP+JSON, else GRPC, in
// protocol version 1.x at an absolute URL (A2A 1.0, section 4.4.6), and the first of its kind; without one of them JSONRPC
// in version 0.3, which can do less. JSONRPC comes first because agents' implementations of it are the most tried. The
// card's URL tells an agent that names its own localhost from one that is on this machine. The error is an
// *InterfaceError.
func SelectInterface(card *a2a.AgentCard, cardURL string, from Origins) (v1alpha1.AgentInterface, error) {
	failed, best := &InterfaceError{}, len(dialects)
	var chosen *a2a.AgentInterface
	for n, i := range card.SupportedInterfaces {
		if i == nil {
			continue
		}
		if n == maxInterfaces {
			break
		}
		d, err := usable(i, cardURL)
		if err == nil && from == OwnOrigin && !sameOrigin(i.URL, cardURL) {
			err = ErrOtherOrigin
		}
		if err == nil {
			if place := slices.Index(dialects, d); place < best {
				chosen, best = i, place
			}
			continue
		}
		failed.causes = append(failed.causes, fmt.Errorf("%s %s at %s: %w",
			word(string(i.ProtocolBinding)), word(string(i.ProtocolVersion)), word(shownURL(i.URL)), err))
	}
	if chosen != nil {
		return v1alpha1.AgentInterface{
			URL: chosen.URL, ProtocolBinding: string(dialects[best].binding), ProtocolVersion: bare(string(chosen.ProtocolVersion)), Tenant: chosen.Tenant,
		}, nil
	}
	if failed.causes == nil {
		failed.causes = []error{ErrNoInterface}
	}
	return v1alpha1.AgentInterface{}, failed
}

// usable returns the dialect of an interface that can be used. The limits are those of the RemoteAgent's own fields.
func usable(i *a2a.AgentInterface, cardURL string) (dialect, error) {
	d, err := understood(string(i.ProtocolBinding), string(i.ProtocolVersion))
	switch {
	case err != nil:
		return d, err
	case len(i.URL) > 2048:
		return d, fmt.Errorf("%w: its URL is longer than 2048 bytes", ErrInterfaceUnusable)
	case len(i.Tenant) > maxName:
		return d, fmt.Errorf("%w: its tenant is longer than %d bytes", ErrInterfaceUnusable, maxName)
	case d.generation == v03 && i.Tenant != "":
		return d, fmt.Errorf("%w: it names a tenant, which A2A 0.3 does not know", ErrInterfaceUnusable)
	}
	return d, reachable(i.URL, cardURL)
}

// reachable returns nil for a URL that can be called from here.
func reachable(s, cardURL string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return fmt.Errorf("%w: its URL can't be parsed", ErrInterfaceUnusable)
	case u.Host == "" || u.Scheme == "":
		return ErrURLRelative
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%w: its URL's scheme is not http or https", ErrInterfaceUnusable)
	case u.User != nil:
		return fmt.Errorf("%w: its URL carries credentials", ErrInterfaceUnusable)
	case own(u) && !ownURL(cardURL):
		return fmt.Errorf("%w: its URL names the agent's own machine, not a host that others can reach", ErrInterfaceUnusable)
	}
	return nil
}

// sameOrigin reports whether two absolute URLs have the same scheme, host and port.
func sameOrigin(a, b string) bool {
	of, in := originOf(a), originOf(b)
	return of != "" && of == in
}

func originOf(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// own reports whether a URL can only be used on the machine that it was written on.
func own(u *url.URL) bool {
	host := u.Hostname()
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
}

func ownURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && own(u)
}

// shownURL is a card's URL without what is not to be shown, also where it is relative.
func shownURL(s string) string {
	if u, err := url.Parse(s); err == nil && u.Host == "" {
		return u.Path
	}
	return publicURL(s)
}

func word(s string) string {
	if s = cut(oneLine(s), 128); s == "" {
		return "(none)"
	}
	return s
}

// defaultRetention is what an agent promises that advertises deduplication without a time.
const defaultRetention = 72 * time.Hour

// Retention returns how long the agent remembers a messageId by its card, from the parameter retention of the
// message-deduplication extension: a Go duration, 72h when absent. It returns false for an agent that does not advertise
// the extension, or with a retention that is not a positive duration: a promise that can't be read is none.
func Retention(card *a2a.AgentCard) (time.Duration, bool) {
	for _, e := range card.Capabilities.Extensions {
		if e.URI != v1alpha1.DeduplicationExtensionURI {
			continue
		}
		value, given := e.Params["retention"]
		if !given {
			return defaultRetention, true
		}
		text, _ := value.(string)
		retention, err := time.ParseDuration(text)
		if err != nil || retention <= 0 {
			return 0, false
		}
		return retention, true
	}
	return 0, false
}

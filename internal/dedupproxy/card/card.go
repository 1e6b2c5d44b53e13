// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package card rewrites an agent card for a proxy in front of the agent. It works on the JSON as it came, so that
// members it does not know are kept.
package card

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

var (
	// ErrInvalid says that the document is not an agent card.
	ErrInvalid = errors.New("not an agent card")
	// ErrNoInterface says that none of the card's interfaces leads to the proxy, so that a client could only go around it.
	ErrNoInterface = errors.New("no interface of the agent card can be served here")
)

// Options say how a card is rewritten.
type Options struct {
	// Upstream is the agent's base URL as the proxy reaches it, Aliases others by which the card may call the agent.
	Upstream *url.URL
	Aliases  []*url.URL
	// Public is the proxy's base URL, which takes the place of these.
	Public *url.URL
	// Extension is added to the capabilities, in the place of one with its URI.
	Extension a2a.AgentExtension
}

// Rewritten is a card for the proxy's clients.
type Rewritten struct {
	JSON []byte
	// Dropped says which interfaces were left out, and why.
	Dropped []string
	// Signatures says that the card was signed (A2A 1.0, section 8.4). The signatures are left out: they are of a
	// document that this one no longer is.
	Signatures bool
}

type object = map[string]json.RawMessage

// Rewrite returns the card as the proxy gives it out. It returns ErrInvalid and ErrNoInterface.
func Rewrite(document []byte, o Options) (*Rewritten, error) {
	var whole object
	if err := json.Unmarshal(document, &whole); err != nil || whole == nil {
		return nil, ErrInvalid
	}
	out := &Rewritten{}
	if err := out.interfaces(whole, o); err != nil {
		return nil, err
	}
	if err := promise(whole, o.Extension); err != nil {
		return nil, err
	}
	if signatures, signed := whole["signatures"]; signed {
		out.Signatures = string(bytes.TrimSpace(signatures)) != "null"
		delete(whole, "signatures")
	}
	var err error
	out.JSON, err = encode(whole)
	return out, err
}

// interfaces keeps those that the proxy serves, under its own URL.
func (r *Rewritten) interfaces(whole object, o Options) error {
	var list []object
	if err := json.Unmarshal(whole["supportedInterfaces"], &list); err != nil {
		return fmt.Errorf("%w: supportedInterfaces is not a list of objects", ErrInvalid)
	}
	kept := []object{}
	for _, one := range list {
		address, why := served(one, o)
		if why != "" {
			r.Dropped = append(r.Dropped, fmt.Sprintf("%s %s: %s", text(one["protocolBinding"]), text(one["url"]), why))
			continue
		}
		raw, err := encode(address)
		if err != nil {
			return err
		}
		one["url"] = raw
		kept = append(kept, one)
	}
	if len(kept) == 0 {
		return fmt.Errorf("%w: %s", ErrNoInterface, strings.Join(r.Dropped, "; "))
	}
	raw, err := encode(kept)
	whole["supportedInterfaces"] = raw
	return err
}

// served is the address of an interface at the proxy, or why there is none.
func served(one object, o Options) (address, why string) {
	switch a2a.TransportProtocol(text(one["protocolBinding"])) {
	case a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON:
	default:
		return "", "the binding is not served"
	}
	// A message of another version has another form, in which the proxy would not know it.
	if major, _, _ := strings.Cut(text(one["protocolVersion"]), "."); major != "1" && major != "" {
		return "", "the protocol version is not served"
	}
	u, err := url.Parse(text(one["url"]))
	if err != nil {
		return "", "the URL can't be read"
	}
	u = o.absolute(u)
	path, within := o.behind(u)
	if !within {
		return "", "the URL is not below the agent's"
	}
	public := &url.URL{Scheme: o.Public.Scheme, Host: o.Public.Host}
	address = public.String() + strings.TrimSuffix(o.Public.EscapedPath(), "/") + path
	if u.RawQuery != "" {
		address += "?" + u.RawQuery
	}
	return address, ""
}

// absolute takes a relative URL for one below the agent's, whatever slash that ends with.
func (o Options) absolute(u *url.URL) *url.URL {
	base := *o.Upstream.JoinPath("/")
	return base.ResolveReference(u)
}

// behind is what is left of a URL's path behind the base that it is below.
func (o Options) behind(u *url.URL) (path string, ok bool) {
	for _, base := range append([]*url.URL{o.Upstream, o.Public}, o.Aliases...) {
		if path, within := below(u, base); within {
			return path, true
		}
	}
	return "", false
}

// RESTPaths are the paths of a card's HTTP+JSON interfaces behind the agent's base URL, or whole for one that calls the
// agent by a name that is not known. It returns ErrInvalid.
func RESTPaths(document []byte, o Options) ([]string, error) {
	var whole struct {
		SupportedInterfaces []object `json:"supportedInterfaces"`
	}
	if json.Unmarshal(document, &whole) != nil {
		return nil, ErrInvalid
	}
	var paths []string
	for _, one := range whole.SupportedInterfaces {
		u, err := url.Parse(text(one["url"]))
		if err != nil || text(one["protocolBinding"]) != string(a2a.TransportProtocolHTTPJSON) {
			continue
		}
		u = o.absolute(u)
		path, within := o.behind(u)
		if !within {
			path = u.EscapedPath()
		}
		if plain, err := url.PathUnescape(path); err == nil {
			path = plain
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// below is what is left of a URL's path behind a base URL that it begins with.
func below(u, base *url.URL) (path string, ok bool) {
	if !strings.EqualFold(u.Scheme, base.Scheme) || !strings.EqualFold(u.Hostname(), base.Hostname()) || port(u) != port(base) {
		return "", false
	}
	path, found := strings.CutPrefix(u.EscapedPath(), strings.TrimSuffix(base.EscapedPath(), "/"))
	return path, found && (path == "" || path[0] == '/')
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case strings.EqualFold(u.Scheme, "https"):
		return "443"
	}
	return "80"
}

// promise puts the extension into the card's capabilities.
func promise(whole object, extension a2a.AgentExtension) error {
	capabilities := object{}
	if raw, ok := whole["capabilities"]; ok && json.Unmarshal(raw, &capabilities) != nil {
		return fmt.Errorf("%w: capabilities is not an object", ErrInvalid)
	}
	if capabilities == nil {
		capabilities = object{}
	}
	var extensions, kept []object
	if raw, ok := capabilities["extensions"]; ok && json.Unmarshal(raw, &extensions) != nil {
		return fmt.Errorf("%w: capabilities.extensions is not a list of objects", ErrInvalid)
	}
	for _, one := range extensions {
		if text(one["uri"]) != extension.URI {
			kept = append(kept, one)
		}
	}
	own, err := json.Marshal(extension)
	if err != nil {
		return err
	}
	var added object
	if err := json.Unmarshal(own, &added); err != nil {
		return err
	}
	if capabilities["extensions"], err = encode(append(kept, added)); err != nil {
		return err
	}
	whole["capabilities"], err = encode(capabilities)
	return err
}

func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// encode leaves characters as they are that JSON allows.
func encode(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), err
}

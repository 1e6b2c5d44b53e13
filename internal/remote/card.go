// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

const (
	wellKnownPath = ".well-known/agent-card.json"
	// oldWellKnownPath is where agents up to A2A 0.2 have it, and some later ones that were written then.
	oldWellKnownPath = ".well-known/agent.json"
	maxCard          = 1 << 20 // bytes
)

var (
	// ErrCardUnavailable says that no card could be had from the URL. What went wrong on the network is wrapped too.
	ErrCardUnavailable = errors.New("the agent card is not available")
	// ErrCardInvalid says that what the URL serves is not an agent card.
	ErrCardInvalid = errors.New("the agent card is not valid")
	// errCardNotFound: HTTP 404.
	errCardNotFound = errors.New("not found")
)

// cardDocument is an agent card on the web.
var cardDocument = document{
	unavailable: ErrCardUnavailable, tooLarge: ErrCardInvalid, notFound: errCardNotFound,
	limit: maxCard, remedy: "set cardURL to the final URL",
}

// FetchCard reads an agent's card. The URL is the card's own when its path ends in .json, else a base URL that is
// completed with /.well-known/agent-card.json (A2A 1.0, section 8.2); where that is not found, with
// /.well-known/agent.json, the place of older agents. Redirects are not followed, at most 1 MiB is read after
// decompression, and members that the operator has no use for may have any shape. The context bounds the time. Errors wrap
// ErrCardUnavailable or ErrCardInvalid, and what n.DialContext returned.
func FetchCard(ctx context.Context, n Network, cardURL string) (*a2a.AgentCard, error) {
	return FetchVerifiedCard(ctx, n, cardURL, func(document []byte) ([]byte, error) { return document, nil })
}

// FetchVerifiedCard is FetchCard for a card that somebody has to vouch for. verify is given the document as it was served
// and returns the one to use in its place. Its errors are returned as they are.
func FetchVerifiedCard(ctx context.Context, n Network, cardURL string, verify func(document []byte) ([]byte, error)) (*a2a.AgentCard, error) {
	u, err := cardLocation(cardURL)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(u.Path, ".json") {
		return fetchCard(ctx, n, u, verify)
	}
	card, err := fetchCard(ctx, n, u.JoinPath(wellKnownPath), verify)
	if !errors.Is(err, errCardNotFound) {
		return card, err
	}
	// Where there is none at either place, the error is about the one that there should be.
	if old, oldErr := fetchCard(ctx, n, u.JoinPath(oldWellKnownPath), verify); !errors.Is(oldErr, errCardNotFound) {
		return old, oldErr
	}
	return nil, err
}

// fetchCard reads the card at its own URL.
func fetchCard(ctx context.Context, n Network, u *url.URL, verify func([]byte) ([]byte, error)) (*a2a.AgentCard, error) {
	served, err := cardDocument.fetch(ctx, n, u)
	if err != nil {
		return nil, err
	}
	body, err := verify(served)
	if err != nil {
		return nil, err
	}
	card, err := decodeCard(body)
	if err != nil {
		return nil, fmt.Errorf("%w: %s serves %w", ErrCardInvalid, publicURL(u.String()), err)
	}
	return card, nil
}

// cardLocation checks the URL that is given.
func cardLocation(cardURL string) (*url.URL, error) {
	u, err := url.Parse(cardURL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("%w: cardURL must be an absolute http or https URL, such as https://finance.example.com", ErrCardUnavailable)
	}
	if u.User != nil {
		return nil, fmt.Errorf("%w: cardURL must not carry credentials", ErrCardUnavailable)
	}
	return u, nil
}

// decodeCard reads an AgentCard (A2A 1.0, section 4.4.1) member by member.
func decodeCard(body []byte) (*a2a.AgentCard, error) {
	o := object(body)
	if o == nil {
		return nil, errors.New("no JSON object")
	}
	card := &a2a.AgentCard{
		Name:                cut(oneLine(o.text("name")), maxName),
		Description:         o.text("description"),
		Version:             cut(oneLine(o.text("version")), maxName),
		SupportedInterfaces: cardInterfaces(o),
		Capabilities:        cardCapabilities(object(o["capabilities"])),
	}
	if card.Name == "" && card.SupportedInterfaces == nil {
		return nil, errors.New("JSON without a name and without interfaces")
	}
	for _, raw := range elements(o["skills"]) {
		if skill := object(raw); skill.text("id") != "" {
			card.Skills = append(card.Skills, a2a.AgentSkill{ID: cut(oneLine(skill.text("id")), maxName), Name: cut(oneLine(skill.text("name")), maxName)})
		}
	}
	return card, nil
}

// cardInterfaces reads the interfaces of a 1.0 card, else those of a 0.3 card.
func cardInterfaces(o lax) []*a2a.AgentInterface {
	var list []*a2a.AgentInterface
	for _, raw := range elements(o["supportedInterfaces"]) {
		if i := object(raw); i != nil {
			list = append(list, &a2a.AgentInterface{
				URL: i.text("url"), ProtocolBinding: a2a.TransportProtocol(i.text("protocolBinding")),
				ProtocolVersion: a2a.ProtocolVersion(i.text("protocolVersion")), Tenant: i.text("tenant"),
			})
		}
	}
	if list != nil {
		return list
	}
	return oldInterfaces(o)
}

// oldInterfaces reads the interfaces of a 0.3 card (A2A 0.3, section 5.5): its url with the preferredTransport, by default
// JSONRPC, and the additionalInterfaces, which may name the first again. The card's version, by default 0.3, is that of all.
func oldInterfaces(o lax) []*a2a.AgentInterface {
	version := cmp.Or(o.text("protocolVersion"), string(v03))
	var list []*a2a.AgentInterface
	add := func(url, transport string) {
		transport = cmp.Or(transport, string(a2a.TransportProtocolJSONRPC))
		i := &a2a.AgentInterface{URL: url, ProtocolBinding: a2a.TransportProtocol(transport), ProtocolVersion: a2a.ProtocolVersion(version)}
		if url != "" && !slices.ContainsFunc(list, func(other *a2a.AgentInterface) bool { return *other == *i }) {
			list = append(list, i)
		}
	}
	add(o.text("url"), o.text("preferredTransport"))
	for _, raw := range elements(o["additionalInterfaces"]) {
		i := object(raw)
		add(i.text("url"), i.text("transport"))
	}
	return list
}

func cardCapabilities(o lax) a2a.AgentCapabilities {
	c := a2a.AgentCapabilities{
		Streaming: o.flag("streaming"), PushNotifications: o.flag("pushNotifications"), ExtendedAgentCard: o.flag("extendedAgentCard"),
	}
	for _, raw := range elements(o["extensions"]) {
		e := object(raw)
		extension := a2a.AgentExtension{URI: e.text("uri"), Description: e.text("description"), Required: e.flag("required")}
		if json.Unmarshal(e["params"], &extension.Params) != nil {
			extension.Params = nil
		}
		c.Extensions = append(c.Extensions, extension)
	}
	return c
}

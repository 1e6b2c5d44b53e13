// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedupproxy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/dedup"
	"github.com/delegation-dev/delegation-operator/internal/dedupproxy/card"
)

const (
	// SignaturesHeader is set in the response with a card that was signed by the agent and is not any more.
	SignaturesHeader = "A2A-Dedup-Proxy-Signatures"
	dropped          = "dropped"

	maxCard     = 1 << 20
	cardTimeout = 5 * time.Second
	// defaultCache is how long a card may be kept where the agent does not say. It is short: a card that leads around the
	// proxy, or to an agent without it, should not live long after a change.
	defaultCache = "public, max-age=60"
)

var errNoCard = errors.New("the agent card is not available")

// kind is which responses that go through are cards.
type kind int

const (
	cardDocument kind = iota + 1
	cardREST
	cardRPC
)

// cardRequest is a client's request for a card.
type cardRequest struct {
	kind kind
	in   *http.Request
}

type cardKey struct{}

func asCard(r *http.Request, k kind) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), cardKey{}, &cardRequest{kind: k, in: r}))
}

func cardOf(r *http.Request) (*cardRequest, bool) {
	c, ok := r.Context().Value(cardKey{}).(*cardRequest)
	return c, ok
}

// cardRelay gives out the agent's cards as the proxy's.
type cardRelay struct {
	proxy *Proxy

	mu sync.Mutex
	// paths are those of the HTTP+JSON interfaces, as the last card had them.
	paths []string
	known bool
	// told is the hash of the last card that was logged about.
	told string
}

func isCardPath(path string) bool {
	return strings.HasSuffix(path, pathCard) || strings.HasSuffix(path, pathExtended)
}

// serve relays a card that is asked for with GET.
func (c *cardRelay) serve(w http.ResponseWriter, r *http.Request) {
	k := cardDocument
	if strings.HasSuffix(r.URL.Path, pathExtended) {
		k = cardREST
	}
	c.proxy.through.ServeHTTP(w, asCard(r, k))
}

// asked marks a POST that asks for the extended card.
func asked(r *http.Request, body []byte) *http.Request {
	var envelope struct{ Method json.RawMessage }
	if bytes.Contains(body, []byte(methodExtended)) && decode(body, &envelope) == nil && text(envelope.Method) == methodExtended {
		return asCard(r, cardRPC)
	}
	return r
}

// rewriteThrough asks for a card whole and as it is: what the client has of it is another document.
func (p *Proxy) rewriteThrough(pr *httputil.ProxyRequest) {
	p.rewrite(pr)
	if _, isCard := cardOf(pr.In); isCard {
		if pr.Out.Method == http.MethodHead {
			pr.Out.Method = http.MethodGet
		}
		for _, name := range []string{"Accept-Encoding", "If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "If-Range", "Range"} {
			pr.Out.Header.Del(name)
		}
	}
}

// modify puts the rewritten card into a response that carries one.
func (c *cardRelay) modify(resp *http.Response) error {
	request, isCard := cardOf(resp.Request)
	if !isCard || resp.StatusCode != http.StatusOK || isStream(resp.Header) {
		return nil
	}
	document, err := readCard(resp)
	_ = resp.Body.Close() // what was read can't be taken back
	if err != nil {
		return err
	}
	inner, envelope, err := unwrap(request.kind, document)
	if err != nil || inner == nil {
		replaceBody(resp, document)
		return err
	}
	rewritten, err := c.rewrite(inner, c.publicURL(request.in), request.kind == cardDocument)
	if err != nil {
		return err
	}
	if rewritten.Signatures {
		resp.Header.Set(SignaturesHeader, dropped)
	}
	if request.kind == cardRPC {
		envelope["result"] = rewritten.JSON
		replaceBody(resp, marshal(envelope))
		return nil
	}
	replaceBody(resp, rewritten.JSON)
	c.validators(resp, request, rewritten.JSON)
	return nil
}

// publicURL is the base that the client knows the proxy by.
func (c *cardRelay) publicURL(in *http.Request) *url.URL {
	if c.proxy.PublicURL != nil {
		return c.proxy.PublicURL
	}
	u := &url.URL{Scheme: "http", Host: in.Host}
	if in.TLS != nil {
		u.Scheme = "https"
	}
	if c.proxy.trusts(in) {
		if proto := in.Header.Get("X-Forwarded-Proto"); proto == "http" || proto == "https" {
			u.Scheme = proto
		}
		if host := in.Header.Get("X-Forwarded-Host"); host != "" && !strings.ContainsAny(host, "/,@ ") {
			u.Host = host
		}
	}
	return u
}

// rewrite changes a card. From one that everybody gets it learns the paths of the interfaces.
func (c *cardRelay) rewrite(document []byte, public *url.URL, learn bool) (*card.Rewritten, error) {
	o := card.Options{
		Upstream: c.proxy.Upstream, Aliases: c.proxy.AgentURLs, Public: public, Extension: dedup.Extension(c.proxy.Retention),
	}
	if learn {
		if _, err := c.learn(document, o); err != nil {
			return nil, err
		}
	}
	rewritten, err := card.Rewrite(document, o)
	c.tell(document, rewritten, err)
	return rewritten, err
}

func (c *cardRelay) learn(document []byte, o card.Options) ([]string, error) {
	paths, err := card.RESTPaths(document, o)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paths, c.known = paths, true
	return slices.Clone(paths), nil
}

// tell logs what was taken away, once for each card.
func (c *cardRelay) tell(document []byte, rewritten *card.Rewritten, err error) {
	sum := sha256.Sum256(document)
	hash := hex.EncodeToString(sum[:])
	c.mu.Lock()
	again := c.told == hash
	c.told = hash
	c.mu.Unlock()
	switch {
	case again:
		return
	case err != nil:
		c.proxy.Logger.Error("agent card not relayed; give --agent-url if the agent calls itself otherwise than --upstream", "error", err)
		return
	}
	for _, one := range rewritten.Dropped {
		c.proxy.Logger.Warn("interface left out of the agent card", "interface", one)
	}
	if rewritten.Signatures {
		c.proxy.Logger.Warn("signatures left out of the agent card: they don't cover what the proxy changes")
	}
}

// restPaths are the paths of the agent's HTTP+JSON interfaces. The card is asked for until it was had once.
func (c *cardRelay) restPaths(ctx context.Context) ([]string, error) {
	c.mu.Lock()
	paths, known := slices.Clone(c.paths), c.known
	c.mu.Unlock()
	if known {
		return paths, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cardTimeout)
	defer cancel()
	out, err := http.NewRequestWithContext(ctx, http.MethodGet, c.proxy.Upstream.JoinPath(pathCard).String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	out.Header.Set("Accept", jsonType)
	resp, err := c.proxy.Transport.RoundTrip(out)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoCard, err)
	}
	defer func() { _ = resp.Body.Close() }()
	document, err := readCard(resp)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errNoCard, err)
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%w: HTTP %d", errNoCard, resp.StatusCode)
	}
	return c.learn(document, card.Options{Upstream: c.proxy.Upstream, Aliases: c.proxy.AgentURLs, Public: c.proxy.Upstream})
}

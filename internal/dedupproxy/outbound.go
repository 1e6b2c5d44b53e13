// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedupproxy

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httputil"
	"net/textproto"
	"net/url"
	"strings"
)

// rewrite turns a request of the client into one of the agent.
func (p *Proxy) rewrite(pr *httputil.ProxyRequest) {
	pr.SetURL(p.Upstream)
	if p.trusts(pr.In) {
		pr.Out.Header["X-Forwarded-For"] = pr.In.Header["X-Forwarded-For"]
	} else if p.PrincipalHeader != "" {
		pr.Out.Header.Del(p.PrincipalHeader)
	}
	pr.SetXForwarded()
	if _, set := pr.In.Header["User-Agent"]; !set {
		pr.Out.Header.Set("User-Agent", "") // net/http would add its own
	}
}

// ofTheBody are headers that belong to the client's request and not to one that is made in its name. A validator or an
// Idempotency-Key would make the agent's answer another one, and net/http repeats a request that has the latter.
var ofTheBody = map[string]bool{
	"Accept": true, "Accept-Encoding": true, "Content-Encoding": true, "Content-Language": true, "Content-Length": true, "Content-Type": true,
	"Digest": true, "Content-Digest": true, "Expect": true, "Idempotency-Key": true, "If-Match": true, "If-Modified-Since": true,
	"If-None-Match": true, "If-Range": true, "If-Unmodified-Since": true, "Last-Event-Id": true, "Range": true,
	"X-Idempotency-Key": true,
}

// hops are headers between two neighbours (RFC 9110, section 7.6.1).
var hops = []string{
	"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// inTheNameOf makes a request of the proxy's own to the agent, with what the client's request says about the client.
func (p *Proxy) inTheNameOf(ctx context.Context, in *http.Request, method string, u *url.URL, body []byte) *http.Request {
	out := in.Clone(ctx)
	out.Method, out.URL, out.GetBody, out.Trailer, out.TransferEncoding, out.Close = method, u, nil, nil, nil, false
	for _, field := range in.Header["Connection"] {
		for name := range strings.SplitSeq(field, ",") {
			out.Header.Del(textproto.TrimString(name))
		}
	}
	for _, name := range hops {
		out.Header.Del(name)
	}
	for name := range out.Header {
		if ofTheBody[name] || strings.HasPrefix(name, "X-Forwarded-") || name == "Forwarded" {
			delete(out.Header, name)
		}
	}
	out.Header.Set("Accept", jsonType)
	out.Body, out.ContentLength = http.NoBody, 0
	if body != nil {
		out.Header.Set("Content-Type", jsonType)
		out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	p.rewrite(&httputil.ProxyRequest{In: in, Out: out})
	out.Host = ""
	out.RequestURI = ""
	return out
}

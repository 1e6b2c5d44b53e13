// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"

	"github.com/delegation-dev/delegation-operator/internal/announce"
)

// servePlain is the least that a reverse proxy costs: what the other one needs beyond it is for the deduplication.
func servePlain(ctx context.Context, o options, _ io.Writer) error {
	agent, err := url.Parse(o.plain)
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: &httputil.ReverseProxy{
			Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(agent) },
			Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true},
		},
		ReadHeaderTimeout: sendTimeout,
	}
	if err := announce.URL("http://"+listener.Addr().String(), "", os.Stderr); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	return server.Serve(listener)
}

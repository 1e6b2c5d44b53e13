// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/delegation-dev/delegation-operator/internal/dedupproxy"
)

const (
	// headerTimeout keeps connections from piling up before they have said anything.
	headerTimeout = 10 * time.Second
	clientIdle    = 2 * time.Minute
	// pingTimeout is how long the table may take to say that it is there.
	pingTimeout = 2 * time.Second
	// backgroundTimeout is how long outcomes are still tried to be written after the last request.
	backgroundTimeout = 5 * time.Second
)

// site is a server and where it listens.
type site struct {
	server   *http.Server
	listener net.Listener
}

func (s site) serve() error {
	if s.server.TLSConfig != nil {
		return s.server.ServeTLS(s.listener, "", "") // the certificate is in the config
	}
	return s.server.Serve(s.listener)
}

// sites are the proxy and what is asked about it.
type sites struct {
	proxy        *dedupproxy.Proxy
	drainTimeout time.Duration
	secure       bool
	main         site
	admin        []site
}

func listen(ctx context.Context, o *options, proxy *dedupproxy.Proxy, store table) (*sites, error) {
	conf, err := serverTLS(o)
	if err != nil {
		return nil, err
	}
	s := &sites{proxy: proxy, drainTimeout: o.drainTimeout, secure: conf != nil}
	if s.main, err = newSite(ctx, o.listen, proxy); err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	if conf != nil {
		s.main.server.TLSConfig = conf
	}
	pages, err := adminPages(o, proxy, store)
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	for address, mux := range pages {
		page, err := newSite(ctx, address, mux)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("metrics and probes: %w", err), s.close())
		}
		s.admin = append(s.admin, page)
	}
	return s, nil
}

func newSite(ctx context.Context, address string, handler http.Handler) (site, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return site{}, err
	}
	return site{listener: listener, server: &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       clientIdle,
		ErrorLog:          slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug),
	}}, nil
}

// adminPages are the handlers by address; metrics and probes may share one.
func adminPages(o *options, proxy *dedupproxy.Proxy, store table) (map[string]*http.ServeMux, error) {
	pages := map[string]*http.ServeMux{}
	at := func(address string) *http.ServeMux {
		if pages[address] == nil {
			pages[address] = http.NewServeMux()
		}
		return pages[address]
	}
	if o.metrics != "0" {
		registry := prometheus.NewRegistry()
		if err := errors.Join(proxy.Metrics.Register(registry),
			registry.Register(collectors.NewGoCollector()), registry.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))); err != nil {
			return nil, err
		}
		at(o.metrics).Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	}
	if o.probes != "0" {
		at(o.probes).HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
		at(o.probes).HandleFunc("GET /readyz", ready(store))
	}
	return pages, nil
}

// ready says whether sends can be served: not without the table. The agent may be away; what goes through says so itself.
func ready(store table) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), pingTimeout)
		defer cancel()
		if err := ping(ctx, store); err != nil {
			slog.Warn("not ready: deduplication table", "error", err)
			http.Error(w, "the deduplication table is not available", http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusOK)
	}
}

func (s *sites) url() string {
	scheme := "http"
	if s.secure {
		scheme = "https"
	}
	return scheme + "://" + s.main.listener.Addr().String()
}

func (s *sites) serve(ctx context.Context) error {
	failed := make(chan error, 1+len(s.admin))
	for _, one := range append([]site{s.main}, s.admin...) {
		go func() { failed <- one.serve() }()
	}
	select {
	case err := <-failed:
		return errors.Join(err, s.close())
	case <-ctx.Done():
	}
	return s.shutdown()
}

// shutdown lets sends under way come to their end, so that their outcomes are recorded. What takes longer than the bound
// is cut off: its row is abandoned, and the next copy looks for its task.
func (s *sites) shutdown() error {
	slog.Info("shutting down")
	s.proxy.Hurry()
	drain, cancel := context.WithTimeout(context.Background(), s.drainTimeout)
	defer cancel()
	if err := s.main.server.Shutdown(drain); err != nil {
		slog.Warn("sends cut off; the next copies look for their tasks", "error", err)
	}
	background, done := context.WithTimeout(context.Background(), backgroundTimeout)
	defer done()
	s.proxy.Wait(background)
	return s.close()
}

func (s *sites) close() error {
	var all []error
	for _, one := range append([]site{s.main}, s.admin...) {
		if one.server != nil {
			all = append(all, one.server.Close())
		}
		if one.listener != nil { // a server that never served doesn't know it
			if err := one.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
				all = append(all, err)
			}
		}
	}
	return errors.Join(all...)
}
